"""The counted events as they lie in the database, and a part of them chosen by weeks and platform."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection, inspect, select

from adapters.storage.database import existing
from adapters.storage.tables import events
from adapters.weeks import week_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """How often one event happened."""

    week: str
    platform: str
    assistant: str
    question: str
    option: str
    sources: tuple[str, ...]
    decision: str
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """The part of all answers that a report is about: weeks from `first` to `last`, both included, and one platform or all."""

    first: str
    last: str
    platform: str | None = None

    @classmethod
    def of(cls, today: date, *, weeks: int | None, platform: str | None) -> Selection:
        """The last so many weeks that have ended, all where `weeks` is None: who saw a running one would see it change."""
        last = today - timedelta(weeks=1)
        first = week_of(last - timedelta(weeks=weeks - 1)) if weeks is not None else week_of(date(2000, 1, 3))
        return cls(first=first, last=week_of(last), platform=platform)

    def holds(self, tally: Tally) -> bool:
        """Whether a tally belongs to the part."""
        return self.spans(tally.week) and self.platform in {None, tally.platform}

    def spans(self, week: str) -> bool:
        """Whether a week belongs to the part. Weeks of ISO 8601 sort as text."""
        return self.first <= week <= self.last


def read_tallies(url: str) -> list[Tally]:
    """Everything that was counted; raises ConfigurationError where there is no database, and StorageError."""
    database = existing(url)
    try:
        return database.run_now(all_tallies)
    finally:
        database.close()


def all_tallies(connection: Connection) -> list[Tally]:
    """Everything that was counted."""
    if not inspect(connection).has_table(events.name):
        return []
    found = []
    for row in connection.execute(select(events)).mappings():
        values = dict(row)
        values["sources"] = tuple(values["sources"].split())
        found.append(Tally(**values))
    return found
