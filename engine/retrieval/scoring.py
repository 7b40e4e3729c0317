"""The sources ranked for one part of a message.

Three signals: the line of a source (title, summary bullet, question) most like the part, how much of the
part's meaning the source covers, and BM25 beside the best source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.retrieval.index import Index, Postings
from engine.retrieval.terms import Alternative
from engine.retrieval.weighing import Weighted

BODY, ONLY_IN_BODIES = 0.8, 1.0
"""How much a word in a body counts beside one in a head, and one that no head has."""
LINE_SHARE, COVER_SHARE, BM25_SHARE = 0.39, 0.39, 0.22
BY_COVER = 0.8
"""How much of what a source covers stands in for a line that is like the part, where none is."""
FOREIGN = 0.75
"""How much of its score a part loses that is wholly about other subjects."""
ENOUGH = 0.25
"""Matched weight below this is hardly evidence; scores shrink with it."""
STRONG = 0.5
"""A source speaks strongly to a word when it has so much of its weight."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """Why a source scored as it did for one part; all values are from 0 to 1.

    `strongly` are those of the `matched` words that the source is plainly about.
    """

    source: str
    score: float
    line: float
    best_line: str
    cover: float
    bm25: float
    matched: tuple[str, ...]
    strongly: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Cover:
    share: float = 0.0
    matched: list[str] = field(default_factory=list)
    strongly: list[str] = field(default_factory=list)


class Scorer:
    """Ranks the sources of an index."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def rank(self, weighted: Sequence[Weighted]) -> tuple[Component, ...]:
        """Every source that has anything of the units, best first; nothing where all units say nothing."""
        total = sum(one.weight for one in weighted)
        wanted = (token for one in weighted for alternative, _ in one.unit.alternatives for token in alternative)
        ranked = self.index.ranked(wanted)
        if not ranked or not total or all(one.unit.filler for one in weighted):
            return ()
        highest = max(ranked.values()) or 1.0
        lines = self._lines(weighted, ranked, total)
        covers = self._covers(weighted, ranked, total)
        own = _own_share(weighted)
        found = [
            self._component(number, covers[number], lines.get(number, (0.0, -1)), bm25 / highest, own, total)
            for number, bm25 in ranked.items()
        ]
        return tuple(sorted(found, key=lambda one: (-one.score, one.source)))

    def rank_left_over(self, weighted: Sequence[Weighted], components: Sequence[Component]) -> tuple[Component, ...]:
        """The ranking for those subjects of a part that its best source says nothing much about."""
        subjects = [one for one in weighted if one.is_subject]
        if len(subjects) < 2 or not components:
            return ()
        rest = [one for one in subjects if one.unit.text not in components[0].strongly]
        return self.rank(rest) if 0 < len(rest) < len(subjects) else ()

    def _component(
        self, number: int, cover: _Cover, line: tuple[float, int], relative: float, own: float, total: float
    ) -> Component:
        likeness = min(1.0, max(line[0], BY_COVER * cover.share))
        bm25 = max(0.0, relative) * cover.share
        evidence = own * min(1.0, cover.share * total / ENOUGH)
        score = LINE_SHARE * likeness + COVER_SHARE * cover.share + BM25_SHARE * bm25
        return Component(
            source=self.index.ids[number],
            score=evidence * min(1.0, score),
            line=likeness,
            best_line=self.index.lines[line[1]].text if line[1] >= 0 else "",
            cover=cover.share,
            bm25=bm25,
            matched=tuple(cover.matched),
            strongly=tuple(cover.strongly),
        )

    def _covers(self, weighted: Sequence[Weighted], numbers: Mapping[int, float], total: float) -> dict[int, _Cover]:
        """How much of the weight of the units each source has, and which of them."""
        covers = {number: _Cover() for number in numbers}
        for one in weighted:
            in_body = one.body * (BODY if one.head else ONLY_IN_BODIES)
            strengths: dict[int, float] = {}
            for postings, importance in ((self.index.head, one.head), (self.index.body, in_body)):
                if importance:
                    _strengthen(strengths, one.unit.alternatives, postings, numbers, importance)
            for number, strength in strengths.items():
                cover = covers[number]
                cover.share = min(1.0, cover.share + strength / total)
                if not one.unit.filler and strength:
                    cover.matched.append(one.unit.text)
                    if strength >= STRONG * one.weight:
                        cover.strongly.append(one.unit.text)
        return covers

    def _lines(
        self, weighted: Sequence[Weighted], numbers: Mapping[int, float], total: float
    ) -> dict[int, tuple[float, int]]:
        """For each source how like the units its best line is, and which that is."""
        shared: dict[int, float] = {}
        for one in weighted:
            for line, share in self._lines_holding(one.unit.alternatives, numbers).items():
                shared[line] = shared.get(line, 0.0) + share * one.weight
        best: dict[int, tuple[float, int]] = {}
        for line, weight in shared.items():
            entry = self.index.lines[line]
            likeness = min(1.0, weight / math.sqrt(total * max(entry.weight, weight))) if weight else 0.0
            if likeness > best.get(entry.source, (0.0, -1))[0]:
                best[entry.source] = (likeness, line)
        return best

    def _lines_holding(self, alternatives: Sequence[Alternative], numbers: Mapping[int, float]) -> dict[int, float]:
        """The lines that have an alternative whole, and what the best such alternative counts."""
        found: dict[int, float] = {}
        for alternative, share in sorted(alternatives, key=lambda one: one[1]):  # the best one is written last
            held = [self.index.line_postings.get(token, {}) for token in alternative]
            for number in numbers.keys() & held[0].keys():
                if len(held) == 1:
                    found |= dict.fromkeys(held[0][number], share)
                else:
                    common = set(held[0][number]).intersection(*(at.get(number, ()) for at in held[1:]))
                    found |= dict.fromkeys(common, share)
        return found


def _strengthen(
    strengths: dict[int, float],
    alternatives: Sequence[Alternative],
    postings: Postings,
    numbers: Mapping[int, float],
    importance: float,
) -> None:
    """Raise each source's strength to that of the strongest alternative it has whole."""
    for alternative, share in alternatives:
        first, *others = [postings.get(token, {}) for token in alternative]
        weight = share * importance
        for number in numbers.keys() & first.keys():
            strength = weight * first[number]
            if others:
                strength = min(strength, *(weight * at.get(number, 0.0) for at in others))
            if strength > strengths.get(number, 0.0):
                strengths[number] = strength


def _own_share(weighted: Sequence[Weighted]) -> float:
    """1 for a part that names no other subject, less the more of what it names is one."""
    foreign = sum(one.elsewhere for one in weighted)
    topical = sum(one.unit.topical for one in weighted)
    return 1.0 - FOREIGN * foreign / max(1.0, foreign + topical / 2)
