"""What the sources hold of a word or phrase: worked out once for each that they have, as rows over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.retrieval.index import Index, Postings
from engine.retrieval.terms import Alternative
from engine.retrieval.weights import MOST_WORDS, Weighted

BODY, ONLY_IN_BODIES = 0.8, 1.0
"""How much a word in a body counts beside one in a head, and one that no head has."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitOccurrences:
    """`strengths`: how much each source has of a unit. `lines` have it whole, and `shares` is what it counts there."""

    strengths: Floats
    lines: NDArray[np.intp]
    shares: Floats
    tokens: tuple[str, ...]
    """What the index may know of it, in the order of its alternatives."""


class Occurrences:
    """Looks units up in an index. Only those are remembered that some source has: words of the knowledge base."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[tuple[str, ...], UnitOccurrences] = {}

    def of(self, one: Weighted) -> UnitOccurrences:
        """Where a unit occurs."""
        found = self._known.get(one.unit.words)
        if found is None:
            found = self._look_up(one)
            if len(found.lines) or found.strengths.any():
                if len(self._known) >= MOST_WORDS:
                    self._known.clear()
                self._known[one.unit.words] = found
        return found

    def _look_up(self, one: Weighted) -> UnitOccurrences:
        alternatives = one.unit.alternatives
        strengths = np.zeros(len(self.index.ids))
        in_body = one.body * (BODY if one.head else ONLY_IN_BODIES)
        for postings, importance in ((self.index.head, one.head), (self.index.body, in_body)):
            if importance:
                _strengthen(strengths, alternatives, postings, importance)
        lines = _lines(alternatives, self.index.line_postings)
        return UnitOccurrences(
            strengths=strengths,
            lines=np.fromiter(lines, dtype=np.intp, count=len(lines)),
            shares=np.array([share * one.weight for share in lines.values()]),
            tokens=tuple(self.index.known(token for alternative, _ in alternatives for token in alternative)),
        )


def _strengthen(strengths: Floats, alternatives: Iterable[Alternative], postings: Postings, importance: float) -> None:
    """Raise each source's strength to that of the strongest alternative it has whole."""
    for alternative, share in alternatives:
        first, *others = [postings.get(token, {}) for token in alternative]
        weight = share * importance
        for number, strength in first.items():
            least = min((weight * strength, *(weight * at.get(number, 0.0) for at in others)))
            strengths[number] = max(strengths[number], least)


def _lines(
    alternatives: Sequence[Alternative], postings: Mapping[str, Mapping[int, Sequence[int]]]
) -> dict[int, float]:
    """The lines that have an alternative whole, and what the best such alternative counts."""
    found: dict[int, float] = {}
    for alternative, share in sorted(alternatives, key=lambda one: one[1]):  # the best one is written last
        first, *others = [postings.get(token, {}) for token in alternative]
        for number, lines in first.items():
            common = set(lines).intersection(*(at.get(number, ()) for at in others)) if others else lines
            found |= dict.fromkeys(common, share)
    return found
