"""The sources ranked for one part of a message.

By words there are three signals: the line of a source (title, summary bullet, question) most like the part, how
much of the part the source covers, and BM25 beside the best source. They are fused with likeness of meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.retrieval.fusion import BY_WORDS, Evidence, scores
from engine.retrieval.index import Index, Postings
from engine.retrieval.meaning import Likeness, Meaning
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
NEAREST = 12
"""So many sources nearest by meaning are weighed although they may share no word."""
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
    evidence: Evidence
    matched: tuple[str, ...]
    strongly: tuple[str, ...] = ()


@dataclass(kw_only=True, slots=True)
class _Cover:
    share: float = 0.0
    matched: list[str] = field(default_factory=list)
    strongly: list[str] = field(default_factory=list)
    subject: float = 0.0


class Scorer:
    """Ranks the sources of an index."""

    def __init__(self, index: Index, meaning: Meaning | None) -> None:
        self.index, self.meaning = index, meaning

    def rank(self, weighted: Sequence[Weighted], words: Sequence[str]) -> tuple[Component, ...]:
        """Every source that has or means anything of the units, best first; nothing where all units say nothing.

        `words` are the folded words of the part, corrected.
        """
        total = sum(one.weight for one in weighted)
        if not total or all(one.unit.filler for one in weighted):
            return ()
        likeness = self.meaning.likeness(words) if self.meaning else None
        ranked = self._candidates(weighted, likeness)
        lines = self._lines(weighted, ranked, total)
        covers = self._covers(weighted, ranked, total)
        own, highest = _own_share(weighted), max(ranked.values(), default=0.0) or 1.0
        found = {
            number: self._by_words(covers[number], lines.get(number, (0.0, -1))[0], bm25 / highest, own, total)
            for number, bm25 in ranked.items()
        }
        components = [
            self._component(number, covers[number], lines.get(number, (0.0, -1))[1], evidence, score)
            for (number, evidence), score in zip(found.items(), self._scores(found, likeness), strict=True)
        ]
        return tuple(sorted(components, key=lambda one: (-one.score, one.source)))

    def _candidates(self, weighted: Sequence[Weighted], likeness: Likeness | None) -> dict[int, float]:
        """The sources to weigh, with their BM25: those that have any of the words and those nearest by meaning."""
        wanted = (token for one in weighted for alternative, _ in one.unit.alternatives for token in alternative)
        near = likeness.nearest(NEAREST) if likeness else ()
        return dict.fromkeys(near, 0.0) | self.index.ranked(wanted)

    def rank_left_over(self, weighted: Sequence[Weighted], components: Sequence[Component]) -> tuple[Component, ...]:
        """The ranking for those subjects of a part that its best source says nothing much about."""
        subjects = [one for one in weighted if one.is_subject]
        if len(subjects) < 2 or not components:
            return ()
        rest = [one for one in subjects if one.unit.text not in components[0].strongly]
        words = [word for one in rest for word in one.unit.words]
        return self.rank(rest, words) if 0 < len(rest) < len(subjects) else ()

    def _scores(self, found: dict[int, Evidence], likeness: Likeness | None) -> list[float]:
        """The scores of all that was found; what meaning shows is added to `found`."""
        if self.meaning is None:
            return [one.words for one in found.values()]
        if likeness is not None:
            rows = likeness.rows[list(found)].tolist()
            for (number, words), row in zip(found.items(), rows, strict=True):
                found[number] = Evidence(*words[:BY_WORDS], *row)
        return scores(tuple(found.values()))

    @staticmethod
    def _by_words(cover: _Cover, line: float, relative: float, own: float, total: float) -> Evidence:
        likeness = min(1.0, max(line, BY_COVER * cover.share))
        bm25 = max(0.0, relative) * cover.share
        evidence = own * min(1.0, cover.share * total / ENOUGH)
        score = LINE_SHARE * likeness + COVER_SHARE * cover.share + BM25_SHARE * bm25
        return Evidence(
            words=evidence * min(1.0, score),
            line=own * likeness,
            cover=own * cover.share,
            bm25=bm25,
            subject=own * min(1.0, cover.subject / total),
        )

    def _component(self, number: int, cover: _Cover, line: int, evidence: Evidence, score: float) -> Component:
        return Component(
            source=self.index.ids[number],
            score=score,
            line=evidence.line,
            best_line=self.index.lines[line].text if line >= 0 else "",
            cover=evidence.cover,
            bm25=evidence.bm25,
            evidence=evidence,
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
                if one.is_subject:
                    cover.subject += strength
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
