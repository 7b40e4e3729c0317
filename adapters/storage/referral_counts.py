"""Keeps the counts of referrals: weeks and platforms, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, select

from adapters.counting import Counted, UrgentCounts, held_back
from adapters.storage.database import Database
from adapters.storage.tables import referrals
from adapters.storage.upserting import upsert
from engine.exceptions import StorageError


@dataclass(frozen=True, kw_only=True)
class ReferralCounts:
    """The counts on disk."""

    database: Database

    async def save(self, counts: UrgentCounts) -> None:
        """Add what was counted since the last time. Raises StorageError; the counts are then saved the next time."""
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
        rows = await self.database.run(lambda connection: connection.execute(select(referrals)).all())
        return held_back(Counter({(row.week, row.platform): row.count for row in rows}))
