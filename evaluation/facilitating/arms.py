"""Arms: the whole filter, none of it, and the filter without one of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine import FilterPlan
from evaluation.choice import chosen

ON, OFF = "on", "off"
NO_JUDGES = FilterPlan(preliminary=False, chief=False, refiner=False, reminders=False)
ARMS: Mapping[str, FilterPlan] = MappingProxyType(
    {
        ON: FilterPlan(),
        OFF: FilterPlan(checks=False, preliminary=False, chief=False, refiner=False, reminders=False),
        "no_feedback": FilterPlan(reminders=False),
        "no_refiner": FilterPlan(refiner=False),
        "no_preliminary": FilterPlan(preliminary=False),
        "no_chief": FilterPlan(chief=False),
        "checks_only": NO_JUDGES,
    }
)
"""`off` still cleans, listens for urgency, retrieves and drafts; `checks_only` adds the checks by code."""


def choose_arms(names: str) -> tuple[str, ...]:
    """The arms of a list with commas, or `all`; raises ConfigurationError for unknown ones."""
    every = {name: name for name in ARMS}
    return tuple(ARMS) if names == "all" else chosen(names, every, "arm", key="--arms", remedy="Use all, or some of")
