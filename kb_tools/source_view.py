"""A source as lines or as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from engine import KnowledgeBase, Source


def listing(base: KnowledgeBase) -> Iterator[str]:
    """Every source on one line."""
    width = max(len(one) for one in base.sources)
    for source in base.sources.values():
        stakes = "  (high stakes)" if source.high_stakes else ""
        yield f"{source.id:<{width}}  {source.title}{stakes}"


def source_lines(base: KnowledgeBase, source: Source) -> Iterator[str]:
    """What users see, then what the agent sees, each under its own heading."""
    yield _heading("As users see it")
    yield from for_users(source)
    yield ""
    yield _heading("As the agent sees it")
    yield from for_agent(base, source)


def _heading(text: str) -> str:
    return f"── {text} ".ljust(100, "─")


def for_users(source: Source) -> Iterator[str]:
    """The text that may be quoted, and what stands beside it as its source; pictures where they are shown."""
    yield source.title
    yield ""
    yield _with_dangers_apart(source)
    yield ""
    yield "References: " + ("; ".join(f"{one.title}, {one.body}, {one.year}" for one in source.references) or "none")
    yield f"Reviewed: {source.reviewed}."
    if source.shown_files():
        yield f"Pictures: {', '.join(source.shown_files())}"


def _with_dangers_apart(source: Source) -> str:
    """The text, with a line down the side of each danger."""
    text = source.text
    for one in source.dangers:
        text = text.replace(one.text, textwrap.indent(one.text, "│ ", lambda _: True))
    return text


def for_agent(base: KnowledgeBase, source: Source) -> Iterator[str]:
    """Its line in the index, which is in every prompt; the source as a prompt gives it; and what finds it."""
    yield "In every prompt, as a line of the index:"
    yield f"  {base.index_line(source)}"
    yield ""
    yield "In context, besides the text above:"
    yield f'  <source id="{source.id}">'
    yield from (f"  note: {one.for_agent()}  (line {one.line})" for one in source.directives)
    if not source.directives:
        yield "  no local rules"
    yield f"Stakes: {'high, so nothing is added from general knowledge' if source.high_stakes else 'normal'}."
    yield ""
    yield "Found by these questions, which no prompt contains:"
    yield from (f"  {one}" for one in source.questions or ("none",))
    yield ""
    yield "Its sections:"
    for one in source.sections:
        dangers = f", dangers: {', '.join(one.dangers)}" if one.dangers else ""
        yield f"  {{#{one.id}}} {one.heading}  (for {', '.join(one.audience)}; {len(one.questions)} questions{dangers})"


def source_document(base: KnowledgeBase, source: Source) -> dict[str, Any]:
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
        "sections": [
            {
                "id": one.id,
                "heading": one.heading,
                "for": list(one.audience),
                "questions": list(one.questions),
                "dangers": list(one.dangers),
            }
            for one in source.sections
        ],
        "directives": [
            {"kind": str(one.kind), "value": one.value, "caption": one.caption, "line": one.line}
            for one in source.directives
        ],
        "for_agent": {"index": base.index_line(source), "notes": list(source.notes_for_agent())},
    }
