"""The sources ranked for one part of a message.

By words there are three signals: the line of a source (title, summary bullet, question) most like the part, how
much of the part the source covers, and BM25 beside the best source. They are fused with likeness of meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.retrieval.fusion import BY_WORDS, EVIDENCE_NAMES, Evidence, scores
from engine.retrieval.index import Index
from engine.retrieval.occurrences import Floats, Occurrences, UnitOccurrences
from engine.retrieval.similarity import Likeness, Meaning
from engine.retrieval.weights import Weighted

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """The sources for one part, best first; `rows` are their evidence. What is to be shown is put together when asked.

    `order`, `numbers`, `scores` and `rows` go together; `lines` holds how like the part each line of the index is.
    """

    index: Index
    weighted: tuple[Weighted, ...] = ()
    occurrences: tuple[UnitOccurrences, ...] = ()
    numbers: tuple[int, ...] = ()
    scores: tuple[float, ...] = ()
    rows: Sequence[Sequence[float]] = ()
    lines: Floats | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def source(self, place: int) -> str:
        """The id of a ranked source."""
        return self.index.ids[self.numbers[place]]

    def matched(self, place: int, *, least: float = 0.0) -> tuple[str, ...]:
        """The words that a ranked source has so much of their weight; no fillers."""
        number = self.numbers[place]
        return tuple(
            one.unit.text
            for one, occurrences in zip(self.weighted, self.occurrences, strict=True)
            if not one.unit.filler and (strength := occurrences.strengths[number]) and strength >= least * one.weight
        )

    def strongly(self, place: int) -> tuple[str, ...]:
        """The words that a ranked source is plainly about."""
        return self.matched(place, least=STRONG)

    def components(self) -> Iterator[Component]:
        """Everything about every ranked source."""
        for place, (score, row) in enumerate(zip(self.scores, self.rows, strict=True)):
            evidence = Evidence(*row)
            yield Component(
                source=self.source(place),
                score=score,
                line=evidence.line,
                best_line=self._best_line(self.numbers[place]),
                cover=evidence.cover,
                bm25=evidence.bm25,
                evidence=evidence,
                matched=self.matched(place),
                strongly=self.strongly(place),
            )

    def _best_line(self, number: int) -> str:
        if self.lines is None:
            return ""
        start, *after = self.index.line_starts[number : number + 2].tolist()
        own = self.lines[start : after[0] if after else None]
        best = int(own.argmax())
        return self.index.lines[start + best].text if own[best] else ""


class Scorer:
    """Ranks the sources of an index."""

    def __init__(self, index: Index, meaning: Meaning | None) -> None:
        self.index, self.meaning = index, meaning
        self._occurrences = Occurrences(index)

    def rank(self, weighted: Sequence[Weighted], words: Sequence[str]) -> Ranking:
        """Every source that has or means anything of the units, best first; nothing where all units say nothing.

        `words` are the folded words of the part, corrected.
        """
        total = sum(one.weight for one in weighted)
        if not total or all(one.unit.filler for one in weighted):
            return Ranking(index=self.index)
        likeness = self.meaning.likeness(words) if self.meaning else None
        occurrences = tuple(map(self._occurrences.of, weighted))
        candidates = self._candidates(occurrences, likeness)
        if not candidates:
            return Ranking(index=self.index)
        numbers = np.fromiter(candidates, dtype=np.intp, count=len(candidates))
        lines = self._lines(occurrences, total)
        rows = self._evidence(weighted, occurrences, lines, np.array(list(candidates.values())), numbers, total)
        if likeness is not None:
            rows[:, BY_WORDS:] = likeness.rows[numbers]
        found = rows[:, 0] if self.meaning is None else scores(rows)
        places = np.lexsort((self.index.id_order[numbers], -found))  # the last key is the first
        return Ranking(
            index=self.index,
            weighted=tuple(weighted),
            occurrences=occurrences,
            numbers=tuple(numbers[places].tolist()),
            scores=tuple(found[places].tolist()),
            rows=rows[places].tolist(),
            lines=lines,
        )

    def _candidates(self, occurrences: Sequence[UnitOccurrences], likeness: Likeness | None) -> dict[int, float]:
        """The sources to weigh, with their BM25: those that have any of the words and those nearest by meaning."""
        near = likeness.nearest(NEAREST) if likeness else ()
        return dict.fromkeys(near, 0.0) | self.index.ranked(token for one in occurrences for token in one.tokens)

    def rank_left_over(self, weighted: Sequence[Weighted], ranking: Ranking) -> Ranking:
        """The ranking for those subjects of a part that its best source says nothing much about."""
        subjects = [one for one in weighted if one.is_subject]
        if len(subjects) < 2 or not len(ranking):
            return Ranking(index=self.index)
        strongly = ranking.strongly(0)
        rest = [one for one in subjects if one.unit.text not in strongly]
        words = [word for one in rest for word in one.unit.words]
        return self.rank(rest, words) if 0 < len(rest) < len(subjects) else Ranking(index=self.index)

    def _evidence(
        self,
        weighted: Sequence[Weighted],
        occurrences: Sequence[UnitOccurrences],
        lines: Floats,
        bm25: Floats,
        numbers: NDArray[np.intp],
        total: float,
    ) -> Floats:
        """One row of `Evidence` a source; what meaning shows is left at 0."""
        cover, subject = self._covers(weighted, occurrences, numbers, total)
        own = _own_share(weighted)
        line = np.maximum.reduceat(lines, self.index.line_starts)[numbers]
        likeness = np.minimum(1.0, np.maximum(line, BY_COVER * cover))
        relative = np.maximum(0.0, bm25 / (bm25.max() or 1.0)) * cover
        enough = own * np.minimum(1.0, cover * total / ENOUGH)
        together = LINE_SHARE * likeness + COVER_SHARE * cover + BM25_SHARE * relative
        rows = np.zeros((len(numbers), len(EVIDENCE_NAMES)))
        rows[:, 0] = enough * np.minimum(1.0, together)
        rows[:, 1] = own * likeness
        rows[:, 2] = own * cover
        rows[:, 3] = relative
        rows[:, 4] = own * np.minimum(1.0, subject / total)
        return rows

    def _covers(
        self,
        weighted: Sequence[Weighted],
        occurrences: Sequence[UnitOccurrences],
        numbers: NDArray[np.intp],
        total: float,
    ) -> tuple[Floats, Floats]:
        """How much of the weight of the units each source has, and how much of it is of subjects."""
        cover, subject = np.zeros(len(self.index.ids)), np.zeros(len(self.index.ids))
        for one, has in zip(weighted, occurrences, strict=True):
            cover = np.minimum(1.0, cover + has.strengths / total)
            if one.is_subject:
                subject += has.strengths
        return cover[numbers], subject[numbers]

    def _lines(self, occurrences: Sequence[UnitOccurrences], total: float) -> Floats:
        """How like the units each line of the index is."""
        weights = self.index.line_weights
        shared = np.zeros(len(weights))
        for has in occurrences:
            shared[has.lines] += has.shares
        outweighed = np.sqrt(total * np.maximum(weights, shared))
        # A line that has nothing of the units may weigh nothing itself.
        return np.minimum(1.0, np.divide(shared, outweighed, out=np.zeros(len(weights)), where=shared > 0.0))


def _own_share(weighted: Sequence[Weighted]) -> float:
    """1 for a part that names no other subject, less the more of what it names is one."""
    foreign = sum(one.elsewhere for one in weighted)
    topical = sum(one.unit.topical for one in weighted)
    return 1.0 - FOREIGN * foreign / max(1.0, foreign + topical / 2)
