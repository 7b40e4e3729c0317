"""How often the referral was shown: a number a week and platform, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

HELD_BACK_UNDER = 5
"""Smaller counts are not told: in a small group they could point at somebody."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(kw_only=True)
class UrgentCounts:
    """Counts in memory. `today` gives the date, in UTC unless said otherwise."""

    today: Callable[[], date] = _today
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, platform: str) -> None:
        """Count one referral in this week."""
        year, week, _ = self.today().isocalendar()
        self._counts[f"{year}-W{week:02}", platform] += 1

    def report(self) -> list[tuple[str, str, int | None]]:
        """Week (ISO 8601), platform and count, None where the count is held back, in order."""
        return [
            (week, platform, count if count >= HELD_BACK_UNDER else None)
            for (week, platform), count in sorted(self._counts.items())
        ]
