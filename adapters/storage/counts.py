"""What is counted for the public: referrals, notices and questions without an answer. Numbers by week or month and a few
names of ours, in memory until a store takes them (`saved_counts.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from adapters import weeks
from engine import Kind

HELD_BACK_UNDER = 5
"""Smaller counts are not told: in a small group they could point at somebody."""
OTHER = "other"
"""Every question that touches none of our topics."""
Counted = tuple[str, str, int | None]
"""Week (ISO 8601), platform and count, None where the count is held back."""
Subject = Literal["referral", "notice"]
"""What a month counts: referrals by what they were about, notices by the version of their words."""


@dataclass(kw_only=True)
class PendingCounts:
    """What no store has taken yet, under the primary key of its table."""

    _counts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, *key: str) -> None:
        """Count one more."""
        self._counts[key] += 1

    def take(self) -> Counter[tuple[str, ...]]:
        """What was counted since the last time."""
        taken, self._counts = self._counts, Counter()
        return taken

    def give_back(self, counts: Counter[tuple[str, ...]]) -> None:
        """What a store could not take after all."""
        self._counts.update(counts)


@dataclass(kw_only=True)
class MonthlyCounts:
    """How often something that the law counts was shown. `today` gives the date, in UTC unless said otherwise."""

    today: Callable[[], date] = weeks.today
    pending: PendingCounts = field(default_factory=PendingCounts)

    def add(self, subject: Subject, name: str) -> None:
        """Count one more in this month."""
        self.pending.add(month_of(self.today()), subject, name)


@dataclass(kw_only=True)
class UnansweredCounts:
    """On which topics nothing was found, and never a word of a question. `today` gives the date, in UTC."""

    today: Callable[[], date] = weeks.today
    pending: PendingCounts = field(default_factory=PendingCounts)

    def add(self, assistant: str, topic: str) -> None:
        """Count one question that nothing was found on."""
        self.pending.add(weeks.week_of(self.today()), assistant, topic or OTHER)


@dataclass(kw_only=True)
class UrgentCounts:
    """How often the referral was shown. `today` gives the date, in UTC unless said otherwise; `monthly` counts by kind."""

    today: Callable[[], date] = weeks.today
    monthly: MonthlyCounts = field(default_factory=MonthlyCounts)
    pending: PendingCounts = field(default_factory=PendingCounts)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, platform: str, kind: Kind = Kind.UNCLEAR) -> None:
        """Count one referral in this week, and in this month by what it was about."""
        self.monthly.add("referral", kind)
        week = weeks.week_of(self.today())
        self._counts[week, platform] += 1
        self.pending.add(week, platform)

    def report(self) -> list[Counted]:
        """What this process has counted, in order."""
        return held_back(self._counts)


def held_back(counts: Counter[tuple[str, str]]) -> list[Counted]:
    """Counts for people to see."""
    return [
        (week, platform, count if count >= HELD_BACK_UNDER else None)
        for (week, platform), count in sorted(counts.items())
    ]


def month_of(day: date) -> str:
    """The month of a day, such as 2026-11."""
    return f"{day:%Y-%m}"
