"""The figures of a knowledge base as a table of a page, as lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kb_tools.facts import Fact


def facts_document(found: Iterable[Fact]) -> list[dict[str, Any]]:
    """The facts for JSON."""
    return [
        {
            "source": one.source,
            "section": one.section,
            "figure": one.figure,
            "sentence": one.sentence,
            "references": [reference.model_dump() for reference in one.references],
        }
        for one in found
    ]


def fact_lines(found: Iterable[Fact]) -> Iterator[str]:
    """One line a fact."""
    for one in found:
        yield f"{one.source}#{one.section}: {one.sentence}  →  {references(one) or 'no reference named'}"


def fact_page(found: Iterable[Fact], name: str) -> str:
    """The part of a page that belongs to one knowledge base, in Markdown."""
    rows = (f"| {one.source} | {one.section} | {_cell(one.sentence)} | {_cell(references(one))} |" for one in found)
    head = (f"## {name}", "", "| source | section | sentence | reference |", "|---|---|---|---|")
    return "\n".join((*head, *rows))


def references(one: Fact) -> str:
    """What a fact rests on, in words."""
    return "; ".join(f"{reference.body}, {reference.title}, {reference.year}" for reference in one.references)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
