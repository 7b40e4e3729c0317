"""Markdown into blocks: headings of both kinds, lists, paragraphs; code and tables stay as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bots.importing.blocks import Block

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?\d{1,3}[.)])\s+(.*)$")
_RULE = re.compile(r" {0,3}(?:[-*_]\s*){3,}$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.M)


def markdown_title(text: str) -> str | None:
    """The title in the front matter of another program, if there is one."""
    front = _FRONT.match(text)
    found = _TITLE.search(front[1]) if front else None
    return found[1] if found else None


def markdown_blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text in order."""
    held: list[str] = []
    item, fenced = False, False
    for line in (*_COMMENT.sub("", _FRONT.sub("", text)).split("\n"), ""):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        heading = None if fenced else _HEADING.match(line)
        starts = None if fenced else _ITEM.match(line)
        if held and not item and not fenced and (under := _UNDERLINE.match(line)):
            yield Block(kind="heading", text=" ".join(held), level=1 if under[1][0] == "=" else 2)
            held = []
            continue
        if held and (heading or starts or not line.strip() or (not fenced and _RULE.match(line))):
            yield Block(kind="item" if item else "paragraph", text=" ".join(held))
            held = []
        if heading:
            yield Block(kind="heading", text=heading[2], level=len(heading[1]))
        elif line.strip() and (fenced or not _RULE.match(line)):
            item = bool(starts) if not held else item
            held.append(starts[1] if starts else line.strip().removeprefix("> "))
    if held:
        yield Block(kind="item" if item else "paragraph", text=" ".join(held))
