"""Keeps the counts of referrals: weeks and platforms, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, select

from adapters.storage.database import Database
from adapters.storage.tables import referrals
from adapters.storage.upsert import upsert
from adapters.storage.urgent_counts import HELD_BACK_UNDER, Counted, UrgentCounts, held_back
from adapters.weeks import week_of
from engine import StorageError


@dataclass(frozen=True, kw_only=True)
class ReferralCounts:
    """The counts on disk."""

    database: Database

    async def save(self, counts: UrgentCounts) -> None:
        """Add what was counted since the last time. Raises StorageError; the counts are then saved the next time."""
        await counts.monthly.save(self.database)
        unsaved = counts.take_unsaved()

        def work(connection: Connection) -> None:
            for (week, platform), count in sorted(unsaved.items()):  # in one order, so that none waits for another
                row = {"week": week, "platform": platform, "count": count}
                connection.execute(upsert(connection.dialect.name, referrals, row, adding=("count",)))

        if not unsaved:
            return
        try:
            await self.database.run(work)
        except StorageError:
            counts.give_back(unsaved)
            raise

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
