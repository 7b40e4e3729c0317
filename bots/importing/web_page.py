"""HTML into blocks: what a reader of the page sees of its text, without menus, scripts and forms."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from bots.importing.blocks import Block, Kind

_SKIPPED_TAGS = "script style noscript template nav header footer aside button select svg iframe object"
_BORDER_TAGS = "p div section article main li ul ol dl dt dd table tr td th blockquote pre figure figcaption br hr body"
_SKIPPED = frozenset(_SKIPPED_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BORDERS = frozenset(_BORDER_TAGS.split())


class _Page(HTMLParser):
    """Collects blocks; `main` are those inside <main> or <article>, where a page marks what it is about."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.all: list[Block] = []
        self.main: list[Block] = []
        self._held: list[str] = []
        self._kind: Kind = "paragraph"
        self._level = 0
        self._skipping: list[str] = []
        self._inside_main = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping or tag in _SKIPPED:
            if tag in _SKIPPED and not (tag == "header" and self._inside_main):
                self._skipping.append(tag)
            return
        if tag == "title":
            self._in_title = True
        elif tag == "img":
            alt = (dict(attrs).get("alt") or "").strip()
            self._held.append(f" (Picture: {alt}) " if alt else " ")
        elif tag in _BORDERS or tag in _HEADINGS:
            self._finish()
            self._inside_main += tag in {"main", "article"}
            self._level = _HEADINGS.get(tag, 0)
            self._kind = "heading" if self._level else "item" if tag in {"li", "dd"} else "paragraph"

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.pop()
            return
        if tag == "title":
            self._in_title = False
        elif tag in _BORDERS or tag in _HEADINGS:
            self._finish()
            self._inside_main -= tag in {"main", "article"} and self._inside_main > 0

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._skipping:
            self._held.append(data)

    def _finish(self) -> None:
        text = " ".join("".join(self._held).split())
        self._held.clear()
        if text:
            block = Block(kind=self._kind, text=text, level=self._level)
            self.all.append(block)
            if self._inside_main:
                self.main.append(block)
        self._kind, self._level = "paragraph", 0

    def close(self) -> None:
        super().close()
        self._finish()


def page_blocks(text: str) -> tuple[str, Iterator[Block]]:
    """The title of a page (maybe empty) and its blocks; <main> or <article> alone where there is one."""
    page = _Page()
    page.feed(text)
    page.close()
    return " ".join(page.title.split()), iter(page.main or page.all)
