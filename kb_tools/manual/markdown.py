"""Markdown into blocks: headings, list items and paragraphs; a row of a table is a paragraph, code stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kb_tools.manual.blocks import Block

_READER = MarkdownIt("commonmark", {"html": False}).enable("table")
_BULLET = re.compile(r"^(\s*)[•–▪◦·]\s+", re.M)
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
    level, item = 0, False
    row: list[str] | None = None
    for token in _READER.parse(_BULLET.sub(r"\1- ", _COMMENT.sub("", _FRONT.sub("", text)))):
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "list_item_open":
            item = True
        elif token.type == "tr_open":
            row = []
        elif token.type in {"fence", "code_block"}:
            yield Block(kind="paragraph", text=token.content)
        elif token.type == "tr_close":
            yield Block(kind="paragraph", text=" | ".join(row or ()))
            row = None
        elif token.type == "inline":
            lines = _lines(token)
            if row is not None:
                row.append(" ".join(lines))
            elif level or item:
                yield Block(kind="heading" if level else "item", text=" ".join(lines), level=level)
                level, item = 0, False
            else:
                yield from (Block(kind="paragraph", text=line) for line in lines)


def _lines(token: Token) -> list[str]:
    """The text of a paragraph, divided where its author broke the line; links and pictures stay marked."""
    lines, address = [""], ""
    for one in token.children or ():
        if one.type == "hardbreak":
            lines.append("")
        elif one.type == "softbreak":
            lines[-1] += " "
        elif one.type == "link_open":
            address = str(one.attrs["href"])
            lines[-1] += "["
        elif one.type == "link_close":
            lines[-1] += f"]({address})"
        else:
            lines[-1] += f"![{one.content}](picture)" if one.type == "image" else one.content
    return lines
