"""The built-in agent: quotes the section that answers, offers questions where it is not sure, and declines where nothing is near.

It needs no network and no key. It takes over when the model cannot be reached, and it is what runs first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.agent.guide import (
    FIRST_REMARK_NEAR,
    FURTHER,
    REMARK_NEAR,
    REMARK_WORDS,
    SHORT_REMARK_NEAR,
    Guide,
    Understood,
)
from engine.agent.kinds import MessageKind
from engine.agent.passages import Quotation, already_shown, shared
from engine.agent.protocol import AgentTask
from engine.agent.service import SERVICE
from engine.agent.smalltalk import SmallTalk, topic_list
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Passage, Source
from engine.language.sayings import agrees
from engine.language.text import fold, grade, sentences, squash
from engine.models.ledger import Ledger
from engine.retrieval.questions import split
from engine.retrieval.sections import OFFERED, SectionHit
from engine.texts import Texts
from engine.types import Basis, Draft, Kind, Message, Offer, Role, UrgencyLevel, Wish
from engine.urgency.person import about_another

PARTS = 2
"""How many things that are asked at once get a passage each."""
OF_SERVICE = 2
"""So many questions about the service stand among others that may have been meant."""
BETTER_FIT = 0.3
"""So much more of a message a later passage of a section must share than the first one, to be quoted in its place."""
_MORE_THAN_A_BELIEF = frozenset({Kind.DYING, Kind.OTHERS, Kind.VOICES, Kind.MEDICAL})
"""What somebody is told to do about at once, whatever they believe."""
_EMPHASIS = re.compile(r"(\*{1,2}|_{1,2})(?=\S)([^*_\n]+?)(?<=\S)\1")
EASY_GRADE, EASY_WORDS = 6.0, 16
"""Up to here a sentence counts as easy: Flesch-Kincaid grade, and words."""


@dataclass(frozen=True, kw_only=True)
class QuotingAgent:
    """Quotes. `words` is how much of the sources one reply may hold."""

    knowledge: KnowledgeBase
    texts: Texts
    guide: Guide
    words: int = 110

    async def draft(self, task: AgentTask, ledger: Ledger) -> Draft:
        """Quote, rework the last quotation, go on with it, or decline; never calls a model."""
        if task.wish is not Wish.ANSWER:
            return self._reworked(task)
        if task.section is not None:
            return self._tapped(task, *task.section)
        said = SmallTalk(texts=self.texts).answer(task.message, task.assistant)
        if said is not None:
            return Draft(reply=said, fixed=True)
        fixed = self._not_for_sources(task)
        if fixed is not None:
            return Draft(reply=fixed, fixed=True)
        wish = self.texts.sayings.wish(task.message)
        if wish is not None:
            return self._reworked(replace(task, wish=wish))
        asked = self._asked_first(task)
        if asked is not None:
            return self._quote(task, [asked])
        if agrees(task.message, (*self.texts.agreeing, self.texts.wishes["more"])) and self._cited(task):
            return self._next_part(task)
        if agrees(task.message, self.texts.refusing):  # read with what was said before, it would be answered with that
            return Draft(reply=self.texts.all_right, fixed=True)
        return self._answer(task)

    def _not_for_sources(self, task: AgentTask) -> str | None:
        """What no quotation should answer: a belief stated as fact, and questions about the person alone.

        A text on delusions, quoted at somebody who has just told of one, would argue with them; for somebody who tells
        of another's, it is what they came for.
        """
        if task.delusional_framing and not task.faint and task.danger in _MORE_THAN_A_BELIEF:
            return self.texts.asking(task.danger, task.emergency)
        if task.delusional_framing or agrees(task.message, self.texts.belief_questions):
            return self.texts.belief
        if agrees(task.message, self.texts.personal_questions):
            return self.texts.cannot_know
        return None

    def _answer(self, task: AgentTask) -> Draft:
        """What a message wants: a section, one of several, a kind word, or nothing that the sources have."""
        wishes = frozenset(self.texts.wishes.values())  # a press on "Simpler" is no thread to go on from
        earlier = tuple(one for one in task.earlier if one.content not in wishes)
        understood = self.guide.understand(task.message, earlier, task.language)
        reading = understood.reading
        # Who says of the service what is no question ("that is what they would say") is not asked which question they mean.
        asks = reading.kind is MessageKind.ASKS or (reading.kind is MessageKind.SERVICE and reading.question)
        if task.urgency is not UrgencyLevel.NONE and (not asks or (reading.heavy and not understood.sure)):
            return Draft(reply=self._asked_about(task, understood), fixed=True)  # a passage would talk past them
        own = () if understood.strange else self.guide.of_service(task.message, task.earlier, task.language)
        if own and asks and reading.kind is MessageKind.SERVICE:
            return Draft(reply=self.guide.said(task.language).unsure, fixed=True, offers=own)
        if task.belief_likely and understood.sure is None and not about_another(task.message):
            return Draft(reply=self.texts.belief, fixed=True)  # questions to tap would name an illness
        if not asks and not task.missing:
            return self._remark(task, understood, own[:OF_SERVICE])
        if task.language == self.knowledge.language:
            parts = _parts(task)
            drafted = self._several(task, parts) if len(parts) > 1 else None
            hit = understood.sure
            if drafted is None and hit is not None and hit.readable:
                drafted = self._section(task, hit, understood.hits[1:])
            if drafted is not None:
                return drafted
        return self._offer(task, understood, own[:OF_SERVICE])

    def _asked_about(self, task: AgentTask, understood: Understood) -> str:
        """What stands above the check question: after a faint suspicion an answer to how it was said, and why it is asked."""
        if not task.faint:
            return self.texts.asking(task.danger, task.emergency)
        heavy = understood.reading.heavy
        remark = self.guide.remark(task.message, task.earlier, task.language, heavy=heavy)
        return self.guide.said(task.language).remark_asked.format(remark=remark.said)

    def _remark(self, task: AgentTask, understood: Understood, own: tuple[Offer, ...]) -> Draft:
        """One kind sentence, and what may be of use, or an open question back; never a quotation."""
        remark = self.guide.remark(task.message, task.earlier, task.language, heavy=understood.reading.heavy)
        near = self._tells_of_something(task, understood)
        offers = self.guide.offers(understood.meant, task.language, most=FURTHER - len(own)) if near else ()
        offers, handoff = (*own, *offers), self._handoff(task)
        if offers:
            said = self.guide.said(task.language).remark_offer.format(remark=remark.said)
        else:
            alone = task.contacts or handoff is not None
            said = remark.said if alone else " ".join(filter(None, remark))
        return Draft(reply=said, fixed=True, offers=offers, handoff=handoff)

    def _tells_of_something(self, task: AgentTask, understood: Understood) -> bool:
        """Whether what was found for a remark is near enough to be offered with it."""
        first = not any(one.role is Role.USER for one in task.earlier)
        if understood.strange:
            return False
        if not first and understood.reading.kind is not MessageKind.TELLS:
            return False
        if len(task.message.split()) < REMARK_WORDS:
            return understood.found.near >= SHORT_REMARK_NEAR
        return understood.found.near >= (FIRST_REMARK_NEAR if first else REMARK_NEAR)

    def _offer(self, task: AgentTask, understood: Understood, own: tuple[Offer, ...]) -> Draft:
        """The questions that may have been meant, or that nothing is near."""
        said, handoff = self.guide.said(task.language), self._handoff(task)
        offers = self.guide.offers(understood.meant, task.language) if not understood.away else ()
        offers = (*offers[: OFFERED - len(own)], *own)
        if not offers:
            # What is about something else is no matter for a doctor alone.
            handed = handoff is not None or any(one.when_declined for one in task.assistant.handoffs)
            elsewhere = not (understood.found.here or handed) and task.urgency is UrgencyLevel.NONE
            if not elsewhere:
                return self._decline(task)
            told = said.elsewhere.format(condition=task.assistant.condition_told)
            return Draft(reply=told, fixed=True, lost=True)
        cited = {source.id for source in self._cited(task)}
        first = understood.hits[0].source if understood.hits else None
        if first is not None and understood.found.together and first.id in cited:
            reply = said.unsure_about.format(title=self.guide.title(first, task.language))
        else:
            reply = said.unsure
        return Draft(reply=reply, fixed=True, offers=offers, handoff=handoff)

    def _several(self, task: AgentTask, parts: Sequence[str]) -> Draft | None:
        """A passage for each of the things that are asked, if all of them are sure."""
        found = [self.guide.understand(part, (), task.language) for part in parts[:PARTS]]
        sure = [one.sure if one.sure is not None and one.sure.readable else None for one in found]
        first = [self._opening(task, hit, part) for hit, part in zip(sure, parts, strict=False) if hit is not None]
        chosen = [one for one in first if one is not None and one.passage.ask is None]
        if len(chosen) < len(found) or _words(chosen) > self.words * len(chosen):
            return None
        return self._quote(task, list({(one.source.id, one.passage.index): one for one in chosen}.values()))

    def _section(self, task: AgentTask, hit: SectionHit, others: Sequence[SectionHit]) -> Draft | None:
        """One part of a section, and further questions below it."""
        opening = self._opening(task, hit, task.message)
        if opening is None:
            return None
        if opening.passage.ask is not None:
            return Draft(reply=self._ask_first(opening.passage.ask), fixed=True)
        drafted = self._quote(task, self._from(opening))
        return replace(drafted, offers=self.guide.offers(others, task.language, most=FURTHER))

    def _opening(self, task: AgentTask, hit: SectionHit, message: str) -> Quotation | None:
        """Where to begin in a section: its first passage that was not shown, or one that answers much more of the message."""
        passages = [one for one in hit.source.passages if one.section == hit.section.id]
        shown = [one.content for one in task.earlier]
        fresh = [one for one in passages if not already_shown(one, shown)] or passages
        if not fresh:
            return None
        fits = [shared(message, f"{one.heading} {one.text}", task.language) for one in fresh]
        best = max(range(len(fresh)), key=fits.__getitem__)
        chosen = fresh[best] if fits[best] >= fits[0] + BETTER_FIT else fresh[0]
        return Quotation(source=hit.source, passage=chosen)

    def _from(self, opening: Quotation) -> list[Quotation]:
        """A passage and what follows it in its section, as much as one reply holds."""
        chosen = [opening]
        for passage in opening.source.passages[opening.passage.index + 1 :]:
            following = Quotation(source=opening.source, passage=passage)
            same = passage.section == opening.passage.section and passage.ask is None
            if not same or _words([*chosen, following]) > self.words:
                break
            chosen.append(following)
        return chosen

    def _tapped(self, task: AgentTask, source_id: str, section_id: str) -> Draft:
        """A question that was tapped, answered from its own section."""
        if source_id == SERVICE:
            return self._decline(task)  # answered before any agent is asked
        source = self.knowledge.get(source_id)
        section = None if source is None else next((one for one in source.sections if one.id == section_id), None)
        if source is None or section is None:
            return self._decline(task)
        language = task.language
        others = self.guide.understand(task.message, task.earlier, language).hits
        hit = SectionHit(source=source, section=section, share=1.0)
        rest = [one for one in others if (one.source.id, one.section.id) != (source_id, section_id)]
        drafted = self._section(replace(task, message=section.heading), hit, rest)
        return drafted or self._decline(task)

    def _quote(self, task: AgentTask, chosen: Sequence[Quotation]) -> Draft:
        text = "\n\n".join(_plain(one.passage) for one in chosen)
        citations = tuple(dict.fromkeys(one.source.id for one in chosen))
        shown = (*(one.content for one in task.earlier), text)
        more = any(
            passage.ask is None and not already_shown(passage, shown)
            for source in self.knowledge.pick(citations)
            for passage in source.passages
        )
        handoff = self._handoff(task)
        offer = f"\n\n{self.texts.next_part}" if more and handoff is None else ""
        media = tuple(
            file
            for source in self.knowledge.pick(citations)
            for file in source.shown_files()
            if file in self.knowledge.media and not any(citations[0] in one.citations for one in task.earlier)
        )[:1]
        return Draft(reply=text + offer, citations=citations, basis=Basis.SOURCE, media=media, handoff=handoff)

    def _ask_first(self, topic: str) -> str:
        return self.texts.ask_first.format(topic=topic)

    def _asked_first(self, task: AgentTask) -> Quotation | None:
        """The passage the person has just agreed to see."""
        last = _last(task.earlier)
        if last is None or not agrees(task.message, self.texts.agreeing):
            return None
        for source in self.knowledge.sources.values():
            for passage in source.passages:
                if passage.ask is not None and self._ask_first(passage.ask) in last.content:
                    return Quotation(source=source, passage=passage)
        return None

    def _handoff(self, task: AgentTask) -> str | None:
        said = f" {' '.join(fold(task.message).split())} "
        for handoff in task.assistant.handoffs:
            if any(fold(term) in said for term in handoff.terms):
                return handoff.to
        return None

    def _decline(self, task: AgentTask) -> Draft:
        if task.urgency is not UrgencyLevel.NONE:  # "I have no text on that" would be cold
            return Draft(reply=self.texts.asking(task.danger, task.emergency), fixed=True)
        other = self._handoff(task) or next((one.to for one in task.assistant.handoffs if one.when_declined), None)
        if other is not None:
            return Draft(reply=self.texts.decline_here, handoff=other, fixed=True)
        if task.language != self.knowledge.language:
            return Draft(reply=self.guide.said(task.language).declined, fixed=True, lost=True)
        return Draft(
            reply=self.texts.decline.format(topics=topic_list(task.assistant, self.texts)), fixed=True, lost=True
        )

    def _cited(self, task: AgentTask) -> tuple[Source, ...]:
        last = next((one for one in reversed(task.earlier) if one.role is Role.ASSISTANT and one.citations), None)
        return () if last is None else self.knowledge.pick(last.citations)

    def _reworked(self, task: AgentTask) -> Draft:
        if task.wish is Wish.MORE:
            return self._next_part(task)
        last, sources = _last(task.earlier), self._cited(task)
        if last is None or not sources:
            return Draft(reply=self.texts.nothing_to_rework, fixed=True)
        if task.wish is Wish.EXAMPLE:
            return self._example(last, sources)
        kept = _shortest(last.content, sources, simpler=task.wish is Wish.SIMPLER)
        if squash(kept) == squash(last.content) or not kept:
            return Draft(reply=self.texts.no_simpler, fixed=True)
        cited = tuple(source.id for source in sources)
        return Draft(reply=kept, citations=cited, basis=Basis.SOURCE)

    def _example(self, last: Message, sources: Sequence[Source]) -> Draft:
        for source in sources:
            for passage in source.passages:
                for sentence in sentences(passage.text):
                    shown = squash(sentence) in squash(last.content)
                    if passage.ask is None and not shown and _gives_example(sentence):
                        return Draft(reply=sentence, citations=(source.id,), basis=Basis.SOURCE)
        return Draft(reply=self.texts.no_example, fixed=True)

    def _next_part(self, task: AgentTask) -> Draft:
        sources = self._cited(task)
        if not sources:
            return Draft(reply=self.texts.nothing_to_rework, fixed=True)
        shown = [one.content for one in task.earlier]
        for source in sources:
            rest = [one for one in source.passages if not already_shown(one, shown)]
            if rest and rest[0].ask is not None:
                return Draft(reply=self._ask_first(rest[0].ask), fixed=True)
            if rest:
                chosen = [Quotation(source=source, passage=rest[0])]
                for passage in rest[1:2]:
                    after = Quotation(source=source, passage=passage)
                    if passage.ask is None and _words([*chosen, after]) <= self.words:
                        chosen.append(after)
                return self._quote(task, chosen)
        return Draft(reply=self.texts.no_more.format(title=sources[0].title), fixed=True)


def _parts(task: AgentTask) -> list[str]:
    """The things that are asked; what the last draft left out must not be the one that there is no room for."""
    parts = [part.text for part in split(task.message) if part.asks] or [task.message]
    answered = [part for part in parts if not any(one.endswith(part) for one in task.missing)]
    return [*answered[: PARTS - 1], *task.missing] if task.missing else parts


def _plain(passage: Passage) -> str:
    """A passage as plain text: no emphasis marks, and its heading where a list would begin without a word."""
    text = _EMPHASIS.sub(r"\2", passage.text)
    return f"{passage.heading}:\n{text}" if passage.heading and text.startswith(("- ", "* ")) else text


def _last(earlier: Sequence[Message]) -> Message | None:
    return next((one for one in reversed(earlier) if one.role is Role.ASSISTANT), None)


def _words(chosen: Sequence[Quotation]) -> int:
    return sum(len(one.passage.text.split()) for one in chosen)


def _gives_example(sentence: str) -> bool:
    plain = fold(sentence)
    return any(sign in plain for sign in ("for example", "for instance", "such as", "e.g."))


def _shortest(reply: str, sources: Sequence[Source], *, simpler: bool) -> str:
    """The opening of the last quotation: its first sentence; for `simpler`, its first easy sentences, three at most."""
    quoted = squash(" ".join(source.text for source in sources))
    own = [one for one in sentences(reply) if squash(one) in quoted and one.endswith((".", "!", "…"))]
    if not simpler:
        return own[0] if own else ""
    easy = [one for one in own if grade(one) <= EASY_GRADE and len(one.split()) <= EASY_WORDS]
    return " ".join((easy or own[:1])[:3])
