"""The study's published ratings, for `cafi eval score`.

Medians and quartiles go in, its printed figures come out, and where the two differ.

JMIR AI 2025;4:e69820 prints no score of a single rater, so that kappa and the agreement within one point cannot be
computed again; they are passed on as printed and marked as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import Field, ValidationError

from engine import Strict
from evaluation.forms import check_version, misfit
from evaluation.rating.scoring import Scoring, panel
from evaluation.rating.units import RatedResponse

PUBLISHED = Path(__file__).resolve().parents[1] / "data" / "rating" / "published.json"
VERSION = 1
Quartiles: TypeAlias = tuple[float, float, float]


class Printed(Strict):
    """Figures as the article prints them; `threshold` is the one that its text names."""

    acceptable: dict[str, str] = Field(default_factory=dict)
    threshold: int = 2
    acceptable_by_role: dict[str, dict[str, str]] = Field(default_factory=dict)
    within_one_point: str = ""
    mean_kappa: float | None = None
    kappa_sd: float | None = None


class Published(Strict):
    """A table of medians: role, arm, conversations, responses of (median, first and third quartile)."""

    version: int = VERSION
    source: str
    raters: int
    medians: dict[str, dict[str, list[list[Quartiles]]]]
    printed: Printed = Printed()

    def units(self) -> Iterator[RatedResponse]:
        """The responses of the table; conversations and queries count from 1."""
        for role, arms in self.medians.items():
            for arm, conversations in arms.items():
                for conversation, responses in enumerate(conversations, start=1):
                    for query, (median, q1, q3) in enumerate(responses, start=1):
                        yield RatedResponse(
                            response_id=f"{role}-{arm}-{conversation}-{query}",
                            run="published",
                            role=role,
                            arm=arm,
                            conversation=conversation,
                            query=query,
                            median=median,
                            q1=q1,
                            q3=q3,
                        )


def is_published(text: str) -> bool:
    """Whether a file holds a published table and not ratings line by line."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and ("medians" in value or "table2_median_q1_q3" in value)


def parse_published(text: str, path: Path) -> Published:
    """The table of a file, of our form or of the study's repository; raises ConfigurationError."""
    value = json.loads(text)
    if "table2_median_q1_q3" in value:
        value = _of_repository(value)
    check_version(value.get("version"), VERSION, path)
    try:
        return Published.model_validate(value)
    except ValidationError as error:
        raise misfit(error, path) from None


def score_published(published: Published, scoring: Scoring) -> dict[str, Any]:
    """The same figures as for ratings, beside the printed ones, and which threshold each printed count fits."""
    found = panel("human", list(published.units()), scoring)
    found["raters"] = published.raters
    return {
        "source": published.source,
        "panels": [found],
        "programs_against_people": [],
        "printed": published.printed.model_dump(),
        "printed_counts_fit": _fits(published.printed, found, scoring),
        "not_recomputable": ["within_one_point", "mean_kappa", "kappa_sd"],
    }


def _fits(printed: Printed, found: dict[str, Any], scoring: Scoring) -> dict[str, list[int]]:
    """By arm, the thresholds whose count is the printed one, to the printed digit."""
    return {
        arm: [at for at in scoring.thresholds if found["by_arm"].get(arm, {}).get(f"ge_{at}", {}).get("text") == shown]
        for arm, shown in printed.acceptable.items()
    }


def _of_repository(value: dict[str, Any]) -> dict[str, Any]:
    """The study's file in our form; what it does not have stays away."""
    headline, raters = value.get("headline", {}), value.get("interrater", {})
    shown = {arm: headline[f"{arm}_acceptable"] for arm in ("caf_on", "caf_off") if f"{arm}_acceptable" in headline}
    return {
        "version": VERSION,
        "source": value.get("source", ""),
        "raters": raters.get("raters", 3),
        "medians": value["table2_median_q1_q3"],
        "printed": {
            "acceptable": shown,
            "within_one_point": raters.get("within_one_point", ""),
            "mean_kappa": raters.get("mean_quadratic_weighted_kappa"),
            "kappa_sd": raters.get("sd"),
        },
    }
