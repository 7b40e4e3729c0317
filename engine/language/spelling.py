"""Tolerance for misspelt words, towards clinical ones and the knowledge base's own; right ones stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA

from engine.language.text import STOP_WORDS, stem
from engine.memo import once_a_turn

SHORTEST = 4
"""Shorter words are left as they are: too many of them are one letter apart."""
LIKENESS = 0.72
"""How alike a misspelt word and its correction must at least be, 1 being equal."""
CLINICAL_BONUS, LAY_MALUS = 0.03, 0.1
"""What a candidate gains for being clinical, and loses for being neither that nor in the knowledge base."""

_ORDINARY = Path(__file__).with_name("ordinary_words.txt")
# What English spells in several ways that sound alike.
_SOUNDS = (
    (re.compile(r"^psy|^sy"), "si"),
    (re.compile(r"ph"), "f"),
    (re.compile(r"ts|tz|dz"), "s"),
    (re.compile(r"sch|sh(?=iz)|sc(?=h?iz)|sk"), "sk"),
    (re.compile(r"ght"), "t"),
    (re.compile(r"ck|ch(?=[rl])|q|c(?![eiyh])"), "k"),
    (re.compile(r"c(?=[eiy])|z"), "s"),
    (re.compile(r"rh"), "r"),
    (re.compile(r"tion|sion|shun"), "shn"),
    (re.compile(r"ou(?=r)|or\b|er\b|ar\b|our\b"), "er"),
    (re.compile(r"(?<=.)[aeiouy]+"), "a"),
    (re.compile(r"(.)\1+"), r"\1"),
)


@cache
def ordinary_words() -> frozenset[str]:
    """Everyday English words in their plain form."""
    return frozenset(_ORDINARY.read_text(encoding="utf-8").split())


@cache
def ordinary_stems() -> frozenset[str]:
    """The stems of everyday English words, which are never taken for misspelt clinical ones."""
    return frozenset(stem(word) for word in ordinary_words())


def sound(word: str) -> str:
    """Roughly how a word sounds, so that "skizofrenia" is near "schizophrenia"."""
    for pattern, plain in _SOUNDS:
        word = pattern.sub(plain, word)
    return word


_Lengths: TypeAlias = tuple[list[int], list[str]]


class Spelling:
    """Corrects single folded words.

    `known` counts the words of a knowledge base; `clinical` ones win over others equally near.
    """

    def __init__(self, known: Mapping[str, int], clinical: Iterable[str] = (), also_right: Iterable[str] = ()) -> None:
        self._clinical = frozenset(clinical)
        right = {*known, *also_right, *self._clinical, *STOP_WORDS}
        self._spelt: dict[int, _Lengths] = {}
        self._heard: dict[int, _Lengths] = {}
        self.nearest = once_a_turn(self._nearest)
        candidates = {word for word in (*right, *ordinary_words()) if len(word) >= SHORTEST and word.isalpha()}
        self._times = known
        self._right = frozenset(right)
        self._stems = frozenset(stem(word) for word in self._right)
        self._candidates = sorted(word for word in candidates if word not in STOP_WORDS)
        self._sounds = [sound(word) for word in self._candidates]

    def is_right(self, word: str) -> bool:
        """Whether a word is known here or an everyday one, in this or another ending."""
        return word in self._right or stem(word) in self._stems or stem(word) in ordinary_stems()

    def correct(self, word: str) -> str:
        """The word that was meant, or the word itself where that is not plain."""
        if len(word) < SHORTEST or len(word) > 24 or not word.isalpha() or self.is_right(word):
            return word
        return self.nearest(word)

    def _nearest(self, word: str) -> str:
        best, best_likeness = word, 0.0
        by_letters = self._alike(word, self._candidates, LIKENESS - 0.15, self._spelt)
        heard = sound(word)
        by_sound = self._alike(heard, self._sounds, 0.8, self._heard)
        for place in {*by_letters, *by_sound}:
            candidate = self._candidates[place]
            likeness = self._likeness(word, heard, candidate, self._sounds[place])
            if (likeness, self._times.get(candidate, 0), candidate) > (
                best_likeness,
                self._times.get(best, 0),
                best,
            ):
                best, best_likeness = candidate, likeness
        return best if best_likeness >= LIKENESS else word

    def _alike(self, wanted: str, among: Sequence[str], least: float, known: dict[int, _Lengths]) -> list[int]:
        """The places of the most alike; `known`: those of ours whose length lets them be, by the length wanted."""
        size = len(wanted)
        if size not in known:
            # As many letters as two words differ in length they differ in at the least.
            fits = [least * max(size, len(one)) <= min(size, len(one)) + 1e-9 for one in among]
            places = [place for place, fitting in enumerate(fits) if fitting]
            known[size] = places, [among[place] for place in places]
        places, words = known[size]
        scorer = OSA.normalized_similarity
        found = process.extract(wanted, words, scorer=scorer, limit=8, score_cutoff=least)
        return [places[at] for _, _, at in found]

    def _likeness(self, word: str, heard: str, candidate: str, candidate_sound: str) -> float:
        """By letters and sound; 0 where too many letters differ for a word of this length."""
        near_sound = OSA.normalized_similarity(heard, candidate_sound)
        distance = OSA.distance(word, candidate)
        allowed = 1 if len(word) <= 5 else 2 if len(word) <= 8 or near_sound < 0.8 else 3
        same_start = word[0] == candidate[0]
        if not (same_start or (heard[:1] == candidate_sound[:1] and near_sound >= 0.8)):
            return 0.0
        if distance > allowed and not (near_sound == 1.0 and len(heard) >= 4 and distance <= allowed + 3):
            return 0.0
        letters = OSA.normalized_similarity(word, candidate)
        bonus = CLINICAL_BONUS if candidate in self._clinical else 0.0
        if not bonus and candidate not in self._times:
            bonus = -LAY_MALUS
        return max(letters, 0.6 * letters + 0.4 * near_sound) + bonus
