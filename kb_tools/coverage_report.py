"""Coverage as lines for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kb_tools.coverage import AskedQuestion, Coverage
from kb_tools.figures import KnowledgeFigures, SourceFigures

NOTHING = "(nothing)"
PAGE_HEAD = "| source | words | grade | stakes | questions | own questions found: first | in the first three |"
SHADES = "·░▒▓█"
"""From none of a source's questions to nearly all of them."""


def coverage_document(found: Coverage) -> dict[str, Any]:
    """The coverage for JSON."""
    return {
        "sources": len(found.sources),
        "questions": len(found.asked),
        "hit_at_1": _rounded(found.hit_at_1),
        "hit_at_3": _rounded(found.hit_at_3),
        "never_found": list(found.never_found),
        "found_by_no_other": list(found.found_by_no_other),
        "without_questions": list(found.without_questions),
        "wrong": [_asked(one) for one in found.wrong],
        "unanswered": [_asked(one) for one in found.unanswered],
        "by_source": [
            {
                "source": source,
                "questions": len(asked),
                "first": sum(one.first == source for one in asked),
                "in_first_three": sum(one.hit for one in asked),
            }
            for source in found.sources
            for asked in [found.of(source)]
        ],
        "confusion": [
            {"source": source, "found": first, "times": times}
            for (source, first), times in sorted(found.confusion.items(), key=lambda one: (-one[1], str(one[0])))
            if source != first
        ],
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _asked(one: AskedQuestion) -> dict[str, Any]:
    return {"source": one.source, "question": one.question, "found": list(one.found)}


def coverage_lines(found: Coverage) -> Iterator[str]:
    """A row a source with its heat map, then what went wrong, then the sums."""
    yield from heat_map_lines(found)
    yield ""
    if found.wrong:
        yield "Questions that find other sources and not their own:"
        yield from (f"  {one.source}: {one.question}  →  {', '.join(one.found)}" for one in found.wrong)
    if found.unanswered:
        yield "Questions that find nothing:"
        yield from (f"  {one.source}: {one.question}" for one in found.unanswered)
    yield from _confusions(found)
    for title, sources in (
        ("Never found by their own held-out questions", found.never_found),
        ("Never found by questions of other sources", found.found_by_no_other),
        ("Without questions", found.without_questions),
    ):
        if sources:
            yield f"{title}: {', '.join(sources)}"
    yield sums(found)


def sums(found: Coverage) -> str:
    """Sources, questions and shares in one line."""
    if not found.asked:
        return f"{len(found.sources)} sources, no questions to ask."
    return (
        f"{len(found.sources)} sources, {len(found.asked)} held-out questions: own source first "
        f"{found.hit_at_1:.0%}, in the first three {found.hit_at_3:.0%}, nothing found {len(found.unanswered)}"
    )


def coverage_page(found: Coverage, figures: KnowledgeFigures, name: str) -> str:
    """The part of a page that belongs to one knowledge base, in Markdown: a row a source, then the sums."""
    head = f"### {name}: {len(figures.sources)} sources, mean grade {figures.mean_grade:.1f}, highest {figures.highest_grade:.1f}"
    rows = [figures_row(one) + _found_row(found.of(one.id)) for one in figures.sources]
    return "\n".join((head, "", PAGE_HEAD, "|---|---|---|---|---|---|---|", *rows, "", sums(found)))


def figures_row(one: SourceFigures) -> str:
    """What a row of the page says of a source before anything is asked."""
    return f"| {one.id} | {one.words} | {one.grade:.1f} | {'high' if one.high_stakes else ''} | {one.questions} |"


def _found_row(asked: Sequence[AskedQuestion]) -> str:
    return f" {sum(one.first == one.source for one in asked)} | {sum(one.hit for one in asked)} |"


def _confusions(found: Coverage) -> Iterator[str]:
    """The pairs most often taken for each other; a single question may be chance."""
    pairs = [(pair, times) for pair, times in found.confusion.most_common() if pair[0] != pair[1] and times > 1]
    if pairs:
        yield "Sources taken for each other (asked for → found first, times):"
        yield from (f"  {asked} → {first or NOTHING}  {times}" for (asked, first), times in pairs[:15])


def heat_map_lines(found: Coverage) -> Iterator[str]:
    """Rows are the sources asked for, columns (by number, the last: nothing) those found first."""
    width = max(map(len, found.sources))
    count = len(found.sources)
    yield f"{'':{width + 4}} " + "".join(str(number // 10 or " ") for number in range(1, count + 1))
    yield f"{'source':<{width + 4}} " + "".join(str(number % 10) for number in range(1, count + 1)) + "–  first  of 3"
    for number, source in enumerate(found.sources, start=1):
        asked = found.of(source)
        cells = "".join(_shade(found.confusion[source, other], len(asked)) for other in (*found.sources, None))
        first, three = sum(one.first == source for one in asked), sum(one.hit for one in asked)
        share = f"{first:>2}/{len(asked):<2}  {three:>2}/{len(asked)}" if asked else " no questions"
        yield f"{number:>3} {source:<{width}} {cells}  {share}"


def _shade(times: int, of: int) -> str:
    if not times:
        return SHADES[0]
    return SHADES[min(len(SHADES) - 1, 1 + int(times / of * (len(SHADES) - 1)))]
