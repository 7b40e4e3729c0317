"""Units of scoring: a response with the scores that a panel of raters gave it, or with the median that was published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from evaluation.rating.agreement import Scores
from evaluation.rating.ratings import Rating

Place: TypeAlias = tuple[str, str, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RatedResponse:
    """One response: where it belongs, its median and quartiles, and each rater's score where it is known."""

    response_id: str
    run: str
    role: str
    arm: str
    conversation: int
    query: int
    median: float
    q1: float
    q3: float
    scores: Mapping[str, int] = field(default_factory=dict)

    @property
    def cluster(self) -> tuple[str, str, str, int]:
        """The conversation it is part of."""
        return (self.run, self.role, self.arm, self.conversation)

    @property
    def twin(self) -> Place:
        """What it has in common with the response of another arm that it is compared with."""
        return (self.run, self.role, self.conversation, self.query)


def units_of(ratings: Iterable[Rating]) -> list[RatedResponse]:
    """One unit a response, in the order of run, role, arm, conversation and query.

    Quartiles are interpolated linearly between the scores, the usual way of numpy, R (type 7) and spreadsheets.
    """
    by_response: dict[tuple[str, str, str, int, int, str], dict[str, int]] = {}
    for one in ratings:
        place = (one.run, one.role, one.arm, one.conversation, one.query, one.response_id)
        by_response.setdefault(place, {})[one.rater] = one.score
    return [_unit(place, scores) for place, scores in sorted(by_response.items(), key=lambda pair: pair[0])]


def scores_of(units: Sequence[RatedResponse], raters: Sequence[str]) -> Scores:
    """The table of scores, raters × units, NaN where one is missing."""
    rows = [[unit.scores.get(rater, np.nan) for unit in units] for rater in raters]
    return np.asarray(rows, dtype=np.float64).reshape(len(raters), len(units))


def medians_of(units: Sequence[RatedResponse]) -> Scores:
    """The medians in order."""
    return np.asarray([unit.median for unit in units], dtype=np.float64)


def _unit(place: tuple[str, str, str, int, int, str], scores: dict[str, int]) -> RatedResponse:
    run, role, arm, conversation, query, response_id = place
    q1, median, q3 = (float(one) for one in np.quantile(list(scores.values()), [0.25, 0.5, 0.75]))
    return RatedResponse(
        response_id=response_id,
        run=run,
        role=role,
        arm=arm,
        conversation=conversation,
        query=query,
        median=median,
        q1=q1,
        q3=q3,
        scores=dict(sorted(scores.items())),
    )
