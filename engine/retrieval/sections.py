"""The section that answers a message: found through what people would type for it, with how sure that is.

Each section is the centroid of its lay questions, its heading and its text, and the single ones of them that are nearest. A
message is read by itself and together with the one before it ("and with alcohol"), and what a long story asks at its end with the
story before it; what those before were about speaks for going on with it; whom it is about counts: a relative is shown what is
written for relatives. One logistic model puts this together and two more say how likely the first is right, and one of the first
four; all three are fitted by `python -m evaluation.section_fusion` on natural messages of other people. How like a message is to
lines about other subjects says whether it is about anything here (`python -m evaluation.scope_fit`).
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.free_memory import hand_back
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.lay_questions import LayQuestions
from engine.knowledge.section import Audience, Section
from engine.knowledge.source import Source
from engine.language.centroids import Centroids, LabelledText, snowball
from engine.language.encoder import TextEncoder
from engine.language.spelling import SAID, Spelling
from engine.language.text import words
from engine.language.vectors import Floats, Numbers, numbered
from engine.memo import once_a_turn
from engine.retrieval.protocol import Hit, Retriever
from engine.retrieval.questions import content_words, split, told_and_asked
from engine.retrieval.scope import ScopeReading
from engine.retrieval.section_weights import WEIGHTS

OFFERED = 4
"""So many sections are offered at most."""
FOR_SOURCES = 64
"""So many sections speak for their sources; the others say next to nothing."""
NEAR_A_SOURCE = 0.3
"""Below this chance that one of the first four sections answers, no source is found."""
IN_SCOPE = 0.9
"""What is less likely about anything here is about something else; of 370 messages that ask about something here 0.92 are
above, of 450 about something else, most of them near ones, 0.09 (`python -m evaluation.scope_fit`, cross-validated)."""
FAIRLY, NEARLY = 0.65, 0.9
"""What is a little less likely about anything here is so where one of the first sections is as likely to answer it: words of the
trade sound strange among those of a chat."""
PLAIN = 0.95
"""From this chance on that a section answers, a message is about something here however unlike it sounds: what has been told of
only since the encoder learnt is strange to it."""
NOT_AWAY = 0.02
"""What is less likely about anything here than this is about something else, whatever was said before it."""
FOLLOW_UP = 8
"""So many words of a message may lean on the one before it for what they are about."""
LEAST_SHARE = 0.001
"""A source with less of what speaks for all does not fit."""
LONGEST = 2000
"""Characters of a message that are searched, its last ones."""
THREAD = 3
"""So many earlier messages say what the conversation is about."""
TEXT_WEIGHT = 2.0
"""How much a section's own text counts beside one lay question."""


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
    """Sections, best first. `right`: how likely the first one answers; `near`: that one of the first four does; both where
    the message is about anything here, which is as likely as `scope`.

    `leaning`: how likely that is where it is read with what was said before it, for what is short or ends a long story.
    `like`: how like the first one is by words. `together`: the message before was needed to find them.
    """

    hits: tuple[SectionHit, ...] = ()
    right: float = 0.0
    near: float = 0.0
    scope: float = 0.0
    leaning: float = 0.0
    like: float = 0.0
    together: bool = False

    @property
    def here(self) -> bool:
        """Whether the message is about anything here: it is like that, by itself or with what it leans on, or a section plainly
        answers it."""
        if self.scope >= IN_SCOPE or (self.scope >= FAIRLY and self.near >= NEARLY):
            return True
        return (self.near >= PLAIN or self.leaning >= IN_SCOPE) and not self.elsewhere

    @property
    def elsewhere(self) -> bool:
        """Whether it is plainly about something else: neither a section nor the service is meant."""
        return self.scope < NOT_AWAY


@dataclass(frozen=True, kw_only=True)
class SectionSearch(Retriever):
    """The sections of a knowledge base in its language, read by words and by what an encoder says they mean; by words alone
    without one.

    `elsewhere`: lines about other subjects, in that language; `learnt`: what was learnt of what this base is asked.
    """

    knowledge: KnowledgeBase
    questions: LayQuestions
    encoder: TextEncoder | None = None
    elsewhere: Sequence[str] = ()
    learnt: ScopeReading | None = None

    @cached_property
    def sections(self) -> tuple[tuple[Source, Section], ...]:
        """Every section that has a text, in order."""
        return tuple((source, one) for source in self.knowledge.sources.values() for one in source.sections)

    @cached_property
    def centroids(self) -> Centroids:
        """Built when the first message is searched; behind the sections stands what is about other subjects."""
        language = snowball(self.knowledge.language)
        was_on = gc.isenabled()
        gc.disable()  # it would walk ever more small lists that are all kept
        try:
            away = [LabelledText(label=len(self.sections), text=line) for line in self.elsewhere]
            return Centroids.build([*self.texts(), *away], len(self.sections) + 1, self.encoder, language)
        finally:
            if was_on:
                gc.enable()
            hand_back()

    def texts(self) -> Iterator[LabelledText]:
        """What each section is found by, labelled with its place."""
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

    def find(
        self, message: str, *, earlier: Sequence[str] = (), another: bool = False, most: int = OFFERED
    ) -> SectionsFound:
        """The best sections for a message. `earlier`: the person's messages before it; `another`: it is about somebody else.

        Of a long story what is asked at its end is searched, with the story as what was said before it.
        """
        asked, earlier, leans = _asked_after(message, earlier)
        read = self._read(asked)
        rows = self._rows(asked, read, earlier, another=another)
        if not rows[:, : 2 * len(READ)].any():
            return SectionsFound()
        shares = self._shares(rows)
        order = np.argsort(-shares, kind="stable")
        confidence = evidence_of_fit(rows, shares, int(order[0]))
        first, sounds = dict(zip(EVIDENCE, map(float, rows[order[0]]), strict=True)), self._sounds(asked, earlier)
        return SectionsFound(
            hits=tuple(
                SectionHit(source=self.sections[at][0], section=self.sections[at][1], share=float(shares[at]))
                for at in order[:most]
            ),
            right=_chance(WEIGHTS.right, confidence),
            near=_chance(WEIGHTS.near, confidence),
            scope=self._scope(read, sounds),
            leaning=self._scope(self._read(asked, earlier[-1][:LONGEST]), sounds) if leans else 0.0,
            like=max(first["words"], first["words_before"]),
            together=bool(earlier) and first["words_before"] + first["kin_before"] > first["words"] + first["kin"],
        )

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """At most `top` sources, best first; empty when nothing is near. Where several things are asked, each is looked for by
        itself, and the best source of each comes first."""
        parts = [f"{one.context} {one.text}".strip() for one in split(told_and_asked(question[-LONGEST:])[1])]
        whole = self._sources_of(question)
        if len(parts) < 2:
            return whole[: max(0, top)]
        leaders: dict[str, float] = {}
        for part in parts:
            for hit in self._sources_of(part)[:1]:
                leaders[hit.source] = max(hit.score, leaders.get(hit.source, 0.0))
        first = [Hit(source=name, score=leaders[name]) for name in sorted(leaders, key=lambda name: -leaders[name])]
        ceiling = first[-1].score if first else 1.0
        rest = (replace(hit, score=min(hit.score, ceiling)) for hit in whole if hit.source not in leaders)
        return (*first, *rest)[: max(0, top)]

    def _sources_of(self, question: str) -> tuple[Hit, ...]:
        if not content_words(question):
            return ()
        found = self.find(question, most=FOR_SOURCES)
        if found.near < NEAR_A_SOURCE or not found.here:
            return ()
        shares: dict[str, float] = {}
        for one in found.hits:
            shares[one.source.id] = shares.get(one.source.id, 0.0) + one.share
        best = sorted((name for name in shares if shares[name] >= LEAST_SHARE), key=lambda name: -shares[name])
        return tuple(Hit(source=name, score=shares[name]) for name in best)

    def away(self, message: str) -> Mapping[str, float]:
        """By how much a message is more like lines about other subjects than like any section, by single lines, by what words
        mean and by their pieces (below zero for less); how much of it any section has at all; and what was learnt of it, where
        anything was."""
        return self._away(self._read(message), self._sounds(message, ()))

    def _away(self, read: Mapping[str, Floats], sounds: Mapping[str, float]) -> Mapping[str, float]:
        further = {f"away_{name}": read[name] for name in ("nearest", "kin", "pieces", "meant")}
        return {
            **{name: float(row[-1] - row[:-1].max()) for name, row in further.items()},
            "here": float(read["covered"][:-1].max()),
            **sounds,
        }

    def _sounds(self, message: str, earlier: Sequence[str]) -> Mapping[str, float]:
        """How far a message sounds like one that this base answers, after the one before it; empty where that was not learnt."""
        return {} if self.learnt is None else {"learnt": self.learnt.sum(message, earlier)}

    def _scope(self, read: Mapping[str, Floats], sounds: Mapping[str, float]) -> float:
        """How likely a message is about anything here, from 0 to 1; 1 where nobody has written lines about other subjects.

        It was fitted where many lines stand for the sections. With few of them a message is about something else where it
        means that more, and is no more like the sections by its words.
        """
        if not self.elsewhere:
            return 1.0
        away = self._away(read, sounds)
        if self._few_lines:
            meaning = away["away_kin"] + away["away_meant"]
            return float(min(meaning, meaning + away["away_nearest"] + away["away_pieces"]) <= 0.0)
        return _chance(WEIGHTS.scope if self.learnt is None else WEIGHTS.scope_learnt, away)

    @cached_property
    def _few_lines(self) -> bool:
        return sum(len(one.lines) for one in self.questions.sections.values()) < len(self.elsewhere) / 2

    def _shares(self, rows: Floats) -> Floats:
        """The share of each section in what speaks for all of them."""
        scores = rows @ np.array([WEIGHTS.better[name] for name in EVIDENCE], dtype=np.float32)
        shares = np.exp(scores - scores.max())
        return np.asarray(shares / shares.sum(), dtype=np.float32)

    def rows(self, message: str, *, earlier: Sequence[str] = (), another: bool = False) -> Floats:
        """The evidence for every section, a row each, in the order of `EVIDENCE`."""
        asked, earlier, _ = _asked_after(message, earlier)
        return self._rows(asked, self._read(asked), earlier, another=another)

    def _rows(self, message: str, read: Mapping[str, Floats], earlier: Sequence[str], *, another: bool) -> Floats:
        earlier, size = earlier[-THREAD:], len(self.sections)
        own, near = self._audiences
        together = self._read(message[:LONGEST], earlier[-1][:LONGEST]) if earlier else read
        evidence = {name: row[:size] for name, row in read.items()}
        evidence |= {f"{name}_before": row[:size] for name, row in together.items()}
        evidence["fits"] = near if another else own
        evidence["not_theirs"] = np.zeros_like(own) if another else near * (1 - own)
        evidence["thread_source"], evidence["thread"] = self._thread(earlier, another)
        return np.stack([evidence[name] for name in EVIDENCE], axis=1)

    @cached_property
    def _spelling(self) -> Spelling:
        """Learnt from what people would type for sections; where nobody wrote that, from the sections."""
        return Spelling.of((words(one.text) for one in self.texts()), SAID if self.questions.sections else 1)

    @cached_property
    def _read(self) -> Callable[..., Mapping[str, Floats]]:
        """A text, spelt rightly, and what was said before it against every section and, last, against what is about other
        subjects; once a turn, in which one part after the other asks for it."""
        return once_a_turn(self._compared)

    def _compared(self, text: str, before: str = "") -> Mapping[str, Floats]:
        like, text, before = self.centroids, text[:LONGEST], before[:LONGEST]
        spelt = " ".join(self._spelling.corrected(words(f"{before} {text}".strip())))
        by_words = (like.likeness(spelt), like.in_pieces(spelt), like.nearest(spelt), like.covered(spelt))
        return dict(zip(READ, (*by_words, like.kindred(text, before), like.meant_nearest(text, before)), strict=True))

    def _thread(self, earlier: Sequence[str], another: bool) -> tuple[Floats, Floats]:
        """What the messages before were about: the share of each section's source, and the section's own, as a logarithm."""
        if not earlier:
            return np.zeros(len(self.sections), dtype=np.float32), np.zeros(len(self.sections), dtype=np.float32)
        shares = self._shares(self.rows(earlier[-1], earlier=earlier[:-1], another=another))
        sources = np.bincount(self._sources, weights=shares)
        return sources[self._sources].astype(np.float32), np.log1p(shares / LITTLE)

    @cached_property
    def _sources(self) -> Numbers:
        """The number of each section's source."""
        return numbered(source.id for source, _ in self.sections)[1]


_NUMBERED = re.compile(r"(?<=\S)\s*(?:\(\d{1,9}\)|\[\d{1,9}\]|#\d{1,9})\s*$")
"""A number behind a message, which says nothing of what it is about and would be counted as a strange word."""
LITTLE = 1e-4
"""A share that says nothing."""
READ = ("words", "pieces", "nearest", "covered", "kin", "meant")
"""How a text is read against every section: by words, by their pieces, by the words of single lines, by what is there at all, by
what it means, and by what single lines mean."""
EVIDENCE = (*READ, *(f"{name}_before" for name in READ), "fits", "not_theirs", "thread_source", "thread")


def evidence_of_fit(rows: Floats, shares: Floats, best: int) -> Mapping[str, float]:
    """What says how sure a ranking is: the share of the first, how like the message it is, and what of it it covers."""
    row = dict(zip(EVIDENCE, map(float, rows[best]), strict=True))
    return {
        "share": float(shares[best]),
        **{name: max(row[name], row[f"{name}_before"]) for name in READ},
    }


def _asked_after(message: str, earlier: Sequence[str]) -> tuple[str, Sequence[str], bool]:
    """What a message asks, what was said before that, a long story too, and whether it leans on it for what it is about: "what
    helps then", the end of a story."""
    message = _NUMBERED.sub("", message)
    told, asked = told_and_asked(message[-LONGEST:])
    if told:
        return asked, (*earlier, told), True
    return asked, earlier, bool(earlier) and len(asked.split()) <= FOLLOW_UP


def _chance(weights: Mapping[str, float], evidence: Mapping[str, float]) -> float:
    total = weights["base"] + sum(weights[name] * value for name, value in evidence.items())
    return float(1 / (1 + np.exp(-total)))
