"""One turn of conversation: clean, urgency, retrieve, draft, check, filter, remember.

The engine is stateless: a conversation and a message go in, a reply and the next conversation come out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from engine.agent.kinds import MessageKind
from engine.agent.passages import already_shown
from engine.agent.service import FACTS, SERVICE, SOCIAL, Live, LiveFacts, Service
from engine.agent.smalltalk import topic_list
from engine.exceptions import CafiError, ModelError
from engine.knowledge.dangers import FirstAid
from engine.knowledge.source import Source
from engine.language.message_language import LanguageDetector
from engine.language.sayings import agrees
from engine.language.text import clean
from engine.memo import one_turn
from engine.models.ledger import Ledger
from engine.settings import Budget, Price
from engine.stakes import Stakes
from engine.steps import StepName, step
from engine.turn.attempt import NOTHING, Answer, Attempt, TurnRequest
from engine.turn.conversation import remember, without_welcome
from engine.turn.filter import WHOLE, Filter, Filtered, FilterPlan
from engine.turn.team import Assistant, Team
from engine.types import (
    Basis,
    Conversation,
    Danger,
    DangerAnswer,
    Decision,
    Draft,
    HandoffOffer,
    Help,
    Judgement,
    Kind,
    LayerResult,
    Message,
    Outcome,
    Reply,
    Review,
    Role,
    StageRecord,
    Turn,
    Urgency,
    UrgencyLevel,
    Wish,
)
from engine.urgency.danger import (
    after,
    answered,
    answers_open,
    continued,
    denied_in_passing,
    help_due,
    question_open,
    suspected,
    told_again,
    weighed,
)
from engine.urgency.person import PersonInDanger, about_another, about_self
from engine.urgency.protocol import FastLayer, UrgencyLayer
from engine.urgency.referral import Referral, Referrals
from engine.urgency.resolution import ResolutionClassifier
from engine.urgency.response import CheckResponse, ResponseClassifier

FRESH = (0, 1, 2)
"""Turns since danger was told in which nobody who goes on telling is asked which question they mean."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Answers messages. `fast_layers` read every message before anything else runs.

    `service`: what is answered of the service itself, None for nothing. `resolution`: what tells that a danger is being dealt
    with, None where nothing does. `responses`: what reads what is typed in place of an answer to the check question, None where
    nothing does. `person`: what tells who is in danger, None for words alone.
    `plan`: the whole filter; only measurements of the filter run with less.
    """

    assistants: Mapping[str, Assistant]
    default: str
    fast_layers: tuple[FastLayer, ...]
    referrals: Referrals
    stakes: Stakes
    budget: Budget = field(default_factory=Budget)
    prices: Mapping[str, Price] | None = None
    plan: FilterPlan = WHOLE
    service: Service | None = None
    resolution: ResolutionClassifier | None = None
    responses: ResponseClassifier | None = None
    person: PersonInDanger | None = None
    detector: LanguageDetector = field(default_factory=LanguageDetector)

    def start(self, assistant: str | None = None) -> Conversation:
        """A new conversation, with the assistant's welcome as its first message."""
        chosen = self.assistants[assistant or self.default]
        welcome = Message(role=Role.ASSISTANT, content=chosen.settings.welcome.strip())
        return Conversation(assistant=chosen.settings.id, messages=(welcome,))

    def resumed(self, earlier: Iterable[Message], assistant: str | None = None) -> Conversation:
        """A conversation of messages that somebody else has kept, with what was told of danger in it."""
        begun, said = self.start(assistant), tuple(earlier)
        with one_turn():
            return replace(begun, messages=(*begun.messages, *said), danger=self._danger_after(said, self.fast_layers))

    def assess_now(self, conversation: Conversation, message: str) -> Urgency:
        """What the fast layers see in a message, in milliseconds and without a model."""
        with one_turn():
            text = clean(message).text
            found = self._heard(text, conversation.messages, self.fast_layers)
            return self._after_question(conversation.danger, found, text, conversation.messages)

    def _another(self, text: str, earlier: Sequence[Message]) -> bool:
        return about_another(text) if self.person is None else self.person.another(text, earlier)

    async def assess(
        self, message: str, earlier: tuple[Message, ...] = (), layers: Collection[str] | None = None
    ) -> tuple[Urgency, Help]:
        """What the layers see in a message and what of help it gets, without answering it; no layer is hurried.

        `layers`: the names of those that count, all for None. What was told and asked in the turns before is worked out by
        the fast ones.
        """
        counted = [one for one in self.fast_layers if layers is None or one.name in layers]
        danger = self._danger_after(earlier, counted)
        text, ledger = clean(message).text, Ledger(budget=self.budget)
        slow = [
            layer
            for team in self.assistants[self.default].teams
            for layer in team.urgency
            if layers is None or layer.name in layers
        ]
        found = await asyncio.gather(*(layer.assess(text, earlier, ledger) for layer in slow))
        urgency = Urgency.of((*(layer.assess_now(text, earlier) for layer in counted), *found))
        urgency = self._after_question(danger, urgency, text, earlier)
        return urgency, self._due(danger, text, urgency, earlier)[1]

    @staticmethod
    def _heard(text: str, earlier: Sequence[Message], layers: Sequence[FastLayer]) -> Urgency:
        return Urgency.of(layer.assess_now(text, tuple(earlier)) for layer in layers)

    def _response(self, danger: Danger, text: str, earlier: Sequence[Message]) -> CheckResponse:
        """What a message says to a check question that stands unanswered, or to a referral of which nobody was sure."""
        if self.responses is None or not (question_open(danger) or suspected(danger)):
            return CheckResponse()
        return self.responses.of(text, earlier)

    def _after_question(self, danger: Danger, urgency: Urgency, text: str, earlier: Sequence[Message]) -> Urgency:
        """What is found in a message, once it is read as what was typed in place of an answer to the check question, and as what
        goes on about the danger before it."""
        if urgency.decided:
            return urgency
        found = weighed(danger, urgency, self._response(danger, text, earlier))
        if found.level is UrgencyLevel.NONE:
            return found
        found = replace(found, another=self._another(text, earlier))
        return found if danger.another and about_self(text) else continued(danger, found)

    def _denied(self, danger: Danger, text: str, urgency: Urgency, earlier: Sequence[Message]) -> bool:
        """Whether a message says no to the check question that was asked just before; of what is sure only a plain one counts."""
        if danger.asked != 0:
            return False
        return self.referrals.denies(text) or (not urgency.sure and self._response(danger, text, earlier).denies)

    def _resolved(self, danger: Danger, text: str, urgency: Urgency, earlier: Sequence[Message]) -> bool:
        """Whether a message says that the danger that was told or asked about before it is being dealt with, or was none.

        Where somebody was only asked, what sounds like danger must say so plainly, and a plain yes just after it ("she did,
        the box is empty") never does: nobody has told them yet whom to call.
        """
        response = self._response(danger, text, earlier)
        if response.danger and danger.asked == 0:
            return False
        if response.calm and suspected(danger) and danger.kind is not Kind.MEDICAL:
            return True
        if self.resolution is None or (danger.told is None and danger.asked is None):
            return False
        sounds = urgency.level is not UrgencyLevel.NONE and not urgency.faint
        return self.resolution.resolved(text, earlier, plainly=sounds and danger.told is None)

    def _due(self, danger: Danger, text: str, urgency: Urgency, earlier: Sequence[Message]) -> tuple[Danger, Help]:
        """What of help a message gets, and what was remembered before it with a no in its first words."""
        denied = self._denied(danger, text, urgency, earlier)
        before = denied_in_passing(danger, urgency) if denied else danger
        resolved = self._resolved(before, text, urgency, earlier)
        return before, help_due(before, urgency, denied=denied, resolved=resolved)

    def _danger_after(self, earlier: Sequence[Message], layers: Sequence[FastLayer]) -> Danger:
        danger = Danger()
        for number, one in enumerate(earlier):
            if one.role is Role.USER:
                before = earlier[:number]
                found = self._after_question(danger, self._heard(one.content, before, layers), one.content, before)
                danger, due = self._due(danger, one.content, found, before)
                danger = after(danger, due, found, one.content)
        return danger

    async def respond(
        self,
        conversation: Conversation,
        message: str,
        *,
        wish: Wish = Wish.ANSWER,
        section: tuple[str, str] | None = None,
        language: str | None = None,
        usual: str | None = None,
        said_safe: bool = False,
        built_in: bool = False,
        seen: Urgency | None = None,
        referral: Referral | None = None,
        live: Live | None = None,
    ) -> Turn:
        """One turn. Raises nothing for anything a person or a model writes.

        `section`: the source and section of a question that was tapped; it is answered from there, by quotation.
        `language`: that of a question that was tapped; None where it is to be read off the message. `usual`: that of the
        chat, for messages that do not show theirs; None for that of the texts.
        `live`: what is true where the person writes, of questions about the service.
        `said_safe`: the person has said that the message was a question and they are safe. It is then answered, with the
        contacts below. `built_in`: no language model is asked. `seen`: what `assess_now` has found in this message, so that
        it is not read twice. `referral`: for this person's country and language; the operator's country and the message's
        language where none is given.
        """
        with one_turn():
            return await self._respond(
                conversation,
                message,
                wish,
                seen,
                referral,
                section=section,
                language=language,
                usual=usual,
                said_safe=said_safe,
                built_in=built_in or section is not None,
                live=live,
            )

    async def _respond(
        self,
        conversation: Conversation,
        message: str,
        wish: Wish,
        seen: Urgency | None,
        referral: Referral | None,
        *,
        section: tuple[str, str] | None,
        language: str | None,
        usual: str | None,
        said_safe: bool,
        built_in: bool,
        live: Live | None,
    ) -> Turn:
        assistant = self.assistants.get(conversation.assistant) or self.assistants[self.default]
        conversation = replace(conversation, assistant=assistant.settings.id)
        cleaned = clean(message, limit=assistant.settings.limits.message_characters)
        said = cleaned.text if wish is Wish.ANSWER else ""
        language = language or self.detector.of(said, conversation.messages, usual)
        assistant = assistant.speaking(language)
        referral = referral or self.referrals.choose(None, language)
        text = said if wish is Wish.ANSWER else assistant.texts.wishes[wish.value]
        if wish is Wish.ANSWER and cleaned.wordless:
            words = assistant.texts.wordless if cleaned.text else assistant.texts.empty
            return self._fixed(conversation, assistant, text, words)
        reads = wish is Wish.ANSWER and section is None and not said_safe
        if reads:
            answer_open = self.referrals.answer(text, *answers_open(conversation.danger))
            if answer_open is not None:
                return await self.answered(conversation, answer_open, built_in=built_in, referral=referral, said=text)
        urgency = (seen or self.assess_now(conversation, text)) if reads else Urgency()
        if urgency.level is UrgencyLevel.URGENT:
            return self._referred(conversation, assistant, text, urgency, referral)
        denied = reads and self._denied(conversation.danger, text, urgency, conversation.messages)
        if denied:
            conversation = replace(conversation, danger=denied_in_passing(conversation.danger, urgency))
        if conversation.offer is not None and section is None:
            handed = await self._handoff(conversation, assistant, conversation.offer, text, language, referral)
            if handed is not None:
                return handed
        if agrees(text, assistant.texts.origin_questions):
            return self._origin(conversation, assistant, text, urgency)
        ledger = Ledger(budget=self.budget)
        if built_in:
            assistant = replace(assistant, teams=tuple(team for team in assistant.teams if team.built_in))
        whom = referral.emergency(urgency.kind)
        asked = TurnRequest(text=text, wish=wish, section=section, language=language, emergency=whom)
        here = LiveFacts(
            condition=assistant.settings.condition_told,
            emergency=referral.emergency(),
            contacts=referral.brief(),
            live=live,
        )
        asked = replace(asked, facts=self._facts(conversation, assistant, asked, here))
        told = self._about_service(conversation, assistant, asked, here)
        answer, urgency = await _beside(
            self._answer(conversation, assistant, asked, urgency, ledger, told),
            self._slow_layers(conversation, assistant, text, urgency, ledger if reads else None),
            waits=told_again(conversation.danger),
        )
        due = _kept(conversation)
        resolved = (
            reads and not urgency.decided and self._resolved(conversation.danger, text, urgency, conversation.messages)
        )
        if reads or said_safe:
            due = Help.LINE if said_safe else help_due(conversation.danger, urgency, denied=denied, resolved=resolved)
        if answer is not None and due is Help.BRIEF and urgency.decided and _reacts(answer):
            return self._accompanied(conversation, assistant, text, answer, urgency, referral, ledger)
        calm = urgency.decided or urgency.faint or urgency.level is UrgencyLevel.NONE
        if told is not None and due is Help.BRIEF and calm and answer is not None and _reacts(told):
            return self._accompanied(conversation, assistant, text, told, urgency, referral, ledger)
        if answer is None or due.replaces:
            return self._referred(conversation, assistant, text, urgency, referral, ledger)
        open_still = due is Help.LINE and conversation.danger.told in FRESH and not urgency.decided
        fresh = resolved or (open_still and not _asks_meanwhile(conversation, assistant, asked))
        talks_past = due is Help.LINE and _may_talk_past(conversation, assistant, asked, urgency)
        leads_on = _quotes(answer) or (resolved and _only_offers(answer))
        if reads and told is None and answer.team.built_in and (talks_past or (fresh and not leads_on)):
            # Whoever does not say that it is over ("sorry", "i am driving there now") is not thanked as if it were.
            said = assistant.guide.taken_up(text, conversation.messages, asked.language) if resolved else ""
            words = referral.noted(said) if resolved else referral.noted_open()
            return self._acknowledged(conversation, assistant, text, urgency, words)
        withheld = due is Help.QUESTION and _only_offers(answer)
        if due is Help.QUESTION:
            first = assistant.guide.said(language).check_first if withheld else ""
            answer = _asking_nothing(answer, assistant.texts.next_part, first)
        below = _help_below(due, urgency, referral, text, said_safe=said_safe)
        if _in_the_original(assistant, answer.filtered.draft, asked.language):
            below = (assistant.guide.said(asked.language).own_language_only, *below)
        turn = self._turn(conversation, assistant, text, cleaned.truncated, answer, urgency, ledger, below)
        declined = _declined(conversation, assistant, asked, answer)
        held = due is Help.QUESTION and _kind_words(answer)
        danger = after(conversation.danger, due, urgency, text if held else "")
        conversation = replace(turn.conversation, danger=danger)
        # While the check question is open nothing else asks for a tap.
        offers = () if due is Help.QUESTION else turn.offers
        turn = replace(turn, conversation=conversation, help=due, offers=offers)
        return replace(turn, declined=declined, language=asked.language)

    def _acknowledged(
        self, conversation: Conversation, assistant: Assistant, text: str, urgency: Urgency, words: str
    ) -> Turn:
        """What is said to somebody who goes on telling while a danger is open: it stays so, with the contacts in view."""
        turn = self._fixed(conversation, assistant, text, words, urgency)
        danger = after(conversation.danger, Help.LINE, urgency, "")
        return replace(turn, help=Help.LINE, conversation=replace(turn.conversation, danger=danger))

    def _about_service(
        self, conversation: Conversation, assistant: Assistant, asked: TurnRequest, here: LiveFacts
    ) -> Answer | None:
        """What is true of the service, where that is asked, in fixed words."""
        if self.service is None or asked.wish is not Wish.ANSWER:
            return None
        if asked.section is not None:
            subject = asked.section[1] if asked.section[0] == SERVICE else ""
        elif not (asked.facts or assistant.teams[0].built_in or self.service.named(asked.text)):
            return None
        else:
            said = (asked.text, conversation.messages, asked.language)
            subject = self.service.subject(*said, lambda text: assistant.guide.likeness(text, asked.language))
        if subject not in self.service.here(asked.language).answers:
            return None
        if subject in SOCIAL and not assistant.teams[0].built_in:
            return None
        draft = Draft(reply=self.service.answer(subject, asked.language, here), fixed=True, service=subject)
        fixed = Filtered(outcome=Outcome.FIXED, draft=draft, stages=())
        return Answer(filtered=fixed, team=assistant.teams[-1], in_context=())

    def _facts(self, conversation: Conversation, assistant: Assistant, asked: TurnRequest, here: LiveFacts) -> str:
        """What is true of the service, for a language model, where that may be asked; it cannot know."""
        if self.service is None or asked.wish is not Wish.ANSWER or assistant.teams[0].built_in:
            return ""
        said = (asked.text, conversation.messages, asked.language)
        found = self.service.suspected(*said, lambda text: assistant.guide.likeness(text, asked.language))
        return "\n".join(self.service.answer(one, asked.language, here) for one in found)

    async def answered(
        self,
        conversation: Conversation,
        answer: DangerAnswer,
        *,
        built_in: bool = False,
        referral: Referral | None = None,
        said: str = "",
    ) -> Turn:
        """The turn after somebody has answered the check question, or said that they are safe, by a button or in words.

        `said`: their words. Who is safe, or says no, gets an answer to what the referral or the question stood in place of, if
        there is such a message.
        """
        referral = referral or self.referrals.choose()
        assistant = self._spoken(conversation, referral.language)
        before, asked = conversation.danger, said or getattr(referral.texts.buttons, answer.value)
        conversation = replace(conversation, danger=answered(before, answer))
        no_danger = answer is DangerAnswer.NO and before.told is None and before.asked is not None
        if (answer is DangerAnswer.SAFE or no_danger) and before.held:
            usual = referral.language
            return await self.respond(
                conversation, before.held, usual=usual, said_safe=True, built_in=built_in, referral=referral
            )
        if answer is DangerAnswer.NO and before.told is not None:  # they are not safe, or the button is an old one
            still = Urgency(level=UrgencyLevel.URGENT, kind=before.kind, another=before.another)
            return self._referred(conversation, assistant, asked, still, referral)
        if answer in {DangerAnswer.SAFE, DangerAnswer.NO}:
            words = referral.safe_noted() if answer is DangerAnswer.SAFE else referral.declined()
            return self._fixed(conversation, assistant, asked, words)
        another = answer is DangerAnswer.OTHER
        told = Urgency(level=UrgencyLevel.URGENT, kind=before.kind, another=another, entry=before.entry)
        words = referral.full(kind=before.kind, third_person=another, aid=_first_aid(assistant, told, referral))
        turn = self._fixed(conversation, assistant, asked, words, told)
        danger = after(before, Help.REFERRAL, told, "")
        remembered = replace(turn.conversation, danger=danger)
        return replace(turn, help=Help.REFERRAL, conversation=remembered, language=referral.language)

    def takes_up(self, referred: Turn) -> bool:
        """Whether a few words of a language model may follow a referral.

        A judge has read what it was shown for: explicit words are never answered by a model.
        """
        assistant = self._spoken(referred.conversation, referred.language)
        able = not assistant.teams[0].built_in and bool(assistant.settings.limits.reaction_seconds)
        return able and referred.help is Help.REFERRAL and referred.urgency.decided

    async def reaction(self, before: Conversation, message: str, referred: Turn) -> Turn | None:
        """The turn with a few words of a language model in place of its referral, shown below it.

        `before`: the conversation that `message` was said in, `referred` the turn that referred it. None where none may
        follow, and where no words that nobody doubted are there within `limits.reaction_seconds`.
        """
        if not self.takes_up(referred):
            return None
        with one_turn():
            return await self._reaction(before, message, referred)

    async def _reaction(self, before: Conversation, message: str, referred: Turn) -> Turn | None:
        assistant = self._spoken(before, referred.language)
        limits, ledger = assistant.settings.limits, Ledger(budget=self.budget)
        text = clean(message, limit=limits.message_characters).text
        asked = TurnRequest(text=text, language=referred.language, above=referred.reply.text)
        told = replace(before, assistant=assistant.settings.id, danger=referred.conversation.danger)
        passed = Filter(assistant=assistant, stakes=self.stakes, plan=self.plan)
        work = Attempt(filter=passed, team=assistant.teams[0], ledger=ledger)
        try:
            async with asyncio.timeout(limits.reaction_seconds):
                answer = await work.answer(told, asked, referred.urgency)
        except (TimeoutError, ModelError):
            return None
        draft = answer.filtered.draft
        if draft is None or not _reacts(answer):
            return None
        *earlier, last = referred.conversation.messages
        last = replace(last, content=f"{last.content}\n\n{draft.reply}", citations=draft.citations)
        return replace(
            referred,
            reply=Reply(text=draft.reply, citations=draft.citations, basis=draft.basis),
            help=Help.LINE,  # the contacts stand above
            conversation=replace(referred.conversation, messages=(*earlier, last)),
            review=Review(outcome=answer.filtered.outcome, stages=answer.filtered.stages),
            usage=ledger.usage(self.prices),
        )

    def _spoken(self, conversation: Conversation, language: str) -> Assistant:
        """The assistant of a conversation, in a language."""
        return (self.assistants.get(conversation.assistant) or self.assistants[self.default]).speaking(language)

    def filter(self, assistant: str | None = None, reply: str = "") -> Filter:
        """What drafts of an assistant pass; for who asks for one part of it. Raises KeyError for an unknown assistant.

        `reply`: one whose language says in which the sources are read.
        """
        chosen = self.assistants[assistant or self.default]
        chosen = chosen.speaking(self.detector.of(reply)) if reply else chosen
        return Filter(assistant=chosen, stakes=self.stakes, plan=self.plan)

    async def judge(
        self,
        draft: Draft | str,
        message: str,
        *,
        assistant: str | None = None,
        earlier: tuple[Message, ...] = (),
        delusional_framing: bool = False,
        in_context: tuple[str, ...] | None = None,
        sources: tuple[Source, ...] = (),
        teams: tuple[Team, ...] = (),
        budget: Budget | None = None,
        refine: bool = False,
    ) -> Judgement:
        """What the checks and the judges say of a reply to a message, whoever wrote it; nothing is remembered.

        Sources that it cites are read in the reply's language, where they are translated.
        A reply given as text cites `sources`, which stand in place of the assistant's own; nothing where there are none.
        `refine`: the refiner mends a rejected reply, and the judges read it once more. `in_context`: the ids of the
        sources its author was shown, the cited ones where nobody knows. `teams`: who judges in place of the
        assistant's own; the first whose judges can work decides. Raises KeyError for an assistant that is not there.
        """
        said = draft if isinstance(draft, str) else draft.reply
        work, ledger = self.filter(assistant, said), Ledger(budget=budget or self.budget)
        if sources:
            work = replace(work, assistant=replace(work.assistant, knowledge=work.assistant.knowledge.only(sources)))
        if isinstance(draft, str):
            cited = tuple(one.id for one in sources)
            draft = Draft(reply=draft, citations=cited, basis=Basis.SOURCE if cited else Basis.GENERAL)
        if failed := work.failed(draft, message, draft.citations if in_context is None else in_context):
            return Judgement(failed_checks=failed)
        case = work.case(draft, message, earlier=earlier, delusional_framing=delusional_framing)
        stages: tuple[StageRecord, ...] = ()
        refined: Draft | None = None
        for team in teams or work.assistant.teams:
            if refine:
                recheck = partial(work.failed, message=message, in_context=draft.citations, earlier=earlier)
                filtered = await work.run(case, team, recheck, ledger)
                stages = filtered.stages
                refined = filtered.draft if filtered.outcome is Outcome.REFINED else None
            else:
                stages = await work.judged(case, team, ledger)
            if stages and not stages[-1].broken:
                break
        return Judgement(stages=stages, refined=refined, usage=ledger.usage(self.prices))

    async def draft_about(self, source: Source, question: str, *, assistant: str | None = None) -> Draft | None:
        """What a language model makes of one source, if checks and judges let it pass; None where there is no such draft.

        `question` is what a person would ask about the source.
        """
        work = self.filter(assistant)
        for team in work.assistant.teams:
            if team.built_in:
                continue
            attempt = Attempt(filter=work, team=team, ledger=Ledger(budget=self.budget))
            with suppress(ModelError):
                if (draft := await attempt.about(source, question)) is not None:
                    return draft
        return None

    def _referred(
        self,
        conversation: Conversation,
        assistant: Assistant,
        text: str,
        urgency: Urgency,
        referral: Referral,
        ledger: Ledger | None = None,
    ) -> Turn:
        """The referral in place of an answer: whole, or one line where it was shown a moment ago."""
        due, another = help_due(conversation.danger, urgency), _third_person(conversation.danger, urgency, text)
        if due is Help.BRIEF:
            kind = Kind.MEDICAL if Kind.MEDICAL in {conversation.danger.kind, urgency.kind} else urgency.kind
            words = referral.repeated(kind=kind, third_person=another)
        else:
            aid = _first_aid(assistant, urgency, referral)
            words = referral.full(kind=urgency.kind, third_person=another, aid=aid)
        turn = self._fixed(conversation, assistant, text, words, urgency, ledger)
        danger = after(conversation.danger, due, urgency, text)
        remembered = replace(turn.conversation, danger=danger)
        return replace(turn, help=due, conversation=remembered, language=referral.language)

    def _accompanied(
        self,
        conversation: Conversation,
        assistant: Assistant,
        text: str,
        answer: Answer,
        urgency: Urgency,
        referral: Referral,
        ledger: Ledger,
    ) -> Turn:
        """A judged reply to what was said and, below it, the line with contacts: help was named whole a moment ago, and
        numbers alone, or the same words first each time, would leave what the person says unanswered."""
        line = referral.near(third_person=_third_person(conversation.danger, urgency, text))
        turn = self._turn(conversation, assistant, text, False, answer, urgency, ledger, (line,))
        remembered = replace(turn.conversation, danger=after(conversation.danger, Help.BRIEF, urgency, text))
        return replace(turn, help=Help.BRIEF, offers=(), conversation=remembered, language=referral.language)

    async def _answer(
        self,
        conversation: Conversation,
        assistant: Assistant,
        asked: TurnRequest,
        urgency: Urgency,
        ledger: Ledger,
        told: Answer | None = None,
    ) -> Answer:
        """Ask one team after the other until a draft has been judged; the built-in team comes last.

        `told`: what is true of the service, where that is asked. A language model has it among its facts, and says what of it
        answers; without one, where no draft passes, and where a law wants its words, it is said as it is.
        """
        if told is not None and (asked.section is not None or self._in_fixed_words(told, asked.text)):
            return told
        outage: str | None = None
        passed = Filter(assistant=assistant, stakes=self.stakes, plan=self.plan)
        for team in assistant.teams:
            if told is not None and team.built_in:
                return replace(told, outage=outage)
            try:
                work = Attempt(filter=passed, team=team, ledger=ledger)
                answer = await work.answer(conversation, asked, urgency)
            except ModelError as error:
                outage = outage or type(error).__name__
                continue
            if told is not None and answer.filtered.draft is None and _reacts(told):
                return told
            if not answer.filtered.broken or team is assistant.teams[-1]:
                return replace(answer, outage=outage)
            outage = outage or "judges"
        return Answer(filtered=NOTHING, team=assistant.teams[-1], in_context=(), outage=outage)

    def _in_fixed_words(self, told: Answer, text: str) -> bool:
        """Whether a fact about the service is told as it stands with a language model, too."""
        draft = told.filtered.draft
        return draft is not None and self.service is not None and self.service.fixed(draft.service, text)

    async def _slow_layers(
        self,
        conversation: Conversation,
        assistant: Assistant,
        text: str,
        urgency: Urgency,
        ledger: Ledger | None,
    ) -> Urgency:
        """What the layers with a model see; one that is too slow has failed. Without a ledger, none is asked."""
        if ledger is None:
            return urgency
        layers = [layer for team in assistant.teams for layer in team.urgency]
        seconds = assistant.settings.limits.urgency_seconds
        earlier = without_welcome(conversation.messages, assistant.settings.welcome)
        with step(StepName.URGENCY):
            found = await asyncio.gather(*(_in_time(layer, text, earlier, ledger, seconds) for layer in layers))
        together = Urgency.of((*urgency.layers, *found))
        # Where none of them has decided, what was found at once stands.
        return together if together.decided else replace(urgency, layers=together.layers)

    async def _handoff(
        self,
        conversation: Conversation,
        assistant: Assistant,
        offer: HandoffOffer,
        text: str,
        language: str,
        referral: Referral,
    ) -> Turn | None:
        """Hand over to the assistant that was offered, if the person agrees; None when they ask something else."""
        texts = assistant.texts
        if agrees(text, texts.refusing):
            return self._fixed(conversation, assistant, text, texts.handoff_declined)
        if not agrees(text, texts.agreeing) or offer.to not in self.assistants:
            return None
        there = self.assistants[offer.to].speaking(language)
        begun = replace(conversation, assistant=offer.to, offer=None, active=(), reminders=())
        # The question was read when it was written; read once more after itself it would weigh twice.
        turn = await self.respond(begun, offer.question, seen=Urgency(), referral=referral)
        said = f"{there.texts.handoff_done.format(name=there.settings.name)}\n\n{turn.reply.text}"
        # The new assistant has remembered its own words; the sentence before them is said by the house.
        *earlier, last = turn.conversation.messages
        conversation = replace(turn.conversation, messages=(*earlier, replace(last, content=said)))
        return replace(turn, reply=replace(turn.reply, text=said), conversation=conversation)

    def _origin(self, conversation: Conversation, assistant: Assistant, text: str, urgency: Urgency) -> Turn:
        """Where the last answer comes from: a fixed sentence, as titles must be right to the letter."""
        last = next((one for one in reversed(conversation.messages) if one.role is Role.ASSISTANT), None)
        sources = () if last is None else assistant.knowledge.pick(last.citations)
        if not sources:
            return self._fixed(conversation, assistant, text, assistant.texts.no_origin, urgency)
        said = assistant.texts.origin.format(title="; ".join(source.with_references() for source in sources))
        cited = tuple(source.id for source in sources)
        return self._fixed(conversation, assistant, text, said, urgency, citations=cited)

    def _turn(
        self,
        conversation: Conversation,
        assistant: Assistant,
        text: str,
        truncated: bool,
        answer: Answer,
        urgency: Urgency,
        ledger: Ledger,
        below: tuple[str, ...] = (),
    ) -> Turn:
        """Put the reply together and remember it; `below`: what of help stands under the answer."""
        limits, filtered = assistant.settings.limits, answer.filtered
        draft = filtered.draft or Draft(
            reply=assistant.texts.fallback.format(topics=topic_list(assistant.settings, assistant.texts))
        )
        offered = next((one for one in assistant.settings.handoffs if one.to == draft.handoff), None)
        said = [draft.reply]
        if truncated:
            said.insert(0, assistant.texts.shortened)
        if answer.outage is not None:
            said.insert(0, assistant.texts.outage)
        if offered is not None:
            said.append(assistant.texts.handoff_offer.format(name=offered.name))
        shown = "\n\n".join((*said, *below))
        after = remember(
            conversation,
            asked=text,
            shown=shown,
            citations=draft.citations,
            stages=filtered.stages,
            limits=limits,
            offer=None if offered is None else HandoffOffer(to=offered.to, question=text),
        )
        media = tuple(assistant.knowledge.media[file] for file in draft.media if file in assistant.knowledge.media)
        return Turn(
            reply=Reply(text=shown, citations=draft.citations, basis=draft.basis, media=media, handoff=draft.handoff),
            conversation=after,
            urgency=urgency,
            review=Review(
                outcome=filtered.outcome,
                stages=filtered.stages,
                failed_checks=(*answer.failed_checks, *filtered.failed_checks),
                built_in=answer.team.built_in,
                outage=answer.outage,
                reflected=answer.reflected,
            ),
            usage=ledger.usage(self.prices),
            sources_in_context=answer.in_context,
            offers=draft.offers,
            lost=draft.lost,
            service=draft.service,
        )

    def _fixed(
        self,
        conversation: Conversation,
        assistant: Assistant,
        asked: str,
        said: str,
        urgency: Urgency | None = None,
        ledger: Ledger | None = None,
        *,
        citations: tuple[str, ...] = (),
    ) -> Turn:
        """A turn with a fixed text of the house."""
        after = remember(
            conversation, asked=asked, shown=said, citations=citations, stages=(), limits=assistant.settings.limits
        )
        return Turn(
            reply=Reply(text=said, citations=citations),
            conversation=after,
            urgency=urgency or Urgency(),
            review=Review(outcome=Outcome.FIXED),
            usage=(ledger or Ledger()).usage(self.prices),
            language=assistant.knowledge.language,
        )


async def _in_time(
    layer: UrgencyLayer, text: str, earlier: tuple[Message, ...], ledger: Ledger, seconds: float
) -> LayerResult:
    failed = LayerResult(layer=layer.name, level=UrgencyLevel.NONE, failed=True)
    try:
        async with asyncio.timeout(seconds):
            return await layer.assess(text, earlier, ledger)
    except (TimeoutError, CafiError):
        return failed


async def _beside(
    answering: Coroutine[Any, Any, Answer], assessing: Coroutine[Any, Any, Urgency], *, waits: bool
) -> tuple[Answer | None, Urgency]:
    """Draft and assess at the same time; an urgent message does not wait for its answer, unless help was named just now."""
    answer, urgency = asyncio.ensure_future(answering), asyncio.ensure_future(assessing)
    try:
        await asyncio.wait({answer, urgency}, return_when=asyncio.FIRST_COMPLETED)
        if not waits and urgency.done() and not answer.done() and (await urgency).level is UrgencyLevel.URGENT:
            return None, await urgency
        return await answer, await urgency
    finally:
        for task in (answer, urgency):
            task.cancel()
        await asyncio.gather(answer, urgency, return_exceptions=True)


def _declined(before: Conversation, assistant: Assistant, asked: TurnRequest, answer: Answer) -> bool:
    """Whether something was asked and not answered: nothing was near, nothing passed the judges, or a model cited nothing."""
    filtered, draft = answer.filtered, answer.filtered.draft
    if draft is None or draft.lost or filtered.outcome is Outcome.FALLBACK:
        return True
    if draft.fixed or draft.basis is not Basis.NONE or draft.citations or draft.handoff:
        return False
    return _is_asking(before, assistant, asked)


def _kind_words(answer: Answer) -> bool:
    """Whether a message got nothing but a fixed sentence or questions to tap: with a check question it is held, to be answered
    after a no."""
    draft = answer.filtered.draft
    return draft is not None and draft.fixed and not (draft.citations or draft.service)


def _quotes(answer: Answer) -> bool:
    """Whether an answer tells something, and is no fixed sentence with questions to tap at most."""
    draft = answer.filtered.draft
    return draft is not None and not (draft.fixed and not draft.citations and not draft.service)


def _asks_meanwhile(before: Conversation, assistant: Assistant, asked: TurnRequest) -> bool:
    """Whether something is asked while a danger is open that does not wait for a body."""
    return before.danger.kind is not Kind.MEDICAL and _is_asking(before, assistant, asked)


def _may_talk_past(before: Conversation, assistant: Assistant, asked: TurnRequest, urgency: Urgency) -> bool:
    """Whether whoever was just asked about a body goes on without a question: "she is at school" asks for no text on schools."""
    danger = before.danger
    if danger.asked != 0 or danger.kind is not Kind.MEDICAL or urgency.decided:
        return False
    return not assistant.guide.kinds.of(asked.text, before.messages, asked.language).question


def _is_asking(before: Conversation, assistant: Assistant, asked: TurnRequest) -> bool:
    return assistant.guide.kinds.of(asked.text, before.messages, asked.language).kind is MessageKind.ASKS


def _third_person(before: Danger, urgency: Urgency, text: str) -> bool:
    """Whether it is somebody else who is in danger; what tells of danger and plainly of its writer alone is of the writer."""
    own = urgency.level is not UrgencyLevel.NONE and about_self(text)
    return urgency.another or (before.another and not own)


def _first_aid(assistant: Assistant, urgency: Urgency, referral: Referral) -> FirstAid | None:
    """What the table of dangers tells to do, in the referral's language; None where nothing fits.

    That is the entry which the judge has named, or the usual one of the kind of danger. Its words to helpers may name an
    illness, which somebody who takes their fear for the truth need not read now; nor do they fit where a judge named none, or the
    kind was worked out from a suspicion.
    """
    knowledge = assistant.knowledge.edition(referral.language)
    if knowledge.language != referral.language:
        return None
    usual = knowledge.dangers.usual(urgency.kind, another=urgency.another)
    aid = knowledge.dangers.first_aid(urgency.entry or usual)
    silent = urgency.delusional_framing or ((urgency.decided or urgency.sure) and not urgency.entry)
    return replace(aid, say="") if aid is not None and silent else aid


def _reacts(answer: Answer) -> bool:
    """Whether what was said has an answer that can stand beside danger: a fact about the service, in fixed words; or a
    language model's, where no judge would have stopped it and who decides has no doubt: a sentence that may be read in two ways
    ("walk off the bridge") was stopped by one and let pass by the next."""
    draft = answer.filtered.draft
    if draft is not None and draft.fixed:
        return draft.service in FACTS
    stages = answer.filtered.stages
    stopped = any(one.decision is Decision.REJECT for one in stages)
    sure = bool(stages) and stages[-1].decision is Decision.ACCEPT and not stopped
    return sure and not answer.team.built_in and answer.outage is None


def _in_the_original(assistant: Assistant, draft: Draft | None, language: str) -> bool:
    """Whether a draft quotes what there is no translation of."""
    if draft is None or not draft.citations:
        return False
    other = language != assistant.knowledge.language
    return any(
        (other or passage.section in source.foreign_sections) and already_shown(passage, (draft.reply,))
        for source in assistant.knowledge.pick(draft.citations)
        for passage in (source.passages if other or source.foreign_sections else ())
    )


def _kept(conversation: Conversation) -> Help:
    """The help below another form of the last answer: the line, while a danger that was told is open."""
    return Help.NONE if conversation.danger.told is None else Help.LINE


def _asking_nothing(answer: Answer, offer: str, instead: str) -> Answer:
    """The answer, or what is said in its stead, without an offer of its own, so that a yes or a no is said to the check
    question."""
    draft = answer.filtered.draft
    if draft is None:
        return answer
    reply = instead or draft.reply.removesuffix(offer).rstrip()
    plain = replace(draft, reply=reply, handoff=None)
    return replace(answer, filtered=replace(answer.filtered, draft=plain))


def _only_offers(answer: Answer) -> bool:
    """Whether an answer is nothing but questions to tap."""
    draft = answer.filtered.draft
    return draft is not None and draft.fixed and bool(draft.offers) and not draft.citations


def _help_below(due: Help, urgency: Urgency, referral: Referral, text: str, *, said_safe: bool) -> tuple[str, ...]:
    """What of help belongs below an answer."""
    if due is Help.LINE:
        return (referral.safe_noted() if said_safe else referral.concern(),)
    if due is not Help.QUESTION:
        return ()
    # What a judge is not sure of in a body is sleep or sights more often than something taken, which it is surer of: to ask
    # whether somebody took too much would be a stray question. So would it be to ask a child about their own life who tells
    # of a parent.
    stray = urgency.kind is Kind.MEDICAL or (urgency.another and urgency.kind is Kind.UNCLEAR)
    simple = urgency.faint or (urgency.decided and stray)
    # Nor is anybody asked about their own life alone who may be writing of somebody else's.
    theirs = urgency.kind is Kind.DYING and (urgency.another or about_another(text))
    return (referral.check(Kind.UNCLEAR if theirs else urgency.kind, faint=simple),)
