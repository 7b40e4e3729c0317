"""Search by words and meaning: every part of a message is ranked by itself, and the best of each part comes first."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from engine.knowledge.base import KnowledgeBase
from engine.retrieval.index import Index, build
from engine.retrieval.meaning import Meaning
from engine.retrieval.protocol import Hit, Retriever
from engine.retrieval.questions import Part, split
from engine.retrieval.scoring import Component, Scorer
from engine.retrieval.spelling import Spelling
from engine.retrieval.synonyms import Synonyms
from engine.retrieval.terms import Reader, Unit, group_of, tokens
from engine.retrieval.vectors import WordVectors
from engine.retrieval.weighing import Weigher

THRESHOLD, BY_WORDS_ALONE = 0.38, 0.27
"""A score below this means that nothing fits; calibrated on lay questions to two knowledge bases."""
LONGEST = 2000
"""Characters of a message that are searched."""
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


class Search(Retriever):
    """Built once for a knowledge base, then asked; between questions it keeps nothing but caches of words."""

    def __init__(
        self,
        index: Index,
        reader: Reader,
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
        used = used.joined_with(Synonyms.load(own)) if own.is_file() else used
        reader = Reader(used)
        with _no_collection():
            index = build(knowledge_base, reader)
            meaning = None if vectors is None else Meaning.build(knowledge_base, vectors, used.said)
        clinical = {word for word in used.clinical if word.isalpha()}
        away = {word for line in (vectors.elsewhere if vectors else ()) for word in tokens(line)}
        spelling = Spelling(index.vocabulary, clinical, used.vocabulary | used.elsewhere | away)
        return cls(index, reader, spelling, meaning=meaning)

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """At most `top` hits, best first, each source once; empty when nothing fits."""
        return self.explain(question).hits[: max(0, top)]

    def explain(self, question: str) -> Explanation:
        """Search and say why."""
        text = question[:LONGEST]
        parts = split(text, self._subjects)
        searched = [self._search_part(part) for part in parts]
        if len(parts) > 1:
            searched.append(self._search_part(Part(text=text, asks=True)))
        return Explanation(question=question, parts=tuple(searched), hits=self._merge(parts, searched))

    def _subjects(self, text: str) -> int:
        """What `split` asks: a term of a synonym group is a subject by itself, another word half of one."""
        units = self.reader.units(self.reader.read(tokens(text)))
        return sum(2 if unit.topical else 1 for unit in units if not unit.filler)

    def _search_part(self, part: Part) -> PartExplanation:
        found = tokens(_SPELT_OUT.sub(_joined, f"{part.context} {part.text}"))
        corrected = {word: right for word in found if (right := self.spelling.correct(word)) != word}
        words = [corrected.get(word, word) for word in found]
        reading = self.reader.read(words)
        units = self.reader.units(reading)[:MOST_UNITS]
        weighted = [self._weigher.weigh(unit) for unit in units]
        components = self._scorer.rank(weighted, words)
        return PartExplanation(
            text=part.text,
            corrected=corrected,
            synonyms={unit.text: self._readable(unit) for unit in units if len(unit.alternatives) > 1},
            unknown=tuple(one.unit.text for one in weighted if one.unknown),
            components=components,
            left_over=self._scorer.rank_left_over(weighted, components),
        )

    def _merge(self, parts: Sequence[Part], searched: Sequence[PartExplanation]) -> tuple[Hit, ...]:
        """The best of every part first, then the rest; scores are lowered where that keeps them in order."""
        best: dict[str, Hit] = {}
        leaders: dict[str, None] = {}
        whole = searched[-1].components if len(parts) > 1 else ()
        trust = min(1.0, DOUBT + max((one.score for one in whole), default=0.0)) if len(parts) > 1 else 1.0
        for number, found in enumerate(searched):
            share = _share(parts, number) * (trust if number < len(parts) else 1.0)
            fitting = self._fitting(found.components, share)
            second = self._fitting(found.left_over[:1], share * LEFT_OVER) if fitting else []
            for hit in (*fitting, *second):
                known = best.get(hit.source, hit)
                matched = tuple(dict.fromkeys((*known.matched, *hit.matched)))
                best[hit.source] = replace(hit, score=max(hit.score, known.score), matched=matched)
            if number < len(parts):
                # A source that leads another part already leaves its place to the next one.
                leading = [hit.source for hit in fitting if hit.source not in leaders][:1]
                leaders |= dict.fromkeys((*leading, *(hit.source for hit in second)))
        first = sorted((best[source] for source in leaders), key=_by_score)
        rest = sorted((hit for source, hit in best.items() if source not in leaders), key=_by_score)
        ceiling = first[-1].score if first else 1.0
        return (*first, *(replace(hit, score=min(hit.score, ceiling)) for hit in rest))

    def _fitting(self, components: Sequence[Component], share: float) -> list[Hit]:
        hits = (Hit(source=one.source, score=one.score * share, matched=one.matched) for one in components)
        return [hit for hit in hits if hit.score >= self.threshold]

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


def _share(parts: Sequence[Part], number: int) -> float:
    """How much of its scores a part's ranking keeps; the one after the last part is the whole message's."""
    if number >= len(parts):
        return WHOLE
    return STATEMENT if not parts[number].asks and any(part.asks for part in parts) else 1.0


def _joined(letters: re.Match[str]) -> str:
    """An abbreviation spelt out, "c b t", as one word."""
    return re.sub(r"\W", "", letters[0])


def _by_score(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.source
