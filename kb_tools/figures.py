"""A knowledge base in figures: what there is of what, and how hard it is to read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median

from engine import KnowledgeBase, Source, grade, words


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFigures:
    """One source. `words` and `grade` (Flesch-Kincaid) are of what readers see."""

    id: str
    words: int
    grade: float
    questions: int
    directives: int
    references: int
    media: int
    high_stakes: bool
    reviewed: bool

    @classmethod
    def of(cls, source: Source) -> SourceFigures:
        """Count one source."""
        return cls(
            id=source.id,
            words=len(words(source.text)),
            grade=grade(source.text),
            questions=len(source.questions),
            directives=len(source.directives),
            references=len(source.references),
            media=len(source.shown_files()),
            high_stakes=source.high_stakes,
            reviewed=source.reviewed.strip().casefold() != "none",
        )


@dataclass(frozen=True, kw_only=True)
class KnowledgeFigures:
    """All sources; `directives` counts by kind, `authorities` counts references by their body."""

    sources: tuple[SourceFigures, ...]
    directives: Counter[str]
    authorities: Counter[str]
    media: int

    @classmethod
    def of(cls, base: KnowledgeBase) -> KnowledgeFigures:
        """Count a whole knowledge base."""
        sources = base.sources.values()
        return cls(
            sources=tuple(map(SourceFigures.of, sources)),
            directives=Counter(str(directive.kind) for one in sources for directive in one.directives),
            authorities=Counter(reference.body for one in sources for reference in one.references),
            media=len(base.media),
        )

    @property
    def mean_grade(self) -> float:
        """The mean reading grade of the sources."""
        return fmean(one.grade for one in self.sources)

    @property
    def highest_grade(self) -> float:
        """The reading grade of the hardest source."""
        return max(one.grade for one in self.sources)

    @property
    def median_words(self) -> float:
        """Half of the sources are shorter than this."""
        return median(one.words for one in self.sources)
