"""Search by words and meaning: every part of a message is ranked by itself, and the best of each part comes first."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.belongings import belongs
from engine.language.spelling import Spelling
from engine.language.synonyms import Synonyms
from engine.language.text import words
from engine.language.vectors import WordVectors
from engine.memo import one_turn
from engine.retrieval.index import Index, build
from engine.retrieval.protocol import Hit, Retriever
from engine.retrieval.questions import QuestionPart, split
from engine.retrieval.scorer import Component, Ranking, Scorer
from engine.retrieval.similarity import Meaning
from engine.retrieval.terms import TermReader, Unit, group_of
from engine.retrieval.weights import Weigher, Weighted

THRESHOLD, BY_WORDS_ALONE = 0.38, 0.27
"""A score below this means that nothing fits; calibrated on lay questions to two knowledge bases."""
LONGEST = 2000
"""Characters of a message that are searched."""
MOST_ODD = 24
"""Unknown words of a message that are looked for under another spelling; with more of them it is no misspelt question."""
MOST_UNITS = 40
"""Words and phrases of a part that are searched."""
STATEMENT = 0.7
"""How much a statement counts beside a question in the same message."""
WHOLE = 0.8
"""How much a message of several parts counts as a whole beside each of them."""
DOUBT = 0.5
"""How much a part counts whose message, as a whole, fits nothing at all."""
LEFT_OVER = 0.5
"""How much the best source for a second subject of the same part counts."""

_SPELT_OUT = re.compile(r"\b\w(?:[ .]\w){2,4}\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class PartExplanation:
    """One part as it was searched; `synonyms` gives what each unit was also looked for as.

    `left_over` ranks the sources for a second subject that the best source says nothing about.
    """

    text: str
    corrected: Mapping[str, str]
    synonyms: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    components: tuple[Component, ...]
    left_over: tuple[Component, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """A search laid open: its parts (the whole message last, where it has several) and its hits."""

    question: str
    parts: tuple[PartExplanation, ...]
    hits: tuple[Hit, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Searched:
    """A part as it was searched; what explains it is put together only where somebody asks."""

    part: QuestionPart
    corrected: Mapping[str, str]
    units: Sequence[Unit]
    weighted: Sequence[Weighted]
    ranking: Ranking
    left_over: Ranking


class Search(Retriever):
    """Built once for a knowledge base, then asked; between questions it keeps nothing but caches of words."""

    def __init__(
        self,
        index: Index,
        reader: TermReader,
        spelling: Spelling,
        *,
        meaning: Meaning | None = None,
        threshold: float | None = None,
    ) -> None:
        usual = BY_WORDS_ALONE if meaning is None else THRESHOLD
        self.reader, self.spelling, self.threshold = reader, spelling, usual if threshold is None else threshold
        self._weigher = Weigher(index, reader, spelling)
        self._scorer = Scorer(index, meaning)

    @classmethod
    def build(
        cls, knowledge_base: KnowledgeBase, *, synonyms: Synonyms | None = None, vectors: WordVectors | None = None
    ) -> Search:
        """Index a knowledge base; its own `synonyms.yaml` is joined with the shared ones that are given.

        Without `vectors`, as for a knowledge base in another language than theirs, words alone decide.
        """
        used, own = synonyms or Synonyms(), knowledge_base.folder / "synonyms.yaml"
        used = used.joined_with(Synonyms.load(own)) if belongs(own, knowledge_base.folder) else used
        reader = TermReader(used)
        with _no_collection():
            index = build(knowledge_base, reader)
            meaning = None if vectors is None else Meaning.build(knowledge_base, vectors, used.said)
        clinical = {word for word in used.clinical if word.isalpha()}
        away = {word for line in (vectors.elsewhere if vectors else ()) for word in words(line)}
        spelling = Spelling(index.vocabulary, clinical, used.vocabulary | used.elsewhere | away)
        return cls(index, reader, spelling, meaning=meaning)

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """At most `top` hits, best first, each source once; empty when nothing fits."""
        with one_turn():
            parts, searched = self._searched(question)
            return self._merge(parts, searched)[: max(0, top)]

    def explain(self, question: str) -> Explanation:
        """Search and say why."""
        parts, searched = self._searched(question)
        return Explanation(
            question=question, parts=tuple(map(self._explained, searched)), hits=self._merge(parts, searched)
        )

    def _searched(self, question: str) -> tuple[tuple[QuestionPart, ...], list[_Searched]]:
        """The parts of a question, and how each was searched; the whole comes last, where it has several."""
        text = question[:LONGEST]
        parts = split(text, self._subjects)
        searched = [self._search_part(part) for part in parts]
        if len(parts) > 1:
            searched.append(self._search_part(QuestionPart(text=text, asks=True)))
        return parts, searched

    def _subjects(self, text: str) -> int:
        """What `split` asks: a term of a synonym group is a subject by itself, another word half of one."""
        units = self.reader.units(self.reader.read(words(text)))
        return sum(2 if unit.topical else 1 for unit in units if not unit.filler)

    def _search_part(self, part: QuestionPart) -> _Searched:
        found = words(_SPELT_OUT.sub(_joined, f"{part.context} {part.text}"))
        odd = [word for word in dict.fromkeys(found) if not self.spelling.is_right(word)][:MOST_ODD]
        corrected = {word: right for word in odd if (right := self.spelling.correct(word)) != word}
        spelt = [corrected.get(word, word) for word in found]
        units = self.reader.units(self.reader.read(spelt))[:MOST_UNITS]
        weighted = [self._weigher.weigh(unit) for unit in units]
        ranking = self._scorer.rank(weighted, spelt)
        return _Searched(
            part=part,
            corrected=corrected,
            units=units,
            weighted=weighted,
            ranking=ranking,
            left_over=self._scorer.rank_left_over(weighted, ranking),
        )

    def _explained(self, one: _Searched) -> PartExplanation:
        return PartExplanation(
            text=one.part.text,
            corrected=one.corrected,
            synonyms={unit.text: self._readable(unit) for unit in one.units if len(unit.alternatives) > 1},
            unknown=tuple(each.unit.text for each in one.weighted if each.unknown),
            components=tuple(one.ranking.components()),
            left_over=tuple(one.left_over.components()),
        )

    def _merge(self, parts: Sequence[QuestionPart], searched: Sequence[_Searched]) -> tuple[Hit, ...]:
        """The best of every part first, then the rest; scores are lowered where that keeps them in order."""
        best: dict[str, Hit] = {}
        leaders: dict[str, None] = {}
        whole = searched[-1].ranking.scores if len(parts) > 1 else ()
        trust = min(1.0, DOUBT + max(whole, default=0.0)) if len(parts) > 1 else 1.0
        for number, found in enumerate(searched):
            share = _share(parts, number) * (trust if number < len(parts) else 1.0)
            fitting = self._fitting(found.ranking, share)
            second = self._fitting(found.left_over, share * LEFT_OVER)[:1] if fitting else []
            for hit in (*fitting, *second):
                known = best.get(hit.source)
                best[hit.source] = hit if known is None else _joined_hits(known, hit)
            if number < len(parts):
                # A source that leads another part already leaves its place to the next one.
                leading = [hit.source for hit in fitting if hit.source not in leaders][:1]
                leaders |= dict.fromkeys((*leading, *(hit.source for hit in second)))
        first = sorted((best[source] for source in leaders), key=_by_score)
        rest = sorted((hit for source, hit in best.items() if source not in leaders), key=_by_score)
        ceiling = first[-1].score if first else 1.0
        return (*first, *(hit if hit.score <= ceiling else replace(hit, score=ceiling) for hit in rest))

    def _fitting(self, ranking: Ranking, share: float) -> list[Hit]:
        hits = []
        for place, score in enumerate(ranking.scores):
            if score * share < self.threshold:
                break
            hits.append(Hit(source=ranking.source(place), score=score * share, matched=ranking.matched(place)))
        return hits

    def _readable(self, unit: Unit) -> tuple[str, ...]:
        """The alternatives of a unit in words; a synonym group by its first term."""
        groups = self.reader.synonyms.groups
        names = []
        for alternative, _ in unit.alternatives:
            number = group_of(alternative[0])
            names.append(" ".join(alternative) if number is None else groups[number].words[0])
        return tuple(dict.fromkeys(names))


@contextmanager
def _no_collection() -> Iterator[None]:
    """Build without the garbage collector, which would walk ever more small lists that are all kept."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _share(parts: Sequence[QuestionPart], number: int) -> float:
    """How much of its scores a part's ranking keeps; the one after the last part is the whole message's."""
    if number >= len(parts):
        return WHOLE
    return STATEMENT if not parts[number].asks and any(part.asks for part in parts) else 1.0


def _joined(letters: re.Match[str]) -> str:
    """An abbreviation spelt out, "c b t", as one word."""
    return re.sub(r"\W", "", letters[0])


def _joined_hits(known: Hit, hit: Hit) -> Hit:
    """Two hits of one source, for two parts of a message."""
    matched = tuple(dict.fromkeys((*known.matched, *hit.matched)))
    return Hit(source=hit.source, score=max(hit.score, known.score), matched=matched)


def _by_score(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.source
