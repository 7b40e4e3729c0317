"""A search laid open, as lines or as JSON: what was asked, what was understood, and why each source scored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine import Component, Explanation, PartExplanation


def explanation_lines(found: Explanation, top: int, threshold: float) -> Iterator[str]:
    """Part by part, then the hits; every value but the words is from 0 to 1."""
    for number, part in enumerate(found.parts, start=1):
        yield f"Part {number}: {part.text}" if number < len(found.parts) or number == 1 else f"As a whole: {part.text}"
        yield from (f"  {line}" for line in _part_lines(part, top))
        yield ""
    yield f"Hits (a score under {threshold:g} means that nothing fits):"
    for hit in found.hits[:top]:
        yield f"  {hit.score:.2f}  {hit.source}  by: {', '.join(hit.matched) or '–'}"
    if not found.hits:
        yield "  Nothing fits."


def _part_lines(part: PartExplanation, top: int) -> Iterator[str]:
    yield "spelling: " + (", ".join(f"{one} → {right}" for one, right in part.corrected.items()) or "as written")
    for unit, meant in part.synonyms.items():
        yield f"{unit!r} was also looked for as: {', '.join(one for one in meant if one != unit)}"
    if part.unknown:
        yield f"in no source: {', '.join(part.unknown)}"
    yield from (_component_line(one) for one in part.components[:top])
    if part.left_over:
        yield f"for what is left over: {_component_line(part.left_over[0])}"


def _component_line(one: Component) -> str:
    return (
        f"{one.score:.2f}  {one.source}: line {one.line:.2f}, cover {one.cover:.2f}, bm25 {one.bm25:.2f}; "
        f"words: {', '.join(one.matched) or '–'}; best line: {one.best_line or '–'}"
    )


def explanation_document(found: Explanation, top: int, threshold: float) -> dict[str, Any]:
    """The explanation for JSON."""
    return {
        "question": found.question,
        "threshold": threshold,
        "hits": [
            {"source": hit.source, "score": round(hit.score, 4), "matched": list(hit.matched)}
            for hit in found.hits[:top]
        ],
        "parts": [
            {
                "text": part.text,
                "corrected": dict(part.corrected),
                "synonyms": {unit: list(meant) for unit, meant in part.synonyms.items()},
                "unknown": list(part.unknown),
                "components": [_component(one) for one in part.components[:top]],
                "left_over": [_component(one) for one in part.left_over[:1]],
            }
            for part in found.parts
        ],
    }


def _component(one: Component) -> dict[str, Any]:
    return {
        "source": one.source,
        "score": round(one.score, 4),
        "line": round(one.line, 4),
        "best_line": one.best_line,
        "cover": round(one.cover, 4),
        "bm25": round(one.bm25, 4),
        "matched": list(one.matched),
    }
