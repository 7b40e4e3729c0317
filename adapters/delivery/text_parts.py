"""Cutting a text into messages a platform takes, on the borders of paragraphs, lines, sentences and words, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable

Measure = Callable[[str], int]
_BORDERS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"(?<=[.!?…:;])[”\"')]?\s+"), re.compile(r"\s+"))


def utf16_units(text: str) -> int:
    """The length of a text as Telegram counts it: in UTF-16 code units."""
    return len(text.encode("utf-16-le")) // 2


def split_text(text: str, limit: int, measure: Measure = len) -> list[str]:
    """A text in pieces of at most `limit`; nothing but white space at the cuts is lost."""
    pieces, rest = [], text.strip()
    while measure(rest) > limit:
        cut = _cut(rest, limit, measure)
        piece = rest[:cut].rstrip()
        if piece:
            pieces.append(piece)
        rest = rest[cut:].lstrip()
    return [*pieces, rest] if rest else pieces


def _cut(text: str, limit: int, measure: Measure) -> int:
    """Where to cut: the last border that leaves the piece at least a quarter full; else inside a word."""
    most = _fitting(text, limit, measure)
    for border in _BORDERS:
        ends = [match.end() for match in border.finditer(text, 0, most + 1) if measure(text[: match.start()]) <= limit]
        fitting = [end for end in ends if end >= most // 4]
        if fitting:
            return fitting[-1]
    return most


def _fitting(text: str, limit: int, measure: Measure) -> int:
    """How many characters fit; no character is cut in two."""
    low, high = 1, min(len(text), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if measure(text[:middle]) <= limit else (low, middle - 1)
    return low
