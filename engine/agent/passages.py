"""Choosing what to quote: which passages of the sources in context answer a message best."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Passage, Source
from engine.language.text import sentences, squash, words
from engine.retrieval.search import Search
from engine.retrieval.terms import Unit

FIRST_SOURCE = 0.25
"""What the order of the search counts beside the words: the first source has all of it, the second half."""
BEHIND = 0.15
"""What it costs a source for each point that the search put it behind the best."""
FIRST_PASSAGE = 0.05
"""What it counts that a passage opens its source."""
HEADED = 0.22
"""What it counts that a passage is headed for whoever asks, as "For families" is for a mother."""


TELLS_OF_DANGER = 0.6
"""How much of a message the signs of a danger must share before it is quoted ahead of other passages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quotation:
    """A passage of a source. `fit`: the share of the message it covers, 0 to 1; `score` orders passages."""

    source: Source
    passage: Passage
    score: float
    fit: float = 1.0


class PassageRanking:
    """Ranks passages by the words and synonyms they share with a message; built once a knowledge base."""

    def __init__(self, knowledge: KnowledgeBase, search: Search) -> None:
        self._reader, self._spelling = search.reader, search.spelling
        self._tokens = {
            (source.id, one.index): self._tokens_of(source, one)
            for source in knowledge.sources.values()
            for one in source.passages
        }
        self._headings = {
            (source.id, one.index): frozenset(words(one.heading))
            for source in knowledge.sources.values()
            for one in source.passages
        }

    def rank(
        self,
        message: str,
        sources: Sequence[Source],
        *,
        trust: Mapping[str, float] | None = None,
        headed: Collection[str] = (),
    ) -> list[Quotation]:
        """Every passage of the sources, best first; earlier sources and earlier passages win a tie.

        `trust`: what the search gave each source, 0 to 1; one far behind the best needs more words in common.
        `headed`: words, folded; where a passage shares anything with the message, one of them in its heading counts too.
        """
        pairs = [(source, passage) for source in sources for passage in source.passages]
        held = [self._tokens[source.id, passage.index] for source, passage in pairs]
        scores, fits = [0.0] * len(pairs), [0.0] * len(pairs)
        total = said = 0.0
        for unit in self._units(message):
            shares = [_share(unit, one) for one in held]
            # A word that every passage has says nothing about which of them answers.
            rarity = unit.weight * math.log(1 + len(pairs) / (1 + sum(share > 0 for share in shares)))
            total += rarity
            said += unit.weight
            scores = [score + rarity * share for score, share in zip(scores, shares, strict=True)]
            fits = [fit + unit.weight * share for fit, share in zip(fits, shares, strict=True)]
        given = trust or {}
        surest = max((given.get(source.id, 0.0) for source in sources), default=0.0)
        order = {source.id: place for place, source in enumerate(sources)}
        found = [
            Quotation(
                source=source,
                passage=passage,
                fit=fit / (said or 1.0),
                score=score / (total or 1.0)
                + FIRST_SOURCE / (1 + order[source.id])
                - BEHIND * (surest - given.get(source.id, surest))
                + (FIRST_PASSAGE / (1 + passage.index) if passage.danger is None else -_alarming(fit / (said or 1.0)))
                + (HEADED if score and not self._headings[source.id, passage.index].isdisjoint(headed) else 0.0),
            )
            for (source, passage), score, fit in zip(pairs, scores, fits, strict=True)
        ]
        return sorted(found, key=lambda one: -one.score)

    def ordered(self, message: str, sources: Sequence[Source]) -> list[Source]:
        """The sources by what their best passage covers of a message; in their order where they cover the same."""
        best: dict[str, float] = {}
        for one in self.rank(message, sources):
            best[one.source.id] = max(one.fit, best.get(one.source.id, 0.0))
        return sorted(sources, key=lambda source: -best.get(source.id, 0.0))

    def _units(self, message: str) -> tuple[Unit, ...]:
        corrected = [self._spelling.correct(word) for word in words(message)]
        return self._reader.units(self._reader.read(corrected))

    def _tokens_of(self, source: Source, passage: Passage) -> frozenset[str]:
        """The words of a passage; of a danger only its signs, as what to do and say is alike in all."""
        signs = next((" ".join(one.signs) for one in source.dangers if one.id == passage.danger), passage.text)
        return frozenset(self._reader.index_tokens(self._reader.read(words(f"{passage.heading}\n{signs}"))))


def _alarming(fit: float) -> float:
    """What a danger loses that shares too little with a message: nobody is alarmed by a word or two."""
    return 0.0 if fit >= TELLS_OF_DANGER else 1.0


def _share(unit: Unit, held: frozenset[str]) -> float:
    return max((share for stems, share in unit.alternatives if held.issuperset(stems)), default=0.0)


def already_shown(passage: Passage, shown: Iterable[str]) -> bool:
    """Whether the first sentence of a passage stands in one of the messages shown before."""
    first = squash(sentences(passage.text)[0]) if sentences(passage.text) else ""
    return any(first and first in squash(text) for text in shown)
