"""The sentences of a reply with their places, so that a verdict can quote them and the refiner can cut them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKER = re.compile(r"[ \t]*(?:[-*•–▪◦](?![-*])|#{1,6}|>|\(?\d{1,3}(?:\.\d{1,3})*[.)])[ \t]+")
_END = re.compile(
    r"(?<![.!?…。])(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\bSt)(?<!\betc)"
    r"[.!?…。]++[\"'”’)\]*_]*+(?=\s|$)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence as it stands at `start:end` of its text; `item` says that it opens a list item."""

    text: str
    start: int
    end: int
    item: bool = False
    heading: bool = False
    block: int = 0


def split(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text with their places; each list item is at least one, its marker left out."""
    # A backslash and an n stand where a line break was lost on the way; the length must stay the same.
    return tuple(_split(text, text.replace("\\n", " \n")))


def _split(text: str, working: str) -> Iterator[Sentence]:
    for number, (start, end, item, heading) in enumerate(_blocks(working)):
        first = True
        for left, right in _pieces(working, start, end):
            if any(char.isalnum() for char in working[left:right]):
                yield Sentence(
                    text=text[left:right],
                    start=left,
                    end=right,
                    item=item and first,
                    heading=heading,
                    block=number,
                )
                first = False


def _blocks(text: str) -> list[tuple[int, int, bool, bool]]:
    """Start, end, is a list item, is a heading: of every paragraph, list item and heading."""
    blocks: list[tuple[int, int, bool, bool]] = []
    offset, joins = 0, False
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        end = offset + len(line)
        if not line.strip():
            joins = False
        elif joins and not marker:
            blocks[-1] = (blocks[-1][0], end, *blocks[-1][2:])
        else:
            heading = line.lstrip().startswith("#")
            start = offset + (marker.end() if marker else 0)
            blocks.append((start, end, bool(marker) and not heading, heading))
            joins = not heading
        offset = end + 1
    return blocks


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    left = start
    for stop in [*(match.end() for match in _END.finditer(text, start, end)), end]:
        piece = text[left:stop]
        stripped = piece.strip()
        if stripped:
            begin = left + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped)
        left = stop
