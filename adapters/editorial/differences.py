"""What differs between two texts, line by line, for people to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

AROUND = 2
"""Lines that stay the same and are shown around what differs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DifferentLine:
    """`kind`: `same`, `gone`, `new`, or `gap` where lines are left out. `number` is that of the line in its text."""

    kind: str
    text: str = ""
    number: int = 0


def differences(before: str, after: str) -> list[DifferentLine]:
    """The lines that differ and some around them; nothing where the texts are the same."""
    old, new = before.splitlines(), after.splitlines()
    found: list[DifferentLine] = []
    for group in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_grouped_opcodes(AROUND):
        if found:
            found.append(DifferentLine(kind="gap"))
        for kind, start, end, there, till in group:
            found += _lines(kind, old[start:end], start, new[there:till], there)
    return found


def _lines(kind: str, old: list[str], start: int, new: list[str], there: int) -> Iterator[DifferentLine]:
    if kind == "equal":
        yield from (DifferentLine(kind="same", text=one, number=at) for at, one in enumerate(new, start=there + 1))
        return
    yield from (DifferentLine(kind="gone", text=one, number=at) for at, one in enumerate(old, start=start + 1))
    yield from (DifferentLine(kind="new", text=one, number=at) for at, one in enumerate(new, start=there + 1))
