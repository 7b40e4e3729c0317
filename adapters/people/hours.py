"""When a service is open: hours by the clock of a place, whatever that place does in spring and autumn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import BeforeValidator, Field, model_validator

from engine import Strict

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Day, ...] = get_args(Day)
AROUND_THE_CLOCK = "always"
_MIDNIGHT = 24 * 60
_TIME = re.compile(r"([01]\d|2[0-4]):([0-5]\d)", re.ASCII)


def _minutes(written: Any) -> Any:
    """A time of day in minutes. YAML reads an unquoted 10:30 as such a number, and an unquoted 09:00 as a text."""
    if isinstance(written, int) and not isinstance(written, bool) and 0 <= written <= _MIDNIGHT:
        return written
    found = _TIME.fullmatch(written.strip()) if isinstance(written, str) else None
    minutes = None if found is None else 60 * int(found[1]) + int(found[2])
    if minutes is None or minutes > _MIDNIGHT:
        raise ValueError('a time is written as hours and minutes, such as "09:00"')
    return minutes


Minutes = Annotated[int, BeforeValidator(_minutes)]
"""Minutes since midnight, 24:00 included."""


class OpenHours(Strict):
    """One span of hours on some days; where it ends before it begins, it ends on the next day."""

    days: tuple[Day, ...] = Field(min_length=1)
    begins: Minutes = Field(alias="from")
    ends: Minutes = Field(alias="to")

    @model_validator(mode="after")
    def _lasts(self) -> OpenHours:
        if self.begins == self.ends:
            raise ValueError("it ends when it begins: for the whole day write from 00:00 to 24:00")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """Whether somebody answers now. `until` and `opens` are by the service's own clock; both None: it never changes."""

    open: bool
    until: datetime | None = None
    opens: datetime | None = None


def opening(hours: Sequence[OpenHours], closed_on: Sequence[date], zone: str, now: datetime) -> Opening:
    """What holds at a moment. `now` knows its time zone."""
    here = now.astimezone(ZoneInfo(zone))
    for begins, ends in _spans(hours, frozenset(closed_on), here):
        if begins > here:
            return Opening(open=False, opens=begins)
        if here < ends:
            # Who is open for more than a day is open, as far as a reader is concerned.
            return Opening(open=True, until=ends if ends - here <= timedelta(days=1) else None)
    return Opening(open=False)


def _spans(
    hours: Sequence[OpenHours], closed_on: frozenset[date], here: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Spans from yesterday's on, in order, those that touch put together; days enough to find the next one."""
    begun: tuple[datetime, datetime] | None = None
    for begins, ends in _each(hours, closed_on, here):
        if begun is None:
            begun = begins, ends
        elif begins <= begun[1]:
            begun = begun[0], max(begun[1], ends)
        else:
            yield begun
            begun = begins, ends
    if begun is not None:
        yield begun


def _each(
    hours: Sequence[OpenHours], closed_on: frozenset[date], here: datetime
) -> Iterator[tuple[datetime, datetime]]:
    for offset in range(-1, 8 + 7 * len(closed_on)):
        day = here.date() + timedelta(days=offset)
        if day not in closed_on:
            yield from sorted(_span(one, day, here) for one in hours if WEEKDAYS[day.weekday()] in one.days)


def _span(hours: OpenHours, day: date, here: datetime) -> tuple[datetime, datetime]:
    ends = hours.ends + (0 if hours.ends > hours.begins else _MIDNIGHT)
    return _at(day, hours.begins, here), _at(day, ends, here)


def _at(day: date, minutes: int, here: datetime) -> datetime:
    """A time by the clock on the wall; within one place, comparisons and differences are by that clock too."""
    days, left = divmod(minutes, _MIDNIGHT)
    return datetime(day.year, day.month, day.day, left // 60, left % 60, tzinfo=here.tzinfo) + timedelta(days=days)
