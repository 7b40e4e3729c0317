"""HTML into blocks: what a reader of the page sees of its text, without menus, scripts and forms."""

from __future__ import annotations

from collections.abc import Iterator

from kb_tools.manual.blocks import Block
from kb_tools.manual.markdown import markdown_blocks

_SKIPPED_TAGS = "script style noscript template nav header footer aside button select svg iframe object"


def page_blocks(text: str) -> tuple[str, Iterator[Block]]:
    """The title of a page (maybe empty) and its blocks; <main> or <article> alone where there is one.

    Raises ImportError where the extra `import` is not installed.
    """
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(text, "lxml")
    title = " ".join(page.title.get_text().split()) if page.title else ""
    for tag in page.find_all(["title", *_SKIPPED_TAGS.split()]):
        if not (tag.name == "header" and tag.find_parent(["main", "article"])):
            tag.extract()
    written = MarkdownConverter(heading_style="ATX", bullets="-").convert_soup(
        page.find("main") or page.find("article") or page
    )
    return title, markdown_blocks(written)
