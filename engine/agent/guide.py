"""The guide: sure of the section, it quotes it; unsure, it offers people's own questions; with nothing near, it says so.

What a message is about is understood through what people would type for each section, never through a word that happens to
stand in a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from engine.agent.kinds import MessageKinds, MessageReading
from engine.agent.passages import already_shown
from engine.agent.service import Likeness, Service
from engine.agent.situation import SituationReading
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.section import Audience, Section
from engine.knowledge.source import Source
from engine.language.encoder import TextEncoder
from engine.retrieval.scope import ScopeReading
from engine.retrieval.sections import OFFERED, SectionHit, SectionSearch, SectionsFound
from engine.stakes import Stakes
from engine.texts import GuideTexts, Remarks
from engine.types import Message, Offer, Role
from engine.urgency.person import about_another, about_self

QUOTED_FROM = 0.6
"""From this chance on that the first section answers, it is quoted; of the natural messages so answered, 0.79 were right. What is
less sure stands among questions to tap: quoted from 0.42 on, below the question whether it was meant, it was on something else
for 17 of 32 messages of four authors, by two readers each."""
OFFERED_FROM = 0.32
"""Below this chance that one of the first four answers, nothing is offered: a list in which nothing fits is worse than a no."""
REMARK_NEAR, FIRST_REMARK_NEAR, SHORT_REMARK_NEAR, REMARK_WORDS = 0.6, 0.4, 0.8, 6
"""Somebody who asks nothing is offered something only from such a chance on: the second for who begins so, the third where they
wrote fewer words. Of natural remarks that were offered something so, half had it among three questions. From 0.4, 0.35 and 0.5 on
it was more, and worse: of 66 remarks twice as many were then answered off the point (18, 9)."""
HINTED_IN_SCOPE = 0.5
"""What is likelier about something else is offered nothing below a remark ("my console finds no network"), nor asked whether the
service was meant: of 182 right questions about it 4 are lost so, and of 14 that others of 150 had got, 10 (authors kept back)."""
BESIDE = 0.05
"""What has less of the first one's share is not offered beside it: three buttons in place of four, hardly a right one less."""
GRAVE = frozenset({"self_harm", "violence", "legal_capacity"})
"""Subjects of `config/stakes.yaml` that nobody is offered by chance: a button on suicide below a remark on bread frightens."""
PLAINLY = 0.35
"""With so large a share a section on a grave subject is offered to somebody who has not named it in our words."""
LEAST_LIKE = 0.1
"""What shares less with a section by words is not quoted: among few sections one always leads."""
FURTHER = 3
"""So many further questions stand below an answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Understood:
    """What a message does, what was found for it, and what of that was not shown just before."""

    reading: MessageReading
    found: SectionsFound
    hits: tuple[SectionHit, ...]

    @property
    def sure(self) -> SectionHit | None:
        """The section to quote, if that is sure."""
        first = self.hits[0] if self.hits else None
        if first is None or first is not self.found.hits[0]:
            return None
        return first if self.found.right >= QUOTED_FROM and self.found.like >= LEAST_LIKE and self.found.here else None

    @property
    def meant(self) -> tuple[SectionHit, ...]:
        """What may have been meant: without what is far behind the first."""
        return tuple(one for one in self.hits if one.share >= BESIDE * self.hits[0].share)

    @property
    def strange(self) -> bool:
        """Whether the message is likelier about something else, and nothing speaks against that."""
        return not self.found.here and self.found.scope < HINTED_IN_SCOPE

    @property
    def away(self) -> bool:
        """Whether nothing that was found is near enough to be offered."""
        return self.found.near < OFFERED_FROM or not self.found.here


class Remark(NamedTuple):
    """A kind sentence to what was told, and an open question that may follow it, or none."""

    said: str
    question: str


@dataclass(frozen=True, kw_only=True)
class Guide:
    """Finds sections for one knowledge base, in each language that it has lay questions in."""

    knowledge: KnowledgeBase
    kinds: MessageKinds
    service: Service
    texts: Mapping[str, GuideTexts]
    stakes: Stakes
    encoder: TextEncoder | None = None
    situations: SituationReading | None = None
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    learnt: ScopeReading | None = None
    _searches: dict[str, SectionSearch] = field(default_factory=dict, repr=False)
    _graves: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict, repr=False)

    @property
    def own_language(self) -> str:
        """The language of the sources."""
        return self.knowledge.language

    def said(self, language: str) -> GuideTexts:
        """The guide's sentences in a language; in English where there are none."""
        return self.texts.get(language) or self.texts["en"]

    def search(self, language: str) -> SectionSearch:
        """The search in a language; that of the originals where there are no texts in it."""
        known = language if language in self.texts and language in self.knowledge.languages else self.own_language
        if known not in self._searches:
            edition = self.knowledge.edition(known)
            search = SectionSearch(
                knowledge=edition,
                questions=edition.lay_questions,
                encoder=self.encoder,
                elsewhere=self.elsewhere.get(known, ()),
                learnt=self.learnt,
            )
            self._searches[known] = search
        return self._searches[known]

    def prepare(self, language: str) -> None:
        """Build what the first message in a language would wait for, and whoever writes at that moment with it."""
        self.of_service("?", (), language)
        self.understand("?", (), language)

    def understand(self, message: str, earlier: Sequence[Message], language: str) -> Understood:
        """Read a message with the one before it."""
        said = tuple(one.content for one in earlier if one.role is Role.USER)
        before = said[-1] if said else ""
        another = about_another(f"{before} {message}")
        found = self.search(language).find(message, earlier=said, another=another, most=2 * OFFERED)
        shown = [one.content for one in earlier if one.role is Role.ASSISTANT][-1:]
        own, named = about_self(f"{before} {message}"), self._grave(f"{before} {message}")
        fresh = tuple(
            one
            for one in found.hits
            # Nobody reads what is said about patients to others, who writes of themselves.
            if not (own and Audience.SELF not in one.section.audience)
            and not _was_shown(one.source, one.section, shown)
            and (one.share >= PLAINLY or self._may_be_meant(one.source, one.section, named))
        )
        return Understood(reading=self.kinds.of(message, earlier, language), found=found, hits=fresh)

    def remark(self, message: str, earlier: Sequence[Message], language: str, *, heavy: bool) -> Remark:
        """One kind sentence to somebody who tells something, in its situation, that was not among the last ones."""
        told, asked = None, ""
        if self.situations is not None:
            told = self.situations.of(message, earlier, heavy=heavy)
            asked = self.situations.ask_after(told, message, earlier, heavy=heavy)
        remarks = self.said(language).remarks
        return Remark(_not_said_lately(remarks.of(told, heavy=heavy), earlier), _unasked(remarks, asked, earlier))

    def taken_up(self, message: str, earlier: Sequence[Message], language: str) -> str:
        """A sentence to what is told after a danger; empty where no situation is likely enough."""
        told = None if self.situations is None else self.situations.of(message, earlier, heavy=True, settled=True)
        sentences = self.said(language).remarks.told.get(told) if told is not None else None
        return _not_said_lately(sentences, earlier) if sentences else ""

    def _may_be_meant(self, source: Source, section: Section, named: frozenset[str]) -> bool:
        """Whether a section may be offered on a mere chance; `named`: the grave subjects of the message."""
        reserved = f"{source.id}/{section.id}" in self.knowledge.manifest.reserved
        return not reserved and self._grave_section(source, section) <= named

    def _grave(self, text: str) -> frozenset[str]:
        return GRAVE.intersection(self.stakes.topics(text))

    def _grave_section(self, source: Source, section: Section) -> frozenset[str]:
        """The grave subjects of a section, by its title and heading and the question that offers it, in its own words."""
        key = source.id, section.id
        if key not in self._graves:
            source, section = self._originals[key]
            asked = self.offer(source, section, self.own_language).question
            named = f"{source.id.replace('_', ' ')}. {source.title}. {section.heading}. {asked}"
            self._graves[key] = self._grave(named)
        return self._graves[key]

    @cached_property
    def _originals(self) -> Mapping[tuple[str, str], tuple[Source, Section]]:
        return {
            (source.id, section.id): (source, section) for source, section in self.search(self.own_language).sections
        }

    def likeness(self, message: str, language: str) -> Likeness:
        """How like any section, or anything else, a message is; what is less like a question about the service is none."""
        like = self.search(language).centroids
        rows = (like.likeness(message), like.nearest(message), like.kindred(message), like.meant_nearest(message))
        words, nearest, kin, meant = (float(row.max(initial=0.0)) for row in rows)
        return Likeness(words=words, nearest=nearest, kin=kin, meant=meant)

    def of_service(self, message: str, earlier: Sequence[Message], language: str) -> tuple[Offer, ...]:
        """The questions about the service that a message may mean rather than any section's, nearest first."""
        return self.service.asked_back(message, earlier, language, lambda text: self.likeness(text, language))

    def offers(self, hits: Sequence[SectionHit], language: str, most: int = OFFERED) -> tuple[Offer, ...]:
        """The questions that stand for sections, each once."""
        made = (self.offer(one.source, one.section, language) for one in hits)
        return tuple({one.question: one for one in made}.values())[:most]

    def offer(self, source: Source, section: Section, language: str) -> Offer:
        """A section as a question on a button."""
        asked = self._edition(language).lay_questions.of(source.id, section.id).offer
        plain = ": ".join(filter(None, (self.title(source, language), section.heading)))
        words = asked or next(iter(section.questions), plain)
        return Offer(question=words, source=source.id, section=section.id)

    def title(self, source: Source, language: str) -> str:
        """A source's title in a language."""
        edition = self._edition(language)
        return edition.lay_questions.titles.get(source.id) or edition.sources[source.id].title

    def _edition(self, language: str) -> KnowledgeBase:
        return self.search(language).knowledge


def _not_said_lately(sentences: Sequence[str], earlier: Sequence[Message]) -> str:
    shown = [one.content for one in earlier if one.role is Role.ASSISTANT][-len(sentences) + 1 :]
    return next((one for one in sentences if not any(one in said for said in shown)), sentences[0])


def _unasked(remarks: Remarks, asked: str, earlier: Sequence[Message]) -> str:
    """A question back, or none: nobody is questioned in two replies running, nor asked the same twice in a chat."""
    shown = [one.content for one in earlier if one.role is Role.ASSISTANT]
    just = any(one in said for one in remarks.asked.values() for said in shown[-1:])
    question = remarks.asked.get(asked, "")
    return "" if just or any(question in said for said in shown) else question


def _was_shown(source: Source, section: Section, shown: Sequence[str]) -> bool:
    first = next((one for one in source.passages if one.section == section.id), None)
    return first is not None and already_shown(first, shown)
