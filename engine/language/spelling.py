"""Misspelt words, towards those that many people used here; right ones and short ones stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from engine.language.ordinary import ordinary_words
from engine.language.text import STOP_WORDS
from engine.language.vectors import Numbers, places_in

SHORTEST, LONGEST = 4, 24
"""Letters of a word that is corrected: too many shorter ones are one letter apart."""
LIKENESS = 0.75
"""How alike a misspelt word and its correction must be, from 0 to 1: one letter of four to seven, two of eight and more."""
SAID = 3
"""A word counts as spelt so if it was typed so often: among what people type are misspelt words, too."""
MOST = 16
"""Unknown words of a text that are looked for; with more of them it is no misspelt question."""


@dataclass(frozen=True)
class Spelling:
    """Corrects words; nothing of a text is kept.

    `known`: the hashes of what was typed, ascending; `spelt`: by length, what is spelt so and how often it was typed.
    """

    known: Numbers
    spelt: Mapping[int, Mapping[str, int]]

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], least: int = SAID) -> Spelling:
        """Learnt from texts as words; what was typed at least so often is spelt so."""
        typed = Counter(word for text in texts for word in text)
        spelt: dict[int, dict[str, int]] = {}
        for word, times in typed.items():
            if times >= least and len(word) >= SHORTEST and word.isalpha():
                spelt.setdefault(len(word), {})[word] = times
        return cls(np.sort(np.fromiter(map(hash, typed), dtype=np.int64, count=len(typed))), spelt)

    def corrected(self, said: Sequence[str]) -> list[str]:
        """The words with what was meant in place of the first unknown ones."""
        odd = [word for word in dict.fromkeys(said) if self._is_odd(word)][:MOST]
        meant = {word: self._meant(word) for word in odd}
        return [meant.get(word, word) for word in said]

    def _is_odd(self, word: str) -> bool:
        if not (SHORTEST <= len(word) <= LONGEST and word.isalpha()) or word in STOP_WORDS or word in ordinary_words():
            return False
        return bool(places_in(self.known, np.array([hash(word)]))[0] < 0)

    def _meant(self, word: str) -> str:
        near = {
            one: times
            for size in range(len(word) - 2, len(word) + 3)
            for one, times in self.spelt.get(size, {}).items()
        }
        scorer = OSA.normalized_similarity
        found = process.extract(word, list(near), scorer=scorer, limit=5, score_cutoff=LIKENESS)
        return max(found, key=lambda one: (one[1], one[0][0] == word[0], near[one[0]]))[0] if found else word
