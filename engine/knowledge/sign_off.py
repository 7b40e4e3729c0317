"""Who has signed a source off, in which role, and until when that holds: what `reviewed` in its front matter says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

UNSIGNED = "none"
_DATE = re.compile(r"\b(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class SignOff:
    """`role` is whoever reviewed the text, as it stands there; `day` is None where no date is given."""

    role: str
    day: date | None

    @classmethod
    def read(cls, said: str) -> SignOff | None:
        """What `reviewed` says; None for a draft that nobody has signed off."""
        if said.strip().casefold() == UNSIGNED:
            return None
        role = _DATE.sub("", said).strip(" ,;.()–-")
        return cls(role=role or said.strip(), day=reviewed_on(said))

    def until(self, days: int) -> date | None:
        """The last day on which a review counts that holds for so many days."""
        return None if self.day is None else self.day + timedelta(days=days)

    def overdue(self, today: date, days: int) -> bool:
        """Whether that day has gone by; a review without a date never is, as the linter says."""
        until = self.until(days)
        return until is not None and until < today


def reviewed_on(said: str) -> date | None:
    """The last date that a text names; a month or a year alone counts as its end."""
    days = []
    for year, month, day in _DATE.findall(said):
        try:
            days.append(date(int(year), int(month or 12), int(day or (31 if not month else 28))))
        except ValueError:  # no day of any calendar
            continue
    return max(days, default=None)
