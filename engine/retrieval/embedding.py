"""Search by an embedding model beside the search by words, where an operator has configured one.

The two rankings are joined by reciprocal-rank fusion (Cormack, Clarke and Büttcher 2009), which needs no common
scale. Whatever goes wrong with the model, the ranking by words stands as it was.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple, Protocol

import numpy as np

from engine.exceptions import BudgetExceeded, ModelError, ModelOutputError
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Source
from engine.language.vectors import Floats, of_length_one
from engine.models.ledger import Ledger
from engine.retrieval.protocol import Hit
from engine.retrieval.questions import split

K = 60
"""How little the first ranks stand out; the value of the paper, where results hardly depend on it."""
DEPTH = 10
"""So many hits of the search by words are fused."""
CLEAR = 0.5
"""From this likeness on a source that no word finds is taken. It is half of the way from what a question has in common
with any line of the knowledge base to saying the same as one: a question about something else stays far below it,
also with models whose cosines are all high. Not calibrated on any one model, and high on purpose: to say "I do not
know" once too often is what happens without embeddings too, to answer from a source that does not fit is worse."""
LONGEST = 2000
"""Characters of a question that are embedded, and of a line of a source: small models read some 500 tokens."""
AT_ONCE = 64
"""Lines of sources that are embedded before they are kept."""
PATIENCE = 5.0
"""Seconds a turn waits for the ranking by meaning."""
REST = 60.0
"""Seconds without a further try after one that has failed, so that an outage slows one turn and not all."""


class Embedder(Protocol):
    """Turns texts into vectors. `name` tells models apart whose vectors cannot be compared."""

    name: str

    async def embed(self, texts: Sequence[str], ledger: Ledger) -> list[list[float]]:
        """One vector a text, in their order, all equally long; writes its calls into the ledger. Raises ModelError."""
        ...


class VectorCache(Protocol):
    """Keeps vectors between runs. Neither method raises."""

    def read(self, key: str) -> Floats | None:
        """The vectors under a key, if they are there and whole."""
        ...

    def write(self, key: str, vectors: Floats) -> None:
        """Keep vectors under a key."""
        ...


class Meant(NamedTuple):
    """A source by meaning. `likeness` is 0 for a source no more alike than the average line, 1 for the very same."""

    source: str
    likeness: float


@dataclass(kw_only=True)
class EmbeddedSources:
    """The sources of a knowledge base as vectors: a row for each title, summary bullet, question and passage.

    They are embedded when first asked for, as far as the cache does not hold them. A turn that would wait too long
    goes without, and the next one finds what was done. Questions are never kept.
    """

    knowledge: KnowledgeBase
    embedder: Embedder
    cache: VectorCache
    _held: dict[str, Floats] = field(default_factory=dict, repr=False)
    _resting: float = field(default=0.0, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def fused(self, question: str, words: Sequence[Hit], ledger: Ledger, *, top: int) -> tuple[Hit, ...]:
        """The hits by words joined with the ranking by meaning; those by words alone where the model fails."""
        if time.monotonic() < self._resting:
            return tuple(words[:top])
        before = len(self._held)
        try:
            async with asyncio.timeout(PATIENCE):
                meant = await self.rank(question, ledger)
        except BudgetExceeded:
            meant = []
        except (ModelError, TimeoutError):
            meant = []
            if len(self._held) == before:
                self._resting = time.monotonic() + REST
        return fused(words, meant, top=top)

    async def rank(self, question: str, ledger: Ledger) -> list[Meant]:
        """Every source, the most alike first; of a message of several parts by the part that fits best.

        Raises ModelError.
        """
        text = question[:LONGEST]
        parts = [part.text for part in split(text)]
        asked = list(dict.fromkeys((text, *(parts if len(parts) > 1 else ()))))
        vectors = _rows(await self.embedder.embed(asked, ledger), len(asked))
        async with self._lock:
            await self._embed_sources(vectors.shape[1])
            held = [self._held[one] for one in self.knowledge.sources]
        cosines = np.einsum("id,jd->ij", np.concatenate(held), vectors)
        usual = cosines.mean(axis=0)
        likeness = ((cosines - usual) / np.maximum(1 - usual, 1e-6)).max(axis=1).clip(0.0, 1.0)
        starts = np.cumsum([0, *(len(rows) for rows in held[:-1])])
        best = zip(self.knowledge.sources, np.maximum.reduceat(likeness, starts).tolist(), strict=True)
        return sorted((Meant(source, value) for source, value in best), key=lambda one: (-one.likeness, one.source))

    async def _embed_sources(self, dims: int) -> None:
        """Hold the vectors of every source, as long as the question's: read, or embedded and kept."""
        self._held = {one: rows for one, rows in self._held.items() if rows.shape[1] == dims}
        missing = []
        for source in self.knowledge.sources.values():
            if source.id not in self._held and not await self._read(source, dims):
                missing.append(source)
        for some in _groups(missing):
            lines = [line for source in some for line in _lines(source)]
            # An account of its own: it is work for all turns, and more than one may spend.
            rows = _rows(await self.embedder.embed(lines, Ledger()), len(lines))
            if rows.shape[1] != dims:
                raise ModelOutputError("models.embeddings: the vectors are not equally long.")
            for source in some:
                own, rows = np.split(rows, [len(_lines(source))])
                self._held[source.id] = own
                await asyncio.to_thread(self.cache.write, self._key(source), own)

    async def _read(self, source: Source, dims: int) -> bool:
        rows = await asyncio.to_thread(self.cache.read, self._key(source))
        if rows is None or rows.shape != (len(_lines(source)), dims) or not np.isfinite(rows).all():
            return False
        self._held[source.id] = rows
        return True

    def _key(self, source: Source) -> str:
        """What the vectors of a source depend on: the model, and the very lines that are embedded."""
        return sha256(json.dumps([self.embedder.name, *_lines(source)]).encode()).hexdigest()


def fused(words: Sequence[Hit], by_meaning: Sequence[Meant], *, top: int) -> tuple[Hit, ...]:
    """Reciprocal-rank fusion: at most `top` hits, best first; scores are lowered where that keeps them in order.

    A source that no word finds is taken only where its meaning is clear, so the search by words says as before when
    nothing fits.
    """
    known = {hit.source: hit for hit in words}
    hits = dict(known)
    ranks: dict[str, float] = {hit.source: 1 / (K + rank) for rank, hit in enumerate(words, start=1)}
    for rank, (source, likeness) in enumerate(by_meaning, start=1):
        if source in known or likeness >= CLEAR:
            hits.setdefault(source, Hit(source=source, score=likeness))
            ranks[source] = ranks.get(source, 0.0) + 1 / (K + rank)
    # Equal ranks, as of two sources that the two rankings swap: words, which were calibrated, decide.
    order = sorted(hits.values(), key=lambda hit: -ranks[hit.source])[: max(0, top)]
    return tuple(_lowered(order))


def _lowered(hits: Sequence[Hit]) -> Iterator[Hit]:
    ceiling = 1.0
    for hit in hits:
        ceiling = min(ceiling, hit.score)
        yield replace(hit, score=ceiling)


def _lines(source: Source) -> list[str]:
    lines = (source.title, *source.summary, *source.questions, *(passage.text for passage in source.passages))
    return [line[:LONGEST] for line in dict.fromkeys(lines) if line.strip()]


def _groups(sources: Sequence[Source]) -> Iterator[list[Source]]:
    """Sources in groups of so many lines that a request is full and little is lost when one fails."""
    group: list[Source] = []
    for source in sources:
        if group and sum(len(_lines(one)) for one in (*group, source)) > AT_ONCE:
            yield group
            group = []
        group.append(source)
    if group:
        yield group


def _rows(vectors: Sequence[Sequence[float]], count: int) -> Floats:
    """Vectors as rows of length one; raises ModelOutputError where they are not one of equal length for each text."""
    try:
        rows = np.array(vectors, dtype=np.float32)
    except ValueError:
        rows = np.empty(0, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != count or not rows.shape[1] or not np.isfinite(rows).all():
        raise ModelOutputError("models.embeddings: the answer does not hold one embedding a text.")
    return of_length_one(rows)
