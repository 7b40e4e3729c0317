"""Small counts are held back, so that no number that is told lets anybody work out one of one to four people.

Rows of a table whose counts are small are put together with the row beside them until no count is small. As every answer
lies in exactly one row, what is told are sums over whole rows, and so are all sums and differences of them. Two tables
about the same answers share nothing but their common totals: exchanging two answers between two rows of one table
changes nothing in any other, so no cell between two tables can be worked out either. Zero is told; it points at nobody.
(The threshold is DESIGN §5; putting rows together instead of deleting them keeps all totals exact.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.storage.counts import HELD_BACK_UNDER

Counts = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One row of a table: its names (several where rows were put together) and its counts, column by column."""

    names: tuple[str, ...]
    counts: Counts

    def __add__(self, other: Row) -> Row:
        return Row(names=self.names + other.names, counts=added(self.counts, other.counts))


def safe(counts: Counts) -> bool:
    """Whether none of the counts is small: each is zero or at least five."""
    return all(count == 0 or count >= HELD_BACK_UNDER for count in counts)


def merged(rows: Sequence[Row]) -> list[Row]:
    """The rows in their order, small ones put together with the next (the last with the one before)."""
    done = list(rows)
    while len(done) > 1:
        small = next((at for at, row in enumerate(done) if not safe(row.counts)), None)
        if small is None:
            break
        at = min(small, len(done) - 2)
        done[at : at + 2] = [done[at] + done[at + 1]]
    return done


def apart(rows: Sequence[Row], total: Counts) -> tuple[list[Row], list[str]]:
    """Rows whose answers overlap (an answer can rest on two sources): those that can be told, names of those that cannot.

    A row is told where its counts and all the rest are safe. What the told rows leave over must be safe too: otherwise
    the last one is held back as well.
    """
    told = [row for row in rows if safe(row.counts) and safe(less(total, row.counts))]
    held = [row.names[0] for row in rows if row not in told]
    while told and held and not safe(_left_over(told, total)):
        held.append(told.pop().names[0])
    return told, sorted(held)


def added(one: Counts, other: Counts) -> Counts:
    """Sums, column by column."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def less(one: Counts, other: Counts) -> Counts:
    """Differences, column by column."""
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _left_over(told: Sequence[Row], total: Counts) -> Counts:
    left = total
    for row in told:
        left = less(left, row.counts)
    return tuple(max(0, count) for count in left)
