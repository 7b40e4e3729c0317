"""A source as lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Source


def listing(base: KnowledgeBase) -> Iterator[str]:
    """Every source on one line."""
    width = max(len(one) for one in base.sources)
    for source in base.sources.values():
        stakes = "  (high stakes)" if source.high_stakes else ""
        yield f"{source.id:<{width}}  {source.title}{stakes}"


def source_lines(source: Source) -> Iterator[str]:
    """What users see, then what the agent sees besides."""
    yield source.title
    yield ""
    yield source.text
    yield ""
    yield "References: " + ("; ".join(f"{one.title}, {one.body}, {one.year}" for one in source.references) or "none")
    yield f"Reviewed: {source.reviewed}. Stakes: {'high' if source.high_stakes else 'normal'}."
    yield ""
    yield "For the agent alone:"
    yield from (f"  summary: {one}" for one in source.summary)
    yield from (f"  line {one.line}: {one.for_agent()}" for one in source.directives)


def source_document(source: Source) -> dict[str, Any]:
    """The source for JSON."""
    return {
        "id": source.id,
        "title": source.title,
        "summary": list(source.summary),
        "questions": list(source.questions),
        "references": [one.model_dump() for one in source.references],
        "reviewed": source.reviewed,
        "stakes": "high" if source.high_stakes else "normal",
        "text": source.text,
        "directives": [
            {"kind": str(one.kind), "value": one.value, "caption": one.caption, "line": one.line}
            for one in source.directives
        ],
    }
