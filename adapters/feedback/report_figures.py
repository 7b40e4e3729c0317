"""What may be told of reports that an answer worried or harmed somebody: by part of a text, in steps of five and never less.

A number that is told changes when five more have come, never with each. The operator is alarmed by weeks that may still
run; in public only weeks that have ended a day ago are told of, and those up to a correction.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from adapters.feedback.corrections import Correction
from adapters.feedback.questions import REPORT
from adapters.feedback.tallies import Tally, all_tallies
from adapters.storage.counts import HELD_BACK_UNDER
from adapters.storage.database import Database
from adapters.weeks import week_of
from engine import StorageError

WEEKS = 4
"""So many weeks, the running one included, count for an alarm."""
NO_PART = "none"
"""In place of a part: answers that cited nothing."""
_log = logging.getLogger("cafi.reports")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportedPart:
    """A part of a text with at least so many reports."""

    assistant: str
    part: str
    at_least: int


def alarming(
    tallies: Iterable[Tally], corrections: Sequence[Correction], today: date, alarm_at: int
) -> list[ReportedPart]:
    """Parts with as many reports in the last weeks as alarm the operator; what came before a correction is dealt with."""
    first = week_of(today - timedelta(weeks=WEEKS - 1))
    counts: Counter[tuple[str, str]] = Counter()
    for one in _reports(tallies):
        for part in one.sources or (NO_PART,):
            done = [week_of(entry.date) for entry in corrections if entry.concerns(one.assistant, part)]
            if one.week >= first and one.week > max(done, default=""):
                counts[one.assistant, part] += one.count
    told = (ReportedPart(assistant=who, part=part, at_least=_fives(n)) for (who, part), n in sorted(counts.items()))
    return [one for one in told if one.at_least >= alarm_at]


def reports_before(tallies: Iterable[Tally], entry: Correction, today: date) -> int | None:
    """At least so many reports there were of what was corrected; None for fewer than five, none among them."""
    running, corrected = week_of(today - timedelta(days=1)), week_of(entry.date)
    count = sum(
        one.count for one in _reports(tallies) if one.week < running and one.week <= corrected and _is_about(one, entry)
    )
    return _fives(count) or None


def _is_about(one: Tally, entry: Correction) -> bool:
    return any(entry.concerns(one.assistant, part) for part in one.sources)


def _reports(tallies: Iterable[Tally]) -> Iterable[Tally]:
    return (one for one in tallies if one.question == REPORT[0])


def _fives(count: int) -> int:
    return count - count % HELD_BACK_UNDER


@dataclass(kw_only=True)
class ReportWatch:
    """Looks once an hour, so that whoever looks more often sees no more. `now` gives seconds since 1970."""

    database: Database
    now: Callable[[], float]
    corrections: Sequence[Correction] = ()
    alarm_at: int = HELD_BACK_UNDER
    _looked: int | None = None
    _found: tuple[ReportedPart, ...] = field(default=())

    async def alarms(self) -> tuple[ReportedPart, ...]:
        """What alarms the operator, as it was when this hour was first looked at. Raises StorageError."""
        hour = int(self.now() // 3600)
        if hour != self._looked:
            tallies = await self.database.run(all_tallies)
            today = datetime.fromtimestamp(self.now(), UTC).date()
            found = tuple(alarming(tallies, self.corrections, today, self.alarm_at))
            for one in set(found) - set(self._found):
                _log.warning("at least %d reports on %s of %s", one.at_least, one.part, one.assistant)
            self._looked, self._found = hour, found
        return self._found

    async def look(self) -> None:
        """Look, so that the log tells of an alarm where nobody opens the operator's page."""
        try:
            await self.alarms()
        except StorageError as error:
            _log.warning("reports cannot be looked at: %s", type(error).__name__)
