"""The built-in agent: answers by quoting the best passages, with their source, and declines where nothing fits.

It needs no network and no key. It takes over when the model cannot be reached, and it is what runs first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.agent.passages import PassageRanking, Quotation, already_shown
from engine.agent.protocol import AgentTask
from engine.agent.smalltalk import SmallTalk, topic_list
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Passage, Source
from engine.language.sayings import agrees
from engine.language.text import fold, grade, sentences, squash
from engine.models.ledger import Ledger
from engine.retrieval.questions import asks, split
from engine.texts import Texts
from engine.types import Basis, Draft, Message, Role, UrgencyLevel, Wish
from engine.urgency.person import about_another

LEAST_FIT, STRONG_HIT = 0.2, 0.75
"""A passage that shares less than this of the message is quoted only where the search was sure of its source."""
WELL_FIT = 0.5
"""So much of a message that may tell of danger must be in a passage that is quoted with the check question."""
PARTS = 2
"""How many things that are asked at once get a passage each."""
SECOND = 0.75
"""How well a second passage must fit beside the best one."""
SURE = 0.95
"""A source that the search scored so high beside the first one may lead the second of two questions."""
_EMPHASIS = re.compile(r"(\*{1,2}|_{1,2})(?=\S)([^*_\n]+?)(?<=\S)\1")
EASY_GRADE, EASY_WORDS = 6.0, 16
"""Up to here a sentence counts as easy: Flesch-Kincaid grade, and words."""


@dataclass(frozen=True, kw_only=True)
class QuotingAgent:
    """Quotes. `words` is how much of the sources one reply may hold."""

    knowledge: KnowledgeBase
    texts: Texts
    ranking: PassageRanking
    words: int = 110

    async def draft(self, task: AgentTask, ledger: Ledger) -> Draft:
        """Quote, rework the last quotation, go on with it, or decline; never calls a model."""
        if task.wish is not Wish.ANSWER:
            return self._reworked(task)
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
        scores = {hit.source: hit.score for hit in task.suggested}
        found = [one for one in task.sources if one.id in scores]
        return self._answer(task, found, scores) if found else self._decline(task)

    def _not_for_sources(self, task: AgentTask) -> str | None:
        """What no quotation should answer: a belief stated as fact, and questions about the person alone.

        A text on delusions, quoted at somebody who has just told of one, would argue with them; for somebody who tells
        of another's, it is what they came for.
        """
        if task.delusional_framing or agrees(task.message, self.texts.belief_questions):
            return self.texts.belief
        if agrees(task.message, self.texts.personal_questions):
            return self.texts.cannot_know
        if self.texts.sayings.secrecy.fits(task.message):
            return self.texts.secrecy
        return None

    def _answer(self, task: AgentTask, found: Sequence[Source], scores: Mapping[str, float]) -> Draft:
        """The best passage for each thing that is asked; for a single thing, a second one that fits as well."""
        rankings = self._rankings(task, found, scores)
        best = rankings[0][0]
        if best.fit < LEAST_FIT and scores[best.source.id] < STRONG_HIT:
            return self._decline(task)  # the search found a word, but no passage is about it
        if task.urgency is not UrgencyLevel.NONE and (best.fit < WELL_FIT or not asks(task.message)):
            return self._decline(task)  # somebody tells, and a passage would talk past them
        if best.passage.ask is not None:
            return Draft(reply=self._ask_first(best.passage.ask), fixed=True)
        chosen = [best]
        others = rankings[0][1:] if len(rankings) == 1 else [ranking[0] for ranking in rankings[1:]]
        for other in others:
            fits = len(rankings) > 1 or (other.source is best.source and other.score >= SECOND * best.score)
            room = _words([*chosen, other]) <= self.words * len(rankings)
            new = all((one.source.id, one.passage.index) != (other.source.id, other.passage.index) for one in chosen)
            if fits and room and other.passage.ask is None and new and len(chosen) < PARTS:
                chosen.append(other)
        return self._quote(task, sorted(chosen, key=lambda one: (found.index(one.source), one.passage.index)))

    def _rankings(self, task: AgentTask, found: Sequence[Source], scores: Mapping[str, float]) -> list[list[Quotation]]:
        """The passages for each thing that is asked; for what the last draft left out, of the sources added for it."""
        added = [one for one in found if one.id in task.requested] or found
        headed = self.texts.for_relatives if about_another(task.message) else ()
        rankings = []
        for number, part in enumerate(_parts(task)[:PARTS]):
            sources = added if part in task.missing else found
            if number:  # the search puts first what fits the whole message; this question may be about another source
                sure = [one for one in sources[1:] if scores[one.id] >= SURE]
                leading = self.ranking.ordered(part, [*sure, sources[0]]) if sure else []
                sources = [*leading, *(one for one in sources if one not in leading)]
            rankings.append(self.ranking.rank(part, sources, trust={} if number else scores, headed=headed))
        return rankings

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
                    return Quotation(source=source, passage=passage, score=1.0)
        return None

    def _handoff(self, task: AgentTask) -> str | None:
        said = f" {' '.join(fold(task.message).split())} "
        for handoff in task.assistant.handoffs:
            if any(fold(term) in said for term in handoff.terms):
                return handoff.to
        return None

    def _decline(self, task: AgentTask) -> Draft:
        if task.urgency is not UrgencyLevel.NONE:  # "my sources do not answer that" would be cold
            return Draft(reply=self.texts.distress, fixed=True)
        other = self._handoff(task) or next((one.to for one in task.assistant.handoffs if one.when_declined), None)
        if other is not None:
            return Draft(reply=self.texts.decline_here, handoff=other, fixed=True)
        return Draft(reply=self.texts.decline.format(topics=topic_list(task.assistant)), fixed=True)

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
                chosen = [Quotation(source=source, passage=rest[0], score=1.0)]
                for passage in rest[1:2]:
                    after = Quotation(source=source, passage=passage, score=1.0)
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
