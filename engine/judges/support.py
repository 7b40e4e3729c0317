"""How well a statement is supported by the cited sources: the share of its words in the best few sentences.

Words count by stem; one that stands in many sentences of the source counts less (IDF), one that says little in any text
least. What word coverage cannot see (figures, negations) is compared in `engine.departures`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from engine.departures import CitedText
from engine.judges.sentences import split
from engine.knowledge.source import Source
from engine.language.text import STOP_WORDS, fold, squash, stem, words
from engine.memo import kept_with

_WIDEST = 3
_NO_STEMS = frozenset[str]()
_LIGHT = 0.3
_ELSEWHERE = 0.35
"""What a word counts that stands in the source, but not in the best sentences."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """How far a statement is covered (0 to 1), by which sentences, and which of its words stand nowhere in the source."""

    coverage: float
    evidence: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _SourceLine:
    """A sentence, and its stems with those of heading and title."""

    text: str
    stems: frozenset[str]


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceIndex:
    """The cited sources of one draft, ready to be searched for support."""

    sources: tuple[tuple[_SourceLine, ...], ...]
    counts: Counter[str]
    total: int
    bare: str

    @classmethod
    def of(cls, sources: Iterable[Source]) -> SourceIndex:
        """Take sources apart, each once."""
        parts = [_indexed(source) for source in sources]
        counts = Counter[str]()
        for part in parts:
            counts.update(part.counts)
        return cls(
            sources=tuple(lines for part in parts for lines in part.sources),
            counts=counts,
            total=sum(part.total for part in parts),
            bare=" ".join(part.bare for part in parts),
        )

    def quotes(self, text: str) -> bool:
        """Whether a text stands in a source word for word."""
        bare = squash(text)
        return bool(bare) and f" {bare} " in f" {self.bare} "

    def support(self, claim: str, light: frozenset[str]) -> Support:
        """How well a folded claim is supported; one without any word that says something is covered."""
        stems = dict.fromkeys(stem(word) for word in words(claim) if word not in STOP_WORDS)
        weights = {one: _LIGHT if one in light else self._rarity(one) for one in stems}
        total = sum(weights.values())
        if not total:
            return Support(coverage=1.0)
        windows = self._windows(weights.keys())
        here, evidence = max(
            windows, key=lambda window: sum(weights[one] for one in window[0]), default=(_NO_STEMS, ())
        )
        covered = sum(
            weight * (1 if one in here else _ELSEWHERE if one in self.counts else 0) for one, weight in weights.items()
        )
        missing = tuple(one for one in stems if one not in self.counts and one not in light)
        return Support(coverage=covered / total, evidence=tuple(one.text for one in evidence), missing=missing)

    def _windows(self, wanted: AbstractSet[str]) -> Iterator[tuple[AbstractSet[str], tuple[_SourceLine, ...]]]:
        """Up to three sentences that follow each other, with what they have of the stems that are wanted."""
        for lines in self.sources:
            found = [wanted & line.stems for line in lines]
            for start in range(len(lines)):
                here: AbstractSet[str] = _NO_STEMS
                for end, more in enumerate(found[start : start + _WIDEST], start + 1):
                    here = here | more if more else here
                    yield here, lines[start:end]

    def _rarity(self, stemmed: str) -> float:
        total = self.total + 1
        often = self.counts.get(stemmed, 0)
        return 0.4 + 0.6 * max(0.0, math.log(total / (often + 0.5)) / math.log(total / 0.5))


@kept_with
def cited_text(source: Source) -> CitedText:
    """All that a reply may take from a source."""
    return CitedText(text="\n".join((source.title, *source.summary, "", source.text)))


@kept_with
def _indexed(source: Source) -> SourceIndex:
    lines = list(_lines(source))
    counts = Counter(one for _, stems, _ in lines for one in stems)
    whole = tuple(_SourceLine(text=text, stems=stems | context) for text, stems, context in lines)
    known = "\n".join((source.title, source.text, *source.summary))
    return SourceIndex(sources=(whole,), counts=counts, total=len(lines), bare=squash(known))


def _lines(source: Source) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """Every sentence with its stems and those of what it stands under."""
    title = frozenset(_stems(source.title))
    heading = frozenset[str]()
    for sentence in split(source.text):
        stems = frozenset(_stems(sentence.text))
        if sentence.heading:
            heading = stems
        yield sentence.text, stems, title | heading
    for line in source.summary:
        yield line, frozenset(_stems(line)), title


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(fold(text)) if word not in STOP_WORDS]


def strange_words(text: str, known: Iterable[str], light: frozenset[str]) -> tuple[str, ...]:
    """The words of a text, as written, that say something and stand in none of the known texts; figures are words here."""
    there = {one for each in known for one in _stems(each)} | light
    return tuple(dict.fromkeys(word for word in words(text) if set(_stems(word)) - there))
