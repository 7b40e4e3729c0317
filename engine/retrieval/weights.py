"""How much each word of a question tells in this knowledge base, and which words are about something else."""

from __future__ import annotations

from dataclasses import dataclass

from engine.language.spelling import SHORTEST, Spelling, ordinary_stems
from engine.language.text import stem
from engine.retrieval.index import Index
from engine.retrieval.terms import TermReader, Unit

UNKNOWN_ORDINARY, UNKNOWN, ELSEWHERE = 0.3, 0.8, 1.0
"""What a word weighs that no source has: an everyday word, a strange one, one of another subject."""
EVERYDAY = 0.4
"""How much an everyday word counts that is in no synonym group and in no title."""
EVERYDAY_UNMET = 0.5
"""How much such a word weighs against the sources that do not have it."""

MOST_WORDS = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighted:
    """A unit with what it counts for in heads and in bodies, and what it weighs in the question."""

    unit: Unit
    head: float
    body: float
    weight: float
    elsewhere: bool

    @property
    def is_subject(self) -> bool:
        """Whether it is a subject by itself: in a synonym group, and not merely about whom."""
        return self.unit.topical and self.unit.weight == 1.0

    @property
    def unknown(self) -> bool:
        """Whether no source has it."""
        return not (self.head or self.body)


class Weigher:
    """Weighs units against an index."""

    def __init__(self, index: Index, reader: TermReader, spelling: Spelling) -> None:
        self.index, self.spelling = index, spelling
        self._elsewhere = reader.synonyms.elsewhere
        self._everyday = ordinary_stems() - index.title_stems
        self._known: dict[tuple[str, ...], Weighted] = {}

    def weigh(self, unit: Unit) -> Weighted:
        """Weigh one unit; only those are remembered that some source has."""
        found = self._known.get(unit.words)
        if found is None:
            found = self._weighed(unit)
            if not found.unknown:
                if len(self._known) >= MOST_WORDS:
                    self._known.clear()
                self._known[unit.words] = found
        return found

    def _weighed(self, unit: Unit) -> Weighted:
        head, body = self.index.importance(unit)
        weight = max(head, body)
        elsewhere = self._is_elsewhere(unit)
        if self._is_everyday(unit):
            head, body, weight = EVERYDAY * head, EVERYDAY * body, EVERYDAY_UNMET * weight
        if elsewhere:
            weight = max(weight, ELSEWHERE)
        elif not weight and not unit.filler:
            right = all(len(word) < SHORTEST or self.spelling.is_right(word) for word in unit.words)
            weight = UNKNOWN_ORDINARY if right else UNKNOWN
        return Weighted(unit=unit, head=head, body=body, weight=weight, elsewhere=elsewhere)

    def _is_everyday(self, unit: Unit) -> bool:
        return not (unit.topical or unit.filler) and unit.alternatives[0][0][0] in self._everyday

    def _is_elsewhere(self, unit: Unit) -> bool:
        """Another subject: listed as one, and in no title, summary or question here."""
        if len(unit.words) > 1 or unit.topical:
            return False
        word = unit.words[0]
        listed = not self._elsewhere.isdisjoint((word, word.removesuffix("s")))
        return listed and stem(word) not in self.index.named_stems
