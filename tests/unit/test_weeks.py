"""Weeks of the calendar, around New Year and from elsewhere."""

from __future__ import annotations

from datetime import date

import pytest

from adapters.weeks import first_day, week_of


@pytest.mark.parametrize(
    ("day", "week"),
    [
        (date(2026, 11, 21), "2026-W47"),
        (date(2027, 1, 3), "2026-W53"),  # the first days of a year may belong to the last week of the one before
        (date(2024, 12, 30), "2025-W01"),  # and the last ones to the first of the next
    ],
)
def test_a_week_belongs_to_the_year_of_its_thursday(day: date, week: str) -> None:
    """A day's week is that of ISO 8601, also where it has another year than the day."""
    assert week_of(day) == week
    assert week_of(first_day(week)) == week


@pytest.mark.parametrize("word", ["", "2026-W00", "2025-W53", "2026-47", "1999-W01", "2026-W47\n", "٢٠٢٦-W47"])
def test_what_is_no_week_has_no_first_day(word: str) -> None:
    """A word that is no week, or a week that its year does not have, raises ValueError."""
    with pytest.raises(ValueError, match=r".+"):
        first_day(word)
