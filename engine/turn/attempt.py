"""One team's attempt at a turn: retrieve, draft, check, filter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from engine.agent.protocol import AgentTask
from engine.exceptions import ModelError, ModelOutputError
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.reflection.turn_reflections import TurnReflections
from engine.retrieval.embedding import DEPTH
from engine.retrieval.protocol import Hit
from engine.retrieval.questions import split
from engine.steps import StepName, step
from engine.turn.checks import cleaned
from engine.turn.conversation import follow_up, recent, window, without_welcome
from engine.turn.filter import Filter, Filtered
from engine.turn.team import Assistant, Team
from engine.types import Conversation, Draft, Help, Outcome, Urgency, UrgencyLevel, Wish
from engine.urgency.danger import help_due

CUT_OFF = "The last answer was cut off or not in the form asked for. Write a shorter one, in the exact form."
INCOMPLETE = "It left out part of what was asked; answer that too, or say that the sources do not. Left out: "
ANOTHER_SOURCE = "This draft is about one source: it cites that one and no other."
SHOWN_ABOVE = "A plea not to act is no order here. This is shown above the reply, so that it need not say it: "
STANDS_ALONE_FROM = 0.6
"""From this score on a search result stands without the question before it."""
NEARLY_AS_GOOD = 0.8
"""A further source comes into context only if it fits nearly as well as the best: each costs some hundred tokens."""
NOTHING = Filtered(outcome=Outcome.FALLBACK, draft=None, stages=())


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnRequest:
    """What a person wants of a turn: words, or the last answer in another form, or a section that they tapped.

    `facts`: what is true of the service, where the words seem to ask for it. `above`: the referral that is shown above a reaction
    to them. `emergency`: whom to call in an emergency of the kind that they seem to tell of.
    """

    text: str
    wish: Wish = Wish.ANSWER
    section: tuple[str, str] | None = None
    language: str = "en"
    facts: str = ""
    above: str = ""
    emergency: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A reply on its way: what was filtered, by whom, from which sources."""

    filtered: Filtered
    team: Team
    in_context: tuple[str, ...]
    failed_checks: tuple[str, ...] = ()
    outage: str | None = None
    reflected: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One team's attempt at one turn: retrieve, draft, check, filter."""

    filter: Filter
    team: Team
    ledger: Ledger

    @property
    def assistant(self) -> Assistant:
        """Whose team it is."""
        return self.filter.assistant

    async def answer(self, conversation: Conversation, asked: TurnRequest, urgency: Urgency) -> Answer:
        """Raises ModelError when the team's agent cannot be used."""
        text, wish = asked.text, asked.wish
        reflecting = TurnReflections(
            reflections=self.team.reflections, assistant=self.assistant.settings, ledger=self.ledger
        )
        task = await self._task(conversation, asked, urgency, reflecting)
        draft, task, failed = await self._drafted(task)
        if draft is not None and wish is Wish.ANSWER:
            draft, task = await self._completed(draft, task, reflecting)
        answer = Answer(
            filtered=NOTHING,
            team=self.team,
            in_context=tuple(source.id for source in task.sources),
            failed_checks=failed,
            reflected=tuple(reflecting.noted),
        )
        if draft is None:
            return answer
        if draft.fixed and self.team.built_in:
            return replace(answer, filtered=Filtered(outcome=Outcome.FIXED, draft=draft, stages=()))
        case = self.filter.case(
            draft,
            text,
            earlier=task.earlier,
            delusional_framing=task.delusional_framing,
            facts=f"{SHOWN_ABOVE}{task.above}" if task.above else task.facts,
        )
        filtered = await self.filter.run(case, self.team, lambda one: self._failed(task, one), self.ledger)
        return replace(answer, filtered=filtered)

    async def about(self, source: Source, question: str) -> Draft | None:
        """A draft that presents one source and cites no other, if the judges let it pass.

        Raises ModelError when the team's agent cannot be used.
        """
        task = AgentTask(
            assistant=self.assistant.settings,
            message=question,
            sources=(source,),
            suggested=(Hit(source=source.id, score=1.0),),
            high_stakes=self.filter.high_stakes(question),
            may_request=False,
        )

        def failed(draft: Draft) -> tuple[str, ...]:
            return (ANOTHER_SOURCE,) if draft.citations != (source.id,) else self._failed(task, draft)

        draft = cleaned(await self.team.agent.draft(task, self.ledger))
        if failed(draft):
            return None
        return (await self.filter.run(self.filter.case(draft, question), self.team, failed, self.ledger)).draft

    async def _task(
        self, conversation: Conversation, asked: TurnRequest, urgency: Urgency, reflecting: TurnReflections
    ) -> AgentTask:
        text, wish = asked.text, asked.wish
        settings, knowledge = self.assistant.settings, self.assistant.knowledge
        found: tuple[Hit, ...] = ()
        if wish is Wish.ANSWER and not self.team.built_in and await reflecting.needed(text, conversation.messages):
            found = await self._found(conversation, text)
            found = await reflecting.relevant(text, found, knowledge, partial(self._found, conversation))
        whole = settings.context == "whole" and not self.team.built_in
        ids = (
            tuple(knowledge.sources) if whole else window(conversation, (hit.source for hit in found), settings.limits)
        )
        contacts = self._contacts_alone(conversation, urgency)
        return AgentTask(
            assistant=settings,
            message=text,
            wish=wish,
            earlier=recent(without_welcome(conversation.messages, settings.welcome), settings.limits.history_tokens),
            sources=knowledge.pick(ids),
            suggested=found,
            reminders=conversation.reminders if self.filter.plan.reminders else (),
            high_stakes=self.filter.high_stakes(text),
            delusional_framing=urgency.delusional_framing,
            belief_likely=urgency.belief_likely,
            urgency=UrgencyLevel.NONE if contacts else urgency.level,
            faint=urgency.faint,
            danger=urgency.kind,
            danger_told=conversation.danger.told is not None,
            contacts=contacts,
            may_request=settings.limits.source_requests > 0 and not asked.above,
            section=asked.section,
            language=asked.language,
            facts=asked.facts,
            above=asked.above,
            emergency=asked.emergency,
        )

    def _contacts_alone(self, conversation: Conversation, urgency: Urgency) -> bool:
        """Whether contacts will stand below the usual answer, so that the agent is told of no danger."""
        if self.team.built_in:
            return help_due(conversation.danger, urgency) is Help.LINE
        return urgency.faint and not urgency.heavy

    async def _found(self, conversation: Conversation, text: str) -> tuple[Hit, ...]:
        """The candidates of a search: the configured number, one more when the message asks several things.

        A short message that finds nothing sure by itself is read together with the question before it. Where texts
        are embedded, the ranking by words is fused with the one by meaning.
        """
        parts = len(split(text))
        wanted = self.assistant.settings.limits.prefetch_sources + (parts > 1)
        embedded = None if self.team.built_in else self.assistant.embedded
        search, depth = self.assistant.retriever.search, wanted if embedded is None else max(wanted, DEPTH)
        with step(StepName.SEARCH):
            asked, hits = text, search(text, top=depth)
            together = follow_up(conversation.messages, text)
            if together is not None and (not hits or hits[0].score < STANDS_ALONE_FROM):
                again = search(together, top=depth)
                # Where words find nothing either way, meaning has more to go by with the question before it.
                asked, hits = (together, again) if again or not hits else (asked, hits)
            if embedded is not None:
                hits = await embedded.fused(asked, hits, self.ledger, top=wanted)
        if parts <= 1:
            hits = tuple(hit for hit in hits if hit.score >= NEARLY_AS_GOOD * hits[0].score)
        return hits

    async def _drafted(self, task: AgentTask) -> tuple[Draft | None, AgentTask, tuple[str, ...]]:
        """Drafts until one passes the code checks; sources it asks for are added once, retries are bounded."""
        failed: tuple[str, ...] = ()
        retries = self.assistant.settings.limits.check_retries
        while True:
            try:
                with step(StepName.DRAFT):
                    draft = cleaned(await self.team.agent.draft(task, self.ledger))
            except ModelOutputError:
                if retries == 0:
                    raise
                retries, task = retries - 1, replace(task, objection=CUT_OFF)
                continue
            wanted = self._wanted(task, draft)
            if wanted:
                task = replace(task, sources=self._with(task, wanted), requested=wanted, may_request=False)
                continue
            task = replace(task, may_request=False) if draft.requested_sources else task
            if self.team.built_in:  # it has all sources at hand
                task = replace(task, sources=self._with(task, draft.citations))
            reasons = self._failed(task, draft)
            if not reasons:
                return draft, task, failed
            failed = (*failed, *reasons)
            if retries == 0:
                return None, task, failed
            retries, task = retries - 1, replace(task, objection=" ".join(reasons))

    async def _completed(self, draft: Draft, task: AgentTask, reflecting: TurnReflections) -> tuple[Draft, AgentTask]:
        """The draft, or one more that also answers what it left out; where that fails, the draft as it was."""
        missing = await reflecting.missing(task.message, draft, self.assistant.knowledge)
        if not missing:
            return draft, task
        hits = tuple(hit for one in missing for hit in self.assistant.retriever.search(one, top=1))
        added = tuple(hit.source for hit in hits)
        suggested = {hit.source: hit for hit in (*hits, *task.suggested)}
        again = replace(
            task,
            sources=self._with(task, (*draft.citations, *added)),
            suggested=tuple(suggested.values()),
            requested=added,
            missing=missing,
            objection=INCOMPLETE + " ".join(missing),
            may_request=False,
        )
        try:
            second, again, _ = await self._drafted(again)
        except ModelError:
            second = None
        # A second draft without a source would answer less than the first one.
        return (draft, task) if second is None or (draft.citations and not second.citations) else (second, again)

    def _wanted(self, task: AgentTask, draft: Draft) -> tuple[str, ...]:
        """The sources a draft asks for that it has not seen in full; only the first in context is sure to be whole."""
        if not task.may_request or task.assistant.context == "whole":
            return ()
        whole = {*task.requested, *(source.id for source in task.sources[:1])}
        known = (one for one in draft.requested_sources if one in self.assistant.knowledge.sources)
        return tuple(one for one in known if one not in whole)[: task.assistant.limits.source_requests]

    def _with(self, task: AgentTask, wanted: tuple[str, ...]) -> tuple[Source, ...]:
        ids = dict.fromkeys((*wanted, *(source.id for source in task.sources)))
        return self.assistant.knowledge.pick(tuple(ids)[: task.assistant.limits.window_sources])

    def _failed(self, task: AgentTask, draft: Draft) -> tuple[str, ...]:
        in_context = tuple(source.id for source in task.sources)
        # Whom to call is told in fixed words, and only there without a source.
        facts = f"{task.facts}\n{task.emergency}" if draft.fixed and self.team.built_in else task.facts
        return self.filter.failed(draft, task.message, in_context, earlier=task.earlier, facts=facts)
