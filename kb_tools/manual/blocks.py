"""A manual as every reader gives it: headings, paragraphs and list items in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from engine import clean, words

Kind = Literal["heading", "paragraph", "item"]

_WEB_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((https?://[^()\s\[\]]+)\)")
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\([^()]*\)")
_LOCAL_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """One piece of text on one line; `level` is 1 to 6 for headings and 0 for the rest."""

    kind: Kind
    text: str
    level: int = 0

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(words(self.text))


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One file as read. `warnings` are sentences for whoever imports it."""

    title: str
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All text, a block a paragraph."""
        return "\n\n".join(block.text for block in self.blocks)


def tidy(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks that say something, on one line each and safe to stand in a source."""
    for block in blocks:
        text = plain(block.text)
        if block.kind == "heading" and text.isupper() and " " in text:  # one word may be a name, such as NHS
            text = text.capitalize()
        if any(char.isalnum() for char in text):
            yield Block(kind=block.kind, text=text, level=block.level)


def plain(text: str) -> str:
    """One line without invisible characters or square brackets: those are directives in a source.

    Links into the web stay; others, which would be dead, leave their words. A picture leaves its description.
    """
    line = " ".join(clean(text, limit=max(1, len(text) * 4)).text.split())
    line = _PICTURE.sub(lambda found: f"(Picture: {found[1]})" if found[1].strip() else "", line)
    kept, place = [], 0
    for link in _WEB_LINK.finditer(line):
        kept += [_without_brackets(line[place : link.start()]), link[0]]
        place = link.end()
    # A mark that would make a heading or a list of a line stays what it is: text.
    return "".join((*kept, _without_brackets(line[place:]))).strip()


def _without_brackets(text: str) -> str:
    return _LOCAL_LINK.sub(r"\1", text).translate(_ROUND)
