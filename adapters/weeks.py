"""Weeks, the finest time that counts are kept by: ISO 8601, such as 2026-W47, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_WEEK = re.compile(r"(20[0-9]{2})-W([0-9]{2})", re.ASCII)


def today() -> date:
    """The date, in UTC wherever the machine stands."""
    return datetime.now(UTC).date()


def week_of(day: date) -> str:
    """The ISO 8601 week of a day."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"


def first_day(week: str) -> date:
    """The Monday of an ISO 8601 week; raises ValueError for what is none."""
    found = _WEEK.fullmatch(week)
    if found is None:
        raise ValueError("not a week")
    return date.fromisocalendar(int(found[1]), int(found[2]), 1)
