"""A search laid open, as JSON or as lines: which sections were found, what speaks for each, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine import SECTION_EVIDENCE, SectionSearch


def explanation_document(search: SectionSearch, question: str, top: int) -> dict[str, Any]:
    """The best sections with their share and evidence; `near`: how likely one of the first four answers, `right`: the first,
    `scope`: that the question is about anything here. Every figure is from 0 to 1, but evidence may be above."""
    found, rows = search.find(question, most=top), search.rows(question)
    places = {(source.id, section.id): at for at, (source, section) in enumerate(search.sections)}
    return {
        "question": question,
        "near": round(found.near, 4),
        "right": round(found.right, 4),
        "scope": round(found.scope, 4),
        "hits": [{"source": hit.source, "score": round(hit.score, 4)} for hit in search.search(question, top=top)],
        "sections": [
            {
                "section": f"{hit.source.id}#{hit.section.id}",
                "share": round(hit.share, 4),
                "evidence": {
                    name: round(float(value), 3)
                    for name, value in zip(SECTION_EVIDENCE, rows[places[hit.source.id, hit.section.id]], strict=True)
                    if value and not name.endswith("_before")
                },
            }
            for hit in found.hits
        ],
    }


def explanation_lines(found: dict[str, Any]) -> Iterator[str]:
    """The same to read."""
    yield f"About anything here: {found['scope']:.2f}."
    yield f"One of the first four answers: {found['near']:.2f}, the first: {found['right']:.2f}."
    for one in found["sections"]:
        evidence = ", ".join(f"{name} {value:.2f}" for name, value in one["evidence"].items())
        yield f"  {one['share']:.2f}  {one['section']}: {evidence}"
    yield "Sources: " + (", ".join(f"{hit['source']} {hit['score']:.2f}" for hit in found["hits"]) or "Nothing fits.")
