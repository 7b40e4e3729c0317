"""Counts of referrals on disk."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from adapters.storage.counts import UrgentCounts
from adapters.storage.database import Database
from adapters.storage.saved_counts import ReferralCounts
from adapters.storage.schema_version import migrate
from engine.exceptions import StorageError


async def test_counts_of_several_processes_add_up_and_small_ones_are_held_back(tmp_path: Path) -> None:
    """Two processes that counted three and two referrals leave five; a single one elsewhere is not told."""
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    migrate(database)
    kept = ReferralCounts(database=database)
    for count in (3, 2):
        counts = UrgentCounts(today=lambda: date(2026, 11, 21))
        for _ in range(count):
            counts.add("telegram")
        await kept.save(counts)
        await kept.save(counts)
    counts.add("discord")
    await kept.save(counts)
    assert await kept.report() == [("2026-W47", "discord", None), ("2026-W47", "telegram", 5)]
    await database.aclose()


async def test_what_could_not_be_saved_is_saved_the_next_time(tmp_path: Path) -> None:
    """A database without its tables takes nothing; once they are there, nothing is missing."""
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    kept, counts = ReferralCounts(database=database), UrgentCounts()
    for _ in range(5):
        counts.add("telegram")
    with pytest.raises(StorageError):
        await kept.save(counts)
    migrate(database)
    await kept.save(counts)
    assert [count for _, _, count in await kept.report()] == [5]
    await database.aclose()


async def test_a_week_is_told_once_all_of_it_is_saved(tmp_path: Path) -> None:
    """On the day after its end a week waits still, as its last counts may yet be saved; then it is told in fives."""
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    migrate(database)
    kept, counts = ReferralCounts(database=database), UrgentCounts(today=lambda: date(2026, 11, 22))
    for _ in range(12):
        counts.add("web")
    await kept.save(counts)
    assert await kept.ended(date(2026, 11, 22)) == await kept.ended(date(2026, 11, 23)) == []
    assert await kept.ended(date(2026, 11, 24)) == [("2026-W47", "web", 10)]
    await database.aclose()
