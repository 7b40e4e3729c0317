"""The sources as an index: BM25 for ranking, postings for what speaks to which word of a question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Source
from engine.language.text import words
from engine.retrieval.bm25 import Bm25
from engine.retrieval.terms import RELATED, Alternative, TermReader, Unit

FIELD_WEIGHTS = {"title": 6.0, "summary": 4.0, "questions": 4.0, "said": 2.0, "body": 1.0}
"""BM25 weights of the columns."""
HEAD_STRENGTH = {"title": 1.0, "questions": 0.95, "summary": 0.95, "said": 0.7}
"""How far a word in a field speaks for what a source is about, at most 1."""
TF_HALF = 0.6
"""So many occurrences in a body of ordinary length make half of what endless ones make."""

ORDINARY_LENGTH = 200
"""Words of a body whose length neither helps nor harms."""
UBIQUITOUS = 0.5
"""In large knowledge bases, words of more than this share of the sources do not choose the candidates."""
LARGE = 100

Postings = dict[str, dict[int, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexedLine:
    """A title, a summary bullet or a question, read into units; `weight` is their sum of importance."""

    source: int
    kind: str
    text: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class Index:
    """Sources by number, in the order of the knowledge base."""

    ids: tuple[str, ...]
    head: Postings = field(repr=False)
    body: Postings = field(repr=False)
    line_postings: dict[str, dict[int, list[int]]] = field(repr=False)
    vocabulary: Counter[str] = field(repr=False)
    bm25: Bm25 = field(repr=False)
    lines: list[IndexedLine] = field(default_factory=list, repr=False)

    def known(self, tokens: Iterable[str]) -> list[str]:
        """Those of the tokens that some source has, each once."""
        return [one for one in dict.fromkeys(tokens) if one in self.head or one in self.body]

    def ranked(self, tokens: Iterable[str], limit: int = 60) -> dict[int, float]:
        """BM25 scores (higher is better) of the best sources that have any of the known tokens, best first."""
        known = list(dict.fromkeys(tokens))
        if len(self.ids) > LARGE:
            most = UBIQUITOUS * len(self.ids)
            known = [one for one in known if len(self.body.get(one, ())) <= most] or known
        return self.bm25.best(known, limit)

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """Every token that some title has."""
        return frozenset(token for token, at in self.head.items() if HEAD_STRENGTH["title"] in at.values())

    @cached_property
    def named_stems(self) -> frozenset[str]:
        """Every token that some title, summary or question has."""
        return frozenset(token for token, at in self.head.items() if max(at.values()) > HEAD_STRENGTH["said"])

    @cached_property
    def id_order(self) -> NDArray[np.intp]:
        """The place of each source in the alphabet of ids."""
        return np.argsort(np.argsort(np.array(self.ids)))

    @cached_property
    def line_weights(self) -> NDArray[np.float64]:
        """The weight of every line."""
        return np.array([line.weight for line in self.lines])

    @cached_property
    def line_starts(self) -> NDArray[np.intp]:
        """Where each source's lines begin; every source has a title, and so a line."""
        counts = Counter(line.source for line in self.lines)
        return np.cumsum([0, *(counts[number] for number in range(len(self.ids) - 1))], dtype=np.intp)

    @cached_property
    def top_rarity(self) -> float:
        """What `rarity` is measured in."""
        return math.log(1 + len(self.ids))

    def rarity(self, postings: Postings, token: str) -> float:
        """1 for a token of one source, near 0 for a token of every source, 0 for an unknown one."""
        found = postings.get(token)
        return math.log(1 + len(self.ids) / len(found)) / self.top_rarity if found else 0.0

    def importance(self, unit: Unit) -> tuple[float, float]:
        """How telling a unit is in heads and in bodies: how rare its commonest close alternative is."""
        close = [token for alternative, weight in unit.alternatives if weight > RELATED for token in alternative]
        in_heads = [rarity for token in close if (rarity := self.rarity(self.head, token))]
        in_bodies = [rarity for token in close if (rarity := self.rarity(self.body, token))]
        return unit.weight * min(in_heads, default=0.0), unit.weight * min(in_bodies, default=0.0)


class _Builder:
    """Collects postings source by source; lines are weighed last, when it is known how rare each word is."""

    def __init__(self, reader: TermReader) -> None:
        self.reader = reader
        self.said = reader.synonyms.said
        self.head: Postings = {}
        self.body: Postings = {}
        self.vocabulary: Counter[str] = Counter()
        self.lines: list[tuple[int, str, str, tuple[Unit, ...]]] = []
        self.line_postings: dict[str, dict[int, list[int]]] = {}
        self.counts: list[dict[str, float]] = []
        self.lengths: list[int] = []

    def add(self, number: int, source: Source) -> None:
        columns = {
            "title": self._line(number, "title", source.title) + self._tokens(source.id.replace("_", " ")),
            "summary": [one for text in source.summary for one in self._line(number, "summary", text)],
            "questions": [one for text in source.questions for one in self._line(number, "question", text)],
            "said": [one for text in self.said.get(source.id, ()) for one in self._tokens(text)],
            "body": self._tokens(source.prose),
        }
        # Dangers are included, not told at length: their words must not make the source's own count for less.
        self.lengths.append(sum(map(len, columns.values())))
        length = 0.5 + 0.5 * len(columns["body"]) / ORDINARY_LENGTH
        columns["body"] += [one for danger in source.dangers for text in danger.signs for one in self._tokens(text)]
        self.counts.append(_weighted(columns))
        for name, strength in HEAD_STRENGTH.items():
            for token in columns[name]:
                at = self.head.setdefault(token, {})
                at[number] = max(strength, at.get(number, 0.0))
        for token, times in Counter(columns["body"]).items():
            often = times / length
            self.body.setdefault(token, {})[number] = often / (often + TF_HALF)

    def _tokens(self, text: str) -> list[str]:
        found = words(text)
        self.vocabulary.update(found)
        return self.reader.index_tokens(self.reader.read(found))

    def _line(self, number: int, kind: str, text: str) -> list[str]:
        found = words(text)
        self.vocabulary.update(found)
        reading = self.reader.read(found)
        held = self.reader.index_tokens(reading)
        for token in set(held):
            self.line_postings.setdefault(token, {}).setdefault(number, []).append(len(self.lines))
        self.lines.append((number, kind, text, self.reader.units(reading)))
        return held

    def finish(self, ids: tuple[str, ...]) -> Index:
        index = Index(
            ids=ids,
            head=self.head,
            body=self.body,
            line_postings=self.line_postings,
            vocabulary=self.vocabulary,
            bm25=Bm25(self.counts, self.lengths),
        )
        known: dict[tuple[Alternative, ...], float] = {}
        for number, kind, text, units in self.lines:
            for unit in units:
                if unit.alternatives not in known:
                    known[unit.alternatives] = max(index.importance(unit))
            weight = sum(known[unit.alternatives] for unit in units)
            index.lines.append(IndexedLine(source=number, kind=kind, text=text, weight=weight))
        return index


def _weighted(columns: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """How often each token occurs, each time counted by its column's weight."""
    found: dict[str, float] = {}
    for name, weight in FIELD_WEIGHTS.items():
        for token in columns[name]:
            found[token] = found.get(token, 0.0) + weight
    return found


def build(base: KnowledgeBase, reader: TermReader) -> Index:
    """Index a knowledge base; directives stay out of it."""
    builder = _Builder(reader)
    for number, source in enumerate(base.sources.values()):
        builder.add(number, source)
    return builder.finish(tuple(base.sources))
