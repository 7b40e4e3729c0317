"""The figures of a knowledge base as a table or as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from engine import KnowledgeBase
from kb_tools.figures import KnowledgeFigures

_COLUMNS = ("words", "grade", "questions", "directives", "references", "media")


def figures_document(base: KnowledgeBase, found: KnowledgeFigures) -> dict[str, Any]:
    """The figures for JSON."""
    grades = [one.grade for one in found.sources]
    return {
        "knowledge_base": base.manifest.name,
        "title": base.manifest.title,
        "language": base.manifest.language,
        "sources": len(found.sources),
        "high_stakes": sum(one.high_stakes for one in found.sources),
        "reviewed": sum(one.reviewed for one in found.sources),
        "words": {"total": sum(one.words for one in found.sources), "median": found.median_words},
        "grade": {"mean": round(found.mean_grade, 2), "highest": round(max(grades), 2)},
        "questions": sum(one.questions for one in found.sources),
        "directives": dict(found.directives.most_common()),
        "references": {"total": found.authorities.total(), "by_body": dict(found.authorities.most_common())},
        "media": found.media,
        "by_source": [
            {
                "id": one.id,
                "words": one.words,
                "grade": round(one.grade, 2),
                "questions": one.questions,
                "directives": one.directives,
                "references": one.references,
                "media": one.media,
                "high_stakes": one.high_stakes,
                "reviewed": one.reviewed,
            }
            for one in found.sources
        ],
    }


def figures_table(base: KnowledgeBase, found: KnowledgeFigures) -> RenderableType:
    """One row a source, then the sums, then directives and authorities in a line each."""
    table = Table(title=f"{base.manifest.title} ({base.folder.name})", show_footer=True)
    sums = _sums(found)
    table.add_column("source", footer=f"{len(found.sources)} sources")
    for name in _COLUMNS:
        table.add_column(name, justify="right", footer=sums[name])
    table.add_column("stakes", footer=f"{sum(one.high_stakes for one in found.sources)} high")
    table.add_column("reviewed", footer=str(sum(one.reviewed for one in found.sources)))
    for one in found.sources:
        cells = [f"{one.grade:.1f}" if name == "grade" else str(getattr(one, name)) for name in _COLUMNS]
        table.add_row(one.id, *cells, "high" if one.high_stakes else "", "yes" if one.reviewed else "none")
    directives = ", ".join(f"{kind} {times}" for kind, times in found.directives.most_common()) or "none"
    bodies = ", ".join(f"{body} {times}" for body, times in found.authorities.most_common()) or "none"
    return Group(table, f"directives: {directives}", f"references: {bodies}", f"media: {found.media}")


def _sums(found: KnowledgeFigures) -> dict[str, str]:
    sums = {name: str(sum(getattr(one, name) for one in found.sources)) for name in _COLUMNS if name != "grade"}
    return {**sums, "grade": f"ø {found.mean_grade:.1f}"}
