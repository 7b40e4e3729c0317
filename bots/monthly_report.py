"""Counts of a year by month and name, as lines, JSON, CSV and a page, so that no count of one to four can be worked out.

Months in order make blocks, as many together as it takes for their sum to be five or more; a month of zero stands by
itself. Where a block ends is decided by what came before alone, so that a later report holds the same blocks and more: two
reports cannot be subtracted from one another. Inside a block, names are put together until no row is small. What is left
over at the end is fewer than five, and is told as that.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from adapters.feedback.holding_back import Row, merged
from adapters.storage.counts import HELD_BACK_UNDER, Subject
from engine import Kind

COLUMNS = ("year", "first_month", "last_month", "about", "count")
_TITLES: Mapping[Subject, str] = {
    "referral": "How often the crisis referral stood in place of an answer",
    "notice": "How often people were told that this is a program",
}
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1d2433;background:#fff;margin:2rem auto;max-width:46rem;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{border:1px solid #6b7280;padding:.3rem .6rem;text-align:left}"
    "td:last-child{text-align:right}"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthBlock:
    """Months that are told together: the first and last of them, their sum, and rows of names with a count each."""

    first: str
    last: str
    count: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class MonthlyReport:
    """A year's counts. `held_back`: the months at the end whose sum is under five, and at least one."""

    subject: Subject
    year: int
    blocks: tuple[MonthBlock, ...]
    held_back: tuple[str, ...]

    @classmethod
    def of(cls, subject: Subject, year: int, months: Mapping[str, Counter[str]]) -> MonthlyReport:
        """The report on months that have ended, in order."""
        blocks: list[MonthBlock] = []
        waiting: list[str] = []
        for month in sorted(months):
            waiting.append(month)
            sums = sum((months[one] for one in waiting), Counter[str]())
            total = sum(sums.values())
            if total >= HELD_BACK_UNDER or not total:
                rows = _rows(subject, sums) if total else ()
                blocks.append(MonthBlock(first=waiting[0], last=waiting[-1], count=total, rows=rows))
                waiting = []
        return cls(subject=subject, year=year, blocks=tuple(blocks), held_back=tuple(waiting))

    @property
    def total(self) -> int:
        """The sum of all that is told."""
        return sum(block.count for block in self.blocks)

    def records(self) -> list[dict[str, Any]]:
        """One row a block and name; a block of zero is one row about nothing."""
        return [
            {"year": self.year, "first_month": one.first, "last_month": one.last, "about": about, "count": count}
            for one in self.blocks
            for about, count in ([(" + ".join(row.names), row.counts[0]) for row in one.rows] or [("", 0)])
        ]

    def as_document(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "subject": self.subject,
            "year": self.year,
            "total": self.total,
            "rows": self.records(),
            "held_back_under": HELD_BACK_UNDER,
            "held_back": list(self.held_back),
        }

    def as_csv(self) -> str:
        """The rows as CSV."""
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return text.getvalue()

    def lines(self) -> Iterator[str]:
        """The report for the terminal."""
        yield f"{_TITLES[self.subject]}, {self.year}"
        for one in self.records():
            yield f"{_months(one['first_month'], one['last_month'])}  {one['count']:>6}  {one['about'] or '–'}"
        yield f"Told altogether: {self.total}"
        yield from self.notes()

    def notes(self) -> Iterator[str]:
        """What a reader must know."""
        if self.held_back:
            yield f"Held back, fewer than {HELD_BACK_UNDER}: {_months(self.held_back[0], self.held_back[-1])}"
        yield (
            f"Numbers under {HELD_BACK_UNDER} are not told: months, and what stands in a row, are put together until none is "
            "as small. No names, words, times or addresses are kept. The month that is running is not told."
        )
        if self.subject == "referral":
            yield (
                "Counted is the referral in place of an answer, whole or as one line; not questions, nor contacts that "
                "somebody looked up."
            )

    def as_html(self) -> str:
        """The report as one page, nothing fetched from anywhere."""
        rows = "".join(
            f"<tr><th scope='row'>{_months(one['first_month'], one['last_month'])}</th>"
            f"<td>{escape(one['about'] or '–')}</td><td>{one['count']}</td></tr>"
            for one in self.records()
        )
        title = f"{_TITLES[self.subject]}, {self.year}"
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        said = "".join(f"<p>{escape(line)}</p>" for line in self.notes())
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<title>{escape(title)}</title><style>{_STYLE}</style></head>\n'
            f"<body><h1>{escape(title)}</h1><p>Told altogether: {self.total}</p><table><thead><tr><th scope='col'>Months</th>"
            f"<th scope='col'>About</th><th scope='col'>Count</th></tr></thead><tbody>{rows}</tbody></table>{said}"
            "</body></html>\n"
        )


def _rows(subject: Subject, sums: Counter[str]) -> tuple[Row, ...]:
    """Rows of names, small ones put together; of referrals every kind has its place, so that neighbours stay the same."""
    names: Sequence[str] = tuple(Kind) if subject == "referral" else sorted(sums)
    rows = merged([Row(names=(name,), counts=(sums[name],)) for name in names])
    return tuple(row for row in rows if any(row.counts))


def _months(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
