"""Figures and names as the report writes them, and the order of arms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from evaluation.calibration.shares import quantile
from evaluation.facilitating.arms import ARMS

NONE = "–"


def ordered_arms(found: Iterable[str]) -> tuple[str, ...]:
    """Arms once each: those of the project in its order, then others as they come."""
    names = list(dict.fromkeys(found))
    return tuple([one for one in ARMS if one in names] + [one for one in names if one not in ARMS])


def spoken_name(name: str) -> str:
    """A role or judge as it reads in a sentence."""
    return name.replace("_", " ")


def number(value: float | None, digits: int = 1) -> str:
    """A number with so many digits after the point, thousands apart."""
    if value is None:
        return NONE
    shown = f"{value:,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def percent(value: float | None) -> str:
    """A share in per cent."""
    return NONE if value is None else f"{100 * value:.0f} %"


def between(low: float | None, high: float | None) -> str:
    """An interval of a share in per cent."""
    return NONE if low is None or high is None else f"{100 * low:.0f}–{100 * high:.0f} %"


def probability(value: float) -> str:
    """A p-value as it is printed."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def middle(values: Sequence[float], digits: int = 1) -> str:
    """The median of numbers."""
    return number(median(values), digits) if values else NONE


def late(values: Sequence[float], digits: int = 1) -> str:
    """What 95 of 100 numbers do not exceed (nearest rank)."""
    return number(quantile(values, 0.95), digits)


def counted(many: int, what: str) -> str:
    """ "1 reply", "2 replies"."""
    if many == 1:
        return f"1 {what}"
    return f"{many:,} {what[:-1]}ies" if what.endswith("y") else f"{many:,} {what}s"
