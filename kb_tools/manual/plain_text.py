"""Plain text into blocks: paragraphs between empty lines; short lines that stand alone are taken for headings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine import words
from kb_tools.manual.blocks import Block
from kb_tools.manual.markdown import markdown_blocks

LONGEST_HEADING = 10
"""Words of a line that may still be a heading."""

_NUMBERED = re.compile(r"(?:chapter |part )?(\d{1,2}(?:\.\d{1,2}){0,3})[.:)]?\s+(?=[^\W\d_])", re.I)
_ENDED = re.compile(r"[.!?…:;,][\"'”’)]*$")
_BULLET = re.compile(r"[-*+•–]\s")
_MARKED = re.compile(r"^ {0,3}#{1,6} |^ {0,3}=+\s*$", re.M)


def plain_blocks(text: str) -> Iterator[Block]:
    """The blocks of a plain text; one with Markdown headings is read as Markdown."""
    if _MARKED.search(text):
        yield from markdown_blocks(text)
        return
    pieces = [_dedented(piece) for piece in re.split(r"\n\s*\n", text) if piece.strip()]
    for piece, following in zip(pieces, (*pieces[1:], ""), strict=True):
        level = heading_level(piece, following)
        if level:
            yield Block(kind="heading", text=piece, level=level)
        else:
            yield from markdown_blocks(piece)


def _dedented(piece: str) -> str:
    return "\n".join(line.strip() for line in piece.strip().split("\n"))


def heading_level(piece: str, following: str) -> int:
    """1 to 4 for a piece that looks like a heading, else 0: in capitals, numbered, or a short line before a text."""
    if "\n" in piece or _ENDED.search(piece) or _BULLET.match(piece) or not following:
        return 0
    if not 1 <= len(words(piece)) <= LONGEST_HEADING:
        return 0
    if piece.isupper():
        return 1
    # One numbered line before another is a list, whatever stands between them.
    if numbered := _NUMBERED.match(piece):
        return 0 if _NUMBERED.match(following) else 1 + numbered[1].count(".")
    is_text = bool(_BULLET.match(following)) or len(words(following)) > LONGEST_HEADING
    return 2 if is_text and not piece[0].islower() else 0
