"""A knowledge base by meaning: how alike a question is to the lines, the text and the whole of every source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.knowledge.base import KnowledgeBase
from engine.language.text import sentences, words
from engine.language.vectors import Floats, WordVectors, of_length_one

BEST_LINES = 3
"""So many of a source's most alike lines are averaged."""


@dataclass(frozen=True, kw_only=True)
class Likeness:
    """Cosines of one question with every source, in the order of the knowledge base, a row each.

    The columns: its best title, summary bullet or question; the mean of its best few; its best sentence; all of it
    together; how far these are above the mean of all sources; the mean of the best few lines about other subjects.
    """

    rows: Floats
    together: Floats

    @classmethod
    def of(cls, *cosines: Floats, elsewhere: float) -> Likeness:
        """Cosines of the first four kinds, and the last."""
        together = np.mean(cosines, axis=0)
        rows = np.stack((*cosines, together - together.mean(), np.full_like(together, elsewhere)), axis=1)
        return cls(rows=rows, together=together)

    def nearest(self, count: int) -> list[int]:
        """The numbers of the sources that are most alike, best first."""
        found: list[int] = np.argsort(-self.together, kind="stable")[:count].tolist()
        return found


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The vectors of a knowledge base. `heads` and `bodies` are rows; `*_starts` where each source's rows begin."""

    vectors: WordVectors
    heads: Floats
    head_starts: NDArray[np.int64]
    bodies: Floats
    body_starts: NDArray[np.int64]
    wholes: Floats
    elsewhere: Floats

    @classmethod
    def build(
        cls, base: KnowledgeBase, vectors: WordVectors, sayings: Mapping[str, Sequence[str]] | None = None
    ) -> Meaning:
        """Read a knowledge base and the sayings of its sources; every source has a title, so none is without rows."""
        heads, bodies = [], []
        for one in base.sources.values():
            heads.append(
                [words(text) for text in (one.title, *one.summary, *one.questions, *(sayings or {}).get(one.id, ()))]
            )
            # A danger is one line of a body: what to do and say is alike in all, and would make their sources alike.
            signs = [" ".join(danger.signs) for danger in one.dangers]
            bodies.append([words(text) for text in (*(sentences(one.prose) or ("",)), *signs)])
        made = vectors.texts(text for lines in heads for text in lines)
        said = vectors.texts(text for lines in bodies for text in lines)
        starts, body_starts = _starts(heads), _starts(bodies)
        wholes = of_length_one(
            of_length_one(np.add.reduceat(made, starts, axis=0))
            + 0.5 * of_length_one(np.add.reduceat(said, body_starts, axis=0))
        )
        away = vectors.texts(words(line) for line in vectors.elsewhere)
        return cls(
            vectors=vectors,
            heads=made,
            head_starts=starts,
            bodies=said,
            body_starts=body_starts,
            wholes=wholes,
            elsewhere=away,
        )

    def likeness(self, asked_words: Sequence[str]) -> Likeness | None:
        """How alike a question, as folded words, is to every source; None where no word of it has a vector."""
        asked = self.vectors.texts([asked_words])[0]
        if not asked.any():
            return None
        lines = _cosines(self.heads, asked)
        away = _cosines(self.elsewhere, asked)
        away = np.sort(np.partition(away, -BEST_LINES)[-BEST_LINES:] if len(away) > BEST_LINES else away)
        return Likeness.of(
            np.maximum.reduceat(lines, self.head_starts),
            self._best_few(lines),
            np.maximum.reduceat(_cosines(self.bodies, asked), self.body_starts),
            _cosines(self.wholes, asked),
            elsewhere=float(away.mean()) if len(away) else 0.0,
        )

    def _best_few(self, lines: Floats) -> Floats:
        """The mean of each source's best few lines; a source with fewer has the mean of what it has."""
        padded = np.append(lines, np.float32(-np.inf))[self._head_table]
        best = -np.partition(-padded, BEST_LINES - 1, axis=1)[:, :BEST_LINES]
        there = np.isfinite(best)
        return np.asarray(np.where(there, best, 0.0).sum(axis=1) / there.sum(axis=1), dtype=np.float32)

    @cached_property
    def _head_table(self) -> NDArray[np.int64]:
        """The rows of each source's lines, filled up with the number one past the last row."""
        counts = np.diff([*self.head_starts, len(self.heads)])
        width = np.arange(max(BEST_LINES, int(counts.max())))
        return np.where(width < counts[:, None], self.head_starts[:, None] + width, len(self.heads))


def _starts(rows: Sequence[Sequence[object]]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(one) for one in rows[:-1])], dtype=np.int64)


def _cosines(rows: Floats, asked: Floats) -> Floats:
    """Dot products; not by `@`, whose threads cost many times the work when a server is busy."""
    found: Floats = np.einsum("ij,j->i", rows, asked)
    return found
