"""A text as units of meaning: words and phrases, each with all that may stand for it in an index.

A question and a line of a source are read the same way, so that "my meds" and "the tablets" meet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.language.synonyms import Match, Synonyms
from engine.language.text import STOP_WORDS, stem
from engine.memo import once_a_turn
from engine.retrieval.questions import FILLERS

SAME = 0.95
"""How much a synonym counts beside the word itself."""
RELATED = 0.55
"""How much a looser term counts that a synonym group leads to."""
INSIDE_PHRASE = 0.6
"""How much one word of a phrase counts for the phrase."""
FILLER = 0.15
"""How much a word counts that says nothing about a subject."""

_GROUP = re.compile(r"zqx([0-9]+)qz")

Alternative = tuple[tuple[str, ...], float]


def group_token(number: int) -> str:
    """The word by which an index knows a synonym group; no text contains it."""
    return f"zqx{number}qz"


def group_of(token: str) -> int | None:
    """The number of the synonym group that a token stands for, or None."""
    found = _GROUP.fullmatch(token)
    return int(found[1]) if found else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """A word or phrase. `alternatives`: stems that must occur together, and how much they count.

    `weight` is how much it says about a subject, next to nothing for a `filler`; `topical`: a synonym group
    has it.
    """

    words: tuple[str, ...]
    alternatives: tuple[Alternative, ...]
    weight: float = 1.0
    filler: bool = False
    topical: bool = False

    @property
    def text(self) -> str:
        """The unit as it was written."""
        return " ".join(self.words)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnalysedText:
    """A text as read: its folded words, their stems, and the synonym terms among them."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    matches: tuple[Match, ...]


class TermReader:
    """Reads texts into stems, group tokens and units under one set of synonyms."""

    def __init__(self, synonyms: Synonyms) -> None:
        self.synonyms = synonyms
        self._words = once_a_turn(lambda: dict[str, Unit | None]())

    def read(self, found: Sequence[str]) -> AnalysedText:
        """Read a text given as folded words."""
        stemmed = tuple(map(stem, found))
        return AnalysedText(words=tuple(found), stems=stemmed, matches=tuple(self.synonyms.matches(stemmed)))

    def index_tokens(self, reading: AnalysedText) -> list[str]:
        """What an index holds of a text: the stems of its content words and its synonym groups."""
        pairs = zip(reading.stems, reading.words, strict=True)
        kept = [one for one, word in pairs if word not in STOP_WORDS]
        kept += [group_token(number) for match in reading.matches for number in match.groups]
        return kept

    def units(self, reading: AnalysedText) -> tuple[Unit, ...]:
        """The units of a text; repeats are dropped."""
        units = []
        for start, end in _spans(len(reading.words), reading.matches):
            unit = self._word(reading, start) if end == start + 1 else self._phrase(reading, start, end)
            if unit is not None:
                units.append(unit)
        return tuple({unit.alternatives: unit for unit in units}.values())

    def _word(self, reading: AnalysedText, place: int) -> Unit | None:
        word, known = reading.words[place], self._words()
        if word not in known:
            known[word] = self._phrase(reading, place, place + 1)
        return known[word]

    def _phrase(self, reading: AnalysedText, start: int, end: int) -> Unit | None:
        inside = [one for one in reading.matches if start <= one.start and one.start + one.length <= end]
        groups = frozenset(number for match in inside for number in match.groups)
        words = reading.words[start:end]
        pairs = zip(reading.stems[start:end], words, strict=True)
        literal = tuple(one for one, word in pairs if word not in STOP_WORDS)
        if not literal and not groups:
            return None
        filler = not groups and FILLERS.issuperset(words)
        weights = (self.synonyms.groups[number].weight for number in groups)
        return Unit(
            words=words,
            alternatives=self._find_alternatives(literal, groups),
            weight=FILLER if filler else max(weights, default=1.0),
            filler=filler,
            topical=bool(groups),
        )

    def _find_alternatives(self, literal: tuple[str, ...], groups: frozenset[int]) -> tuple[Alternative, ...]:
        weights: dict[tuple[str, ...], float] = {}
        for number in sorted(groups):
            for term, of_term in self.synonyms.related[number]:
                for meant in (term, *((group_token(other),) for other in of_term)):
                    if meant:
                        weights[meant] = RELATED
        for number in groups:
            weights[(group_token(number),)] = SAME
        for one in literal:
            if len(literal) > 1:
                weights[(one,)] = max(INSIDE_PHRASE, weights.get((one,), 0.0))
        if literal:
            weights[literal] = 1.0
        return tuple(weights.items())


def _spans(length: int, matches: Sequence[Match]) -> list[tuple[int, int]]:
    """Cut a text into words and, where a term of several words occurs, phrases; the longest phrase wins."""
    longest: dict[int, int] = {}
    for match in matches:
        longest[match.start] = max(match.length, longest.get(match.start, 1))
    spans: list[tuple[int, int]] = []
    place = 0
    while place < length:
        end = place + longest.get(place, 1)
        spans.append((place, end))
        place = end
    return spans
