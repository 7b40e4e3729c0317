"""The section that answers a message: found through what people would type for it, with how sure that is.

Each section is the centroid of its lay questions, its heading and its text. A message is read by itself and together with the
one before it ("and with alcohol"), and whom it is about counts: a relative is shown what is written for relatives. One
logistic model puts this together and two more say how likely the first is right, and one of the first four; all three are fitted
by `python -m evaluation.section_fusion` on natural messages of other people.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.lay_questions import LayQuestions
from engine.knowledge.section import Audience, Section
from engine.knowledge.source import Source
from engine.language.centroids import Centroids, LabelledText, snowball
from engine.language.vectors import Floats, WordVectors
from engine.retrieval.protocol import Hit, Retriever

OFFERED = 4
"""So many sections are offered at most."""
NEAR_A_SOURCE = 0.38
"""Below this chance that one of the first four sections answers, no source is found."""
LONGEST = 2000
"""Characters of a message that are searched."""
TEXT_WEIGHT = 2.0
"""How much a section's own text counts beside one lay question."""

# Written by evaluation/section_fusion.py.
BETTER: Mapping[str, float] = {
    "words": 12.93,
    "kin": 2.85,
    "words_before": 14.9,
    "kin_before": 5.46,
    "fits": 1.0,
    "not_theirs": 0.74,
    "covered": 2.98,
    "covered_before": 4.92,
}
RIGHT: Mapping[str, float] = {"base": -2.49, "share": 4.07, "words": 0.99, "kin": 1.32, "covered": -0.19}
NEAR: Mapping[str, float] = {"base": -1.5, "share": 3.66, "words": 0.49, "kin": 1.37, "covered": 0.15}
BETTER_BY_WORDS: Mapping[str, float] = {
    "words": 10.53,
    "kin": 6.14,
    "words_before": 15.32,
    "kin_before": 11.95,
    "fits": 1.57,
    "not_theirs": 1.87,
    "covered": 2.74,
    "covered_before": 5.54,
}
RIGHT_BY_WORDS: Mapping[str, float] = {"base": -2.46, "share": 3.48, "words": 1.99, "kin": 0.28, "covered": 0.45}
NEAR_BY_WORDS: Mapping[str, float] = {"base": -1.75, "share": 3.09, "words": 1.55, "kin": 1.52, "covered": 0.73}
"""The last three where there are no vectors."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionHit:
    """A section and its share of what speaks for all sections, from 0 to 1."""

    source: Source
    section: Section
    share: float

    @property
    def readable(self) -> bool:
        """Whether it stands in the language that was searched, and not only in that of the original."""
        return self.section.id not in self.source.foreign_sections


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionsFound:
    """Sections, best first. `right`: how likely the first one answers; `near`: that one of the first four does.

    `like`: how like the first one is by words. `together`: the message before was needed to find them.
    """

    hits: tuple[SectionHit, ...] = ()
    right: float = 0.0
    near: float = 0.0
    like: float = 0.0
    together: bool = False


@dataclass(frozen=True, kw_only=True)
class SectionSearch(Retriever):
    """The sections of a knowledge base in its language; without `vectors`, kindred words are those that share pieces."""

    knowledge: KnowledgeBase
    questions: LayQuestions
    vectors: WordVectors | None = None

    @cached_property
    def sections(self) -> tuple[tuple[Source, Section], ...]:
        """Every section that has a text, in order."""
        return tuple((source, one) for source in self.knowledge.sources.values() for one in source.sections)

    @cached_property
    def centroids(self) -> Centroids:
        """Built when the first message is searched."""
        language = snowball(self.knowledge.language)
        was_on = gc.isenabled()
        gc.disable()  # it would walk ever more small lists that are all kept
        try:
            return Centroids.build(list(self._texts()), len(self.sections), self.vectors, language, in_pieces=True)
        finally:
            if was_on:
                gc.enable()

    def _texts(self) -> Iterator[LabelledText]:
        for number, (source, section) in enumerate(self.sections):
            asked = self.questions.of(source.id, section.id)
            title = self.questions.titles.get(source.id, source.title)
            if section.id not in source.foreign_sections:
                yield LabelledText(label=number, text=section.text, weight=TEXT_WEIGHT)
                yield LabelledText(label=number, text=f"{title} {section.heading}")
                # A source whose sections nobody has listed is found by what stands above them all.
                above = () if source.heads else (*source.summary, *source.questions)
                for line in (*section.questions, *above):
                    yield LabelledText(label=number, text=line)
            else:
                yield LabelledText(label=number, text=title)
            for line in (asked.offer, *asked.lines):
                if line:
                    yield LabelledText(label=number, text=line)

    @cached_property
    def _audiences(self) -> tuple[Floats, Floats]:
        """Which sections are for the person, and which for somebody close; 1 or 0."""
        own = [Audience.SELF in section.audience for _, section in self.sections]
        near = [Audience.RELATIVE in section.audience for _, section in self.sections]
        return np.array(own, dtype=np.float32), np.array(near, dtype=np.float32)

    def find(self, message: str, *, before: str = "", another: bool = False, most: int = OFFERED) -> SectionsFound:
        """The best sections for a message. `before`: the person's message before it; `another`: it is about somebody else."""
        rows = self.rows(message, before=before, another=another)
        if not rows[:, :4].any():
            return SectionsFound()
        better, right, near = (
            (BETTER_BY_WORDS, RIGHT_BY_WORDS, NEAR_BY_WORDS) if self.vectors is None else (BETTER, RIGHT, NEAR)
        )
        scores = rows @ np.array([better[name] for name in EVIDENCE], dtype=np.float32)
        order = np.argsort(-scores, kind="stable")
        shares = np.exp(scores - scores[order[0]])
        shares /= shares.sum()
        confidence = evidence_of_fit(rows, shares, int(order[0]))
        first = rows[order[0]]
        return SectionsFound(
            hits=tuple(
                SectionHit(source=self.sections[at][0], section=self.sections[at][1], share=float(shares[at]))
                for at in order[:most]
            ),
            right=_chance(right, confidence),
            near=_chance(near, confidence),
            like=float(max(first[0], first[2])),
            together=bool(before) and float(first[2] + first[3]) > float(first[0] + first[1]),
        )

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """At most `top` sources, best first, by what speaks for all their sections; empty when nothing is near."""
        found = self.find(question, most=len(self.sections))
        if found.near < NEAR_A_SOURCE:
            return ()
        shares: dict[str, float] = {}
        for one in found.hits:
            shares[one.source.id] = shares.get(one.source.id, 0.0) + one.share
        best = sorted(shares, key=lambda name: -shares[name])[: max(0, top)]
        return tuple(Hit(source=name, score=shares[name]) for name in best)

    def rows(self, message: str, *, before: str = "", another: bool = False) -> Floats:
        """The evidence for every section, a row each, in the order of `EVIDENCE`."""
        own, near = self._audiences
        alone = self.centroids.likeness(message[:LONGEST])
        together = self.centroids.likeness(f"{before[:LONGEST]} {message[:LONGEST]}") if before else alone
        fits = near if another else own
        not_theirs = np.zeros_like(own) if another else near * (1 - own)
        covered = self.centroids.covered(message[:LONGEST])
        covered_before = self.centroids.covered(f"{before[:LONGEST]} {message[:LONGEST]}") if before else covered
        return np.stack((*alone, *together, fits, not_theirs, covered, covered_before), axis=1)


EVIDENCE = ("words", "kin", "words_before", "kin_before", "fits", "not_theirs", "covered", "covered_before")


def evidence_of_fit(rows: Floats, shares: Floats, best: int) -> Mapping[str, float]:
    """What says how sure a ranking is: the share of the first, how like the message it is, and what of it it covers."""
    row = dict(zip(EVIDENCE, map(float, rows[best]), strict=True))
    return {
        "share": float(shares[best]),
        **{name: max(row[name], row[f"{name}_before"]) for name in ("words", "kin", "covered")},
    }


def _chance(weights: Mapping[str, float], evidence: Mapping[str, float]) -> float:
    total = weights["base"] + sum(weights[name] * value for name, value in evidence.items())
    return float(1 / (1 + np.exp(-total)))
