"""Keeps counts: weeks or months and a few names of ours, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, Table, inspect, select

from adapters.storage.counts import (
    HELD_BACK_UNDER,
    Counted,
    PendingCounts,
    Subject,
    UrgentCounts,
    held_back,
    month_of,
)
from adapters.storage.database import Database, existing
from adapters.storage.tables import monthly, referrals, unanswered
from adapters.storage.upsert import upsert
from adapters.weeks import week_of
from engine import StorageError


async def save_counts(database: Database, table: Table, pending: PendingCounts) -> None:
    """Add to a table what was counted since the last time. Raises StorageError; the counts are then saved the next time."""
    counts = pending.take()
    names = [column.name for column in table.primary_key]

    def work(connection: Connection) -> None:
        for key, count in sorted(counts.items()):  # in one order, so that none waits for another
            row = {**dict(zip(names, key, strict=True)), "count": count}
            connection.execute(upsert(connection.dialect.name, table, row, adding=("count",)))

    if not counts:
        return
    try:
        await database.run(work)
    except StorageError:
        pending.give_back(counts)
        raise


@dataclass(frozen=True, kw_only=True)
class ReferralCounts:
    """The counts of referrals on disk."""

    database: Database

    async def save(self, counts: UrgentCounts) -> None:
        """Add what was counted since the last time. Raises StorageError; the counts are then saved the next time."""
        await save_counts(self.database, monthly, counts.monthly.pending)
        await save_counts(self.database, referrals, counts.pending)

    async def report(self) -> list[Counted]:
        """All weeks and platforms in order, small counts held back."""
        return held_back(await self._all())

    async def ended(self, today: date) -> list[tuple[str, str, int]]:
        """What may be watched: weeks that ended a day ago or more, rounded down to fives; smaller ones are not there.

        Who looks again and again would otherwise see each referral at its moment, or, of the last ones of a week, that
        they are saved. Raises StorageError.
        """
        running = week_of(today - timedelta(days=1))
        return [
            (week, platform, count - count % HELD_BACK_UNDER)
            for (week, platform), count in sorted((await self._all()).items())
            if week < running and count >= HELD_BACK_UNDER
        ]

    async def _all(self) -> Counter[tuple[str, str]]:
        rows = await self.database.run(lambda connection: connection.execute(select(referrals)).all())
        return Counter({(row.week, row.platform): row.count for row in rows})


async def ended_unanswered(database: Database, today: date) -> list[tuple[str, str, str, int]]:
    """Week, assistant, topic and count of weeks that ended a day ago or more, rounded down to fives; smaller ones are not there.

    Raises StorageError.
    """
    running = week_of(today - timedelta(days=1))
    at = unanswered.c
    query = select(at.week, at.assistant, at.topic, at.count).order_by(at.week, at.assistant, at.topic)
    rows = await database.run(lambda connection: connection.execute(query).all())
    return [
        (week, assistant, topic, count - count % HELD_BACK_UNDER)
        for week, assistant, topic, count in rows
        if week < running and count >= HELD_BACK_UNDER
    ]


def read_months(url: str, subject: Subject, year: int, today: date) -> dict[str, Counter[str]]:
    """Counts by name of each month of a year that ended a day ago or more, none left out.

    Raises ConfigurationError where there is no database, and StorageError.
    """
    running = month_of(today - timedelta(days=1))
    names = [f"{year}-{number:02}" for number in range(1, 13)]
    found: dict[str, Counter[str]] = {name: Counter() for name in names if name < running}

    def work(connection: Connection) -> None:
        if not inspect(connection).has_table(monthly.name):
            return
        for row in connection.execute(select(monthly).where(monthly.c.subject == subject)).mappings():
            if row["month"] in found:
                found[row["month"]][row["name"]] += row["count"]

    database = existing(url)
    try:
        database.run_now(work)
    finally:
        database.close()
    return found
