"""How often the referral was shown: a number a week and platform, one a month and kind, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date

from adapters import weeks
from adapters.storage.monthly_counts import MonthlyCounts
from engine import Kind

HELD_BACK_UNDER = 5
"""Smaller counts are not told: in a small group they could point at somebody."""
Counted = tuple[str, str, int | None]
"""Week (ISO 8601), platform and count, None where the count is held back."""


@dataclass(kw_only=True)
class UrgentCounts:
    """Counts in memory. `today` gives the date, in UTC unless said otherwise.

    `monthly` counts them by kind. `unsaved` are those that `take_unsaved` has not given to a store yet.
    """

    today: Callable[[], date] = weeks.today
    monthly: MonthlyCounts = field(default_factory=MonthlyCounts)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _unsaved: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, platform: str, kind: Kind = Kind.UNCLEAR) -> None:
        """Count one referral in this week, and in this month by what it was about."""
        self.monthly.add("referral", kind)
        week = weeks.week_of(self.today())
        self._counts[week, platform] += 1
        self._unsaved[week, platform] += 1

    def take_unsaved(self) -> dict[tuple[str, str], int]:
        """What was counted since the last time, for a store."""
        taken, self._unsaved = dict(self._unsaved), Counter()
        return taken

    def give_back(self, counts: dict[tuple[str, str], int]) -> None:
        """What a store could not take after all."""
        self._unsaved.update(counts)

    def report(self) -> list[Counted]:
        """What this process has counted, in order."""
        return held_back(self._counts)


def held_back(counts: Counter[tuple[str, str]]) -> list[Counted]:
    """Counts for people to see."""
    return [
        (week, platform, count if count >= HELD_BACK_UNDER else None)
        for (week, platform), count in sorted(counts.items())
    ]
