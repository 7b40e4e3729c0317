"""Coverage: is each source found by questions of its own that the index has not seen?

The `questions` of every source are dealt into folds. For each fold an index is built without those questions, and they
are asked. What a source is then found by is its title, summary, text and other questions, as with a stranger's words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from engine import KnowledgeBase, Retriever

TOP = 3
"""A source counts as found among the first so many."""
FOLDS = 5
"""As many indexes are built. With more, fewer questions are missing at a time, up to one a source."""

Builder = Callable[[KnowledgeBase], Retriever]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedQuestion:
    """One held-out question and the ids that were found for it, best first."""

    source: str
    question: str
    found: tuple[str, ...]

    @property
    def first(self) -> str | None:
        """The best hit, or None where nothing fits."""
        return self.found[0] if self.found else None

    @property
    def hit(self) -> bool:
        """Whether its source is among the found."""
        return self.source in self.found


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What was asked of which sources, in the order of the knowledge base."""

    sources: tuple[str, ...]
    asked: tuple[AskedQuestion, ...]

    def of(self, source: str) -> tuple[AskedQuestion, ...]:
        """The questions of one source."""
        return tuple(one for one in self.asked if one.source == source)

    @property
    def hit_at_1(self) -> float | None:
        """The share of questions whose source came first; None without questions."""
        return _share([one.first == one.source for one in self.asked])

    @property
    def hit_at_3(self) -> float | None:
        """The share of questions whose source was among the first three."""
        return _share([one.hit for one in self.asked])

    @property
    def without_questions(self) -> tuple[str, ...]:
        """Sources that have no questions, of which nothing can be said."""
        having = {one.source for one in self.asked}
        return tuple(one for one in self.sources if one not in having)

    @property
    def never_found(self) -> tuple[str, ...]:
        """Sources that none of their own held-out questions found."""
        found = {one.source for one in self.asked if one.hit}
        return tuple(one for one in self.sources if one not in found and one not in self.without_questions)

    @property
    def found_by_no_other(self) -> tuple[str, ...]:
        """Sources that no question of another source found: on an island, or plainly apart."""
        found = {source for one in self.asked for source in one.found if source != one.source}
        return tuple(one for one in self.sources if one not in found)

    @property
    def wrong(self) -> tuple[AskedQuestion, ...]:
        """Questions that found other sources and not their own."""
        return tuple(one for one in self.asked if one.found and not one.hit)

    @property
    def unanswered(self) -> tuple[AskedQuestion, ...]:
        """Questions that found nothing."""
        return tuple(one for one in self.asked if not one.found)

    @property
    def confusion(self) -> Counter[tuple[str, str | None]]:
        """How often a question of a source (first) found which best source (second, None for nothing)."""
        return Counter((one.source, one.first) for one in self.asked)


def measure_coverage(
    base: KnowledgeBase,
    build: Builder,
    *,
    folds: int = FOLDS,
    step: Callable[[], None] = lambda: None,
) -> Coverage:
    """Hold out and ask every question once; `step` is called after each. `folds` is at least 2."""
    asked = [one for fold in range(max(2, folds)) for one in _fold(base, build, fold, max(2, folds), step)]
    order = {source: place for place, source in enumerate(base.sources)}
    return Coverage(sources=tuple(base.sources), asked=tuple(sorted(asked, key=lambda one: order[one.source])))


def _fold(
    base: KnowledgeBase, build: Builder, fold: int, folds: int, step: Callable[[], None]
) -> Iterator[AskedQuestion]:
    held = {
        source.id: [text for place, text in enumerate(source.questions) if place % folds == fold]
        for source in base.sources.values()
    }
    if not any(held.values()):
        return
    search = build(_without(base, held))
    for source, questions in held.items():
        for question in questions:
            found = tuple(hit.source for hit in search.search(question, top=TOP))
            yield AskedQuestion(source=source, question=question, found=found)
            step()


def _without(base: KnowledgeBase, held: dict[str, list[str]]) -> KnowledgeBase:
    """The knowledge base as if those questions had never been written."""
    sources = {
        source.id: replace(
            source,
            questions=tuple(one for one in source.questions if one not in held[source.id]),
            heads={
                name: head.model_copy(
                    update={"questions": tuple(one for one in head.questions if one not in held[source.id])}
                )
                for name, head in source.heads.items()
            },
        )
        for source in base.sources.values()
    }
    return replace(base, sources=sources)


def _share(marks: list[bool]) -> float | None:
    return sum(marks) / len(marks) if marks else None
