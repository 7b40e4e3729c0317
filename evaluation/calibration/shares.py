"""Shares with their intervals, and whether two judges differ on the same cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine import wilson


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """How many of `cases` were decided rightly, with the 95 % Wilson interval; None where there are none."""

    cases: int
    share: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, rights: Sequence[float]) -> Share:
        """Of one number from 0 to 1 a case: how often its runs were right.

        Runs of one case are not independent, so the interval counts cases and not runs.
        """
        interval = wilson(sum(rights), len(rights))
        if interval is None:
            return cls(cases=0, share=None, low=None, high=None)
        low, high = interval
        return cls(cases=len(rights), share=round(sum(rights) / len(rights), 4), low=round(low, 4), high=round(high, 4))


def exact_mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p that two judges of the same cases are right equally often (McNemar, 1947)."""
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    ways = sum(math.comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * float(ways / 2**discordant))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of all do not exceed (nearest rank); None where there are none."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
