"""On which topics nothing was found: a number a week, assistant and topic, and never a word of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta

from sqlalchemy import Connection, select

from adapters import weeks
from adapters.storage.database import Database
from adapters.storage.tables import unanswered
from adapters.storage.upsert import upsert
from adapters.storage.urgent_counts import HELD_BACK_UNDER
from engine import StorageError

OTHER = "other"
"""Every question that touches none of our topics."""


@dataclass(kw_only=True)
class UnansweredCounts:
    """Counts in memory until they are saved. `today` gives the date, in UTC."""

    today: Callable[[], date] = weeks.today
    _unsaved: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, assistant: str, topic: str) -> None:
        """Count one question that nothing was found on."""
        self._unsaved[weeks.week_of(self.today()), assistant, topic or OTHER] += 1

    async def save(self, database: Database) -> None:
        """Add to what is on disk. Raises StorageError; the counts are then saved the next time."""
        unsaved, self._unsaved = dict(self._unsaved), Counter()

        def work(connection: Connection) -> None:
            for (week, assistant, topic), count in sorted(
                unsaved.items()
            ):  # in one order, so that none waits for another
                row = {"week": week, "assistant": assistant, "topic": topic, "count": count}
                connection.execute(upsert(connection.dialect.name, unanswered, row, adding=("count",)))

        if not unsaved:
            return
        try:
            await database.run(work)
        except StorageError:
            self._unsaved.update(unsaved)
            raise


async def ended_unanswered(database: Database, today: date) -> list[tuple[str, str, str, int]]:
    """Week, assistant, topic and count of weeks that ended a day ago or more, rounded down to fives; smaller ones are not there.

    Raises StorageError.
    """
    running = weeks.week_of(today - timedelta(days=1))
    at = unanswered.c
    query = select(at.week, at.assistant, at.topic, at.count).order_by(at.week, at.assistant, at.topic)
    rows = await database.run(lambda connection: connection.execute(query).all())
    return [
        (week, assistant, topic, count - count % HELD_BACK_UNDER)
        for week, assistant, topic, count in rows
        if week < running and count >= HELD_BACK_UNDER
    ]
