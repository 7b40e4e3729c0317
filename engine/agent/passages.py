"""Choosing what to show of a source: which of its passages answer a message best."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.knowledge.source import Passage, Source
from engine.language.centroids import snowball
from engine.language.text import sentences, squash, stems
from engine.retrieval.sections import SectionSearch

FIRST_PASSAGE = 0.05
"""What it counts that a passage opens its source."""
TELLS_OF_DANGER = 0.6
"""How much of a message the signs of a danger must share before it comes ahead of other passages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """A passage of a source. `fit`: the share of the message it covers, 0 to 1; `score` orders passages."""

    source: Source
    passage: Passage
    score: float = 1.0
    fit: float = 1.0


@dataclass(frozen=True, kw_only=True)
class PassageRanking:
    """Ranks passages by the words they share with a message, and by what speaks for their sections; a source is read when it
    is first ranked."""

    search: SectionSearch
    _stems: dict[str, tuple[frozenset[str], ...]] = field(default_factory=dict, repr=False)

    def rank(self, message: str, source: Source) -> list[Quotation]:
        """Every passage of the source, best first; earlier passages win a tie."""
        held, shares = self._held(source), self._shares(message, source)
        scores, fits = [0.0] * len(held), [0.0] * len(held)
        said = set(self._telling(message))
        total = 0.0
        for word in said:
            among = [word in one for one in held]
            # A word that every passage has says nothing about which of them answers.
            rarity = math.log(1 + len(held) / (1 + sum(among)))
            total += rarity
            scores = [score + rarity * there for score, there in zip(scores, among, strict=True)]
            fits = [fit + there for fit, there in zip(fits, among, strict=True)]
        found = [
            Quotation(
                source=source,
                passage=passage,
                fit=fit / (len(said) or 1),
                score=score / (total or 1.0)
                + shares.get(passage.section, 0.0)
                + (
                    FIRST_PASSAGE / (1 + passage.index)
                    if passage.danger is None
                    else -_alarming(fit / (len(said) or 1))
                ),
            )
            for passage, score, fit in zip(source.passages, scores, fits, strict=True)
        ]
        return sorted(found, key=lambda one: -one.score)

    def _shares(self, message: str, source: Source) -> dict[str, float]:
        """What speaks for each section among those of the source, together 1."""
        hits = self.search.find(message, most=len(self.search.sections)).hits
        own = {hit.section.id: hit.share for hit in hits if hit.source.id == source.id}
        whole = sum(own.values())
        return {name: share / whole for name, share in own.items()} if whole else {}

    def _held(self, source: Source) -> tuple[frozenset[str], ...]:
        if source.id not in self._stems:
            self._stems[source.id] = tuple(self._stems_of(source, one) for one in source.passages)
        return self._stems[source.id]

    def _stems_of(self, source: Source, passage: Passage) -> frozenset[str]:
        """The words of a passage; of a danger only its signs, as what to do and say is alike in all."""
        signs = next((" ".join(one.signs) for one in source.dangers if one.id == passage.danger), passage.text)
        return frozenset(self._telling(f"{passage.heading}\n{signs}"))

    def _telling(self, text: str) -> list[str]:
        return stems(text, snowball(self.search.knowledge.language))


def _alarming(fit: float) -> float:
    """What a danger loses that shares too little with a message: nobody is alarmed by a word or two."""
    return 0.0 if fit >= TELLS_OF_DANGER else 1.0


def already_shown(passage: Passage, shown: Iterable[str]) -> bool:
    """Whether the first sentence of a passage stands in one of the messages shown before."""
    first = squash(sentences(passage.text)[0]) if sentences(passage.text) else ""
    return any(first and first in squash(text) for text in shown)


def shared(message: str, text: str, language: str) -> float:
    """The share of a message's words that a text has too, 0 to 1; both in a language."""
    said, held = set(stems(message, snowball(language))), set(stems(text, snowball(language)))
    return len(said & held) / len(said) if said else 0.0
