"""How often something that the law counts was shown: a number a month, a subject and a name, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from sqlalchemy import Connection, inspect, select

from adapters import weeks
from adapters.storage.database import Database, existing
from adapters.storage.tables import monthly
from adapters.storage.upsert import upsert
from engine import StorageError

Subject = Literal["referral", "notice"]
"""What is counted: referrals by what they were about, notices by the version of their words."""


@dataclass(kw_only=True)
class MonthlyCounts:
    """Counts in memory until a store takes them. `today` gives the date, in UTC unless said otherwise."""

    today: Callable[[], date] = weeks.today
    _unsaved: Counter[tuple[str, Subject, str]] = field(default_factory=Counter)

    def add(self, subject: Subject, name: str) -> None:
        """Count one more in this month."""
        self._unsaved[month_of(self.today()), subject, name] += 1

    async def save(self, database: Database) -> None:
        """Add what was counted since the last time. Raises StorageError; the counts are then saved the next time."""
        unsaved, self._unsaved = self._unsaved, Counter()

        def work(connection: Connection) -> None:
            for (month, subject, name), count in sorted(unsaved.items()):  # in one order: none waits for another
                row = {"month": month, "subject": subject, "name": name, "count": count}
                connection.execute(upsert(connection.dialect.name, monthly, row, adding=("count",)))

        if not unsaved:
            return
        try:
            await database.run(work)
        except StorageError:
            self._unsaved.update(unsaved)
            raise


def month_of(day: date) -> str:
    """The month of a day, such as 2026-11."""
    return f"{day:%Y-%m}"


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
