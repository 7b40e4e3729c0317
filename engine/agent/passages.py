"""Choosing what to show of a source: which of its passages answer a message best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.knowledge.source import Passage, Source
from engine.language.centroids import snowball
from engine.language.text import sentences, squash, stems, words

if TYPE_CHECKING:  # an answer without a model needs no search over sources
    from engine.retrieval.search import Search
    from engine.retrieval.terms import Unit

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
    """Ranks passages by the words and synonyms they share with a message; a source is read when it is first ranked.

    `search`: gives the one whose synonyms and spelling are used.
    """

    search: Callable[[], Search]
    _tokens: dict[str, tuple[frozenset[str], ...]] = field(default_factory=dict, repr=False)

    def rank(self, message: str, source: Source) -> list[Quotation]:
        """Every passage of the source, best first; earlier passages win a tie."""
        held = self._held(source)
        scores, fits = [0.0] * len(held), [0.0] * len(held)
        total = said = 0.0
        for unit in self._units(message):
            shares = [_share(unit, one) for one in held]
            # A word that every passage has says nothing about which of them answers.
            rarity = unit.weight * math.log(1 + len(held) / (1 + sum(share > 0 for share in shares)))
            total += rarity
            said += unit.weight
            scores = [score + rarity * share for score, share in zip(scores, shares, strict=True)]
            fits = [fit + unit.weight * share for fit, share in zip(fits, shares, strict=True)]
        found = [
            Quotation(
                source=source,
                passage=passage,
                fit=fit / (said or 1.0),
                score=score / (total or 1.0)
                + (FIRST_PASSAGE / (1 + passage.index) if passage.danger is None else -_alarming(fit / (said or 1.0))),
            )
            for passage, score, fit in zip(source.passages, scores, fits, strict=True)
        ]
        return sorted(found, key=lambda one: -one.score)

    def _held(self, source: Source) -> tuple[frozenset[str], ...]:
        if source.id not in self._tokens:
            self._tokens[source.id] = tuple(self._tokens_of(source, one) for one in source.passages)
        return self._tokens[source.id]

    def _units(self, message: str) -> tuple[Unit, ...]:
        search = self.search()
        corrected = [search.spelling.correct(word) for word in words(message)]
        return search.reader.units(search.reader.read(corrected))

    def _tokens_of(self, source: Source, passage: Passage) -> frozenset[str]:
        """The words of a passage; of a danger only its signs, as what to do and say is alike in all."""
        reader = self.search().reader
        signs = next((" ".join(one.signs) for one in source.dangers if one.id == passage.danger), passage.text)
        return frozenset(reader.index_tokens(reader.read(words(f"{passage.heading}\n{signs}"))))


def _alarming(fit: float) -> float:
    """What a danger loses that shares too little with a message: nobody is alarmed by a word or two."""
    return 0.0 if fit >= TELLS_OF_DANGER else 1.0


def _share(unit: Unit, held: frozenset[str]) -> float:
    return max((share for stems, share in unit.alternatives if held.issuperset(stems)), default=0.0)


def already_shown(passage: Passage, shown: Iterable[str]) -> bool:
    """Whether the first sentence of a passage stands in one of the messages shown before."""
    first = squash(sentences(passage.text)[0]) if sentences(passage.text) else ""
    return any(first and first in squash(text) for text in shown)


def shared(message: str, text: str, language: str) -> float:
    """The share of a message's words that a text has too, 0 to 1; both in a language."""
    said, held = set(stems(message, snowball(language))), set(stems(text, snowball(language)))
    return len(said & held) / len(said) if said else 0.0
