"""Misspelt words, towards those that many people used here; right ones and short ones stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz import process
from rapidfuzz.distance import OSA

from engine.language.ordinary import ordinary_words
from engine.language.text import STOP_WORDS

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
    """Corrects words. `typed`: how often each stands in what is known; `least`: how often in what is spelt so.

    Nothing of a text is kept.
    """

    typed: Mapping[str, int]
    least: int = SAID

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], least: int = SAID) -> Spelling:
        """Learnt from texts as words."""
        return cls(Counter(word for text in texts for word in text), least)

    @cached_property
    def _right(self) -> dict[int, list[str]]:
        """What may be meant, by length."""
        found: dict[int, list[str]] = {}
        for word, times in self.typed.items():
            if times >= self.least and len(word) >= SHORTEST and word.isalpha():
                found.setdefault(len(word), []).append(word)
        return found

    def corrected(self, said: Sequence[str]) -> list[str]:
        """The words with what was meant in place of the first unknown ones."""
        odd = [word for word in dict.fromkeys(said) if self._is_odd(word)][:MOST]
        meant = {word: self._meant(word) for word in odd}
        return [meant.get(word, word) for word in said]

    def _is_odd(self, word: str) -> bool:
        known = word in self.typed or word in STOP_WORDS or word in ordinary_words()
        return not known and SHORTEST <= len(word) <= LONGEST and word.isalpha()

    def _meant(self, word: str) -> str:
        near = (one for size in range(len(word) - 2, len(word) + 3) for one in self._right.get(size, ()))
        scorer = OSA.normalized_similarity
        found = process.extract(word, list(near), scorer=scorer, limit=5, score_cutoff=LIKENESS)
        return max(found, key=lambda one: (one[1], one[0][0] == word[0], self.typed[one[0]]))[0] if found else word
