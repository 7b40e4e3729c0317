"""A turn of a chat: what the engine says, in the person's language, with notes, pictures, buttons, and at times a question.

All platforms and commands go through `Turns`; nothing else asks the engine for a turn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from adapters.conversation.daily_budget import DailyBudget
from adapters.conversation.feedback_port import FeedbackPort, Poll, ReportPort
from adapters.conversation.incoming import Incoming
from adapters.conversation.notices import Notice
from adapters.conversation.outgoing import Button, Outgoing, Outgoings, Picture, Rows, only
from adapters.conversation.pages import Pages
from adapters.conversation.reader import Reader
from adapters.conversation.reports import report_button
from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts
from adapters.conversation.topics import NAMING, TappedQuestion, section_button
from adapters.storage.counts import UnansweredCounts, UrgentCounts
from engine import (
    Basis,
    DangerAnswer,
    Help,
    Medium,
    Outcome,
    Referral,
    StepName,
    Turn,
    Urgency,
    UrgencyLevel,
    Wish,
    step,
)

UNANSWERED_BEFORE_PEOPLE = 2
"""So many answers in a row that were none, and the operator's people are offered."""
PERSON = "person"
"""The subject of questions whether a person answers: `config/service`."""
WISHES = {"simpler": Wish.SIMPLER, "shorter": Wish.SHORTER, "example": Wish.EXAMPLE, "more": Wish.MORE}

LEAST_WORDS = 3
"""Of a question that nothing was found on: fewer are a greeting, or thanks."""

Ask: TypeAlias = Callable[[bool], Awaitable[Turn]]
"""Asks the engine for a turn; with True, of the built-in agents alone."""


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Answers. At the day's limit of spending, by quotation.

    `counts` holds no more than weeks and platforms, `unanswered` no more than weeks and topics of ours; `reader` reads what
    people write, for all platforms; `places` are those of turns with a language model, given in the order of asking, None
    for no bound; `reports`: where it is counted what worried or harmed somebody.
    """

    pages: Pages
    spending: DailyBudget = field(default_factory=DailyBudget)
    feedback: FeedbackPort | None = None
    counts: UrgentCounts = field(default_factory=UrgentCounts)
    unanswered: UnansweredCounts = field(default_factory=UnansweredCounts)
    reader: Reader = field(default_factory=Reader)
    places: AbstractAsyncContextManager[object] | None = None
    reports: ReportPort | None = None

    # --- The engine -------------------------------------------------------------------------------------------------

    async def read(self, state: ChatState, message: str) -> Urgency:
        """What the fast layers see in a message that will be answered."""
        return await self.reader.read(self.pages.engine.assess_now, state.conversation, message)

    async def referral_now(self, state: ChatState, message: str) -> Outgoing | None:
        """The whole referral for a message that will not be answered (now), where its explicit words call for one.

        Also where there is no place or time to read it: help that was not needed does less harm than help that was missed.
        """
        found = await self.reader.read_soon(self.pages.engine.assess_now, state.conversation, message)
        if found is not None and found.level is not UrgencyLevel.URGENT:
            return None
        found = found or Urgency()
        self.counts.add(self.pages.platform.id, found.kind)
        text = self.pages.referral(state, message).full(kind=found.kind, third_person=found.another)
        return Outgoing(text=text, referral=True, private=True)

    async def own_alarm(self, state: ChatState, incoming: Incoming) -> Outgoing | None:
        """The same, where the words are somebody's own; a topic's name is not."""
        ours = incoming.command in {"start", *NAMING}
        if not incoming.text or (ours and self.pages.browsed.named(state, incoming.command, incoming.text)):
            return None
        return await self.referral_now(state, incoming.text)

    async def turn(
        self,
        state: ChatState,
        message: str,
        *,
        wish: Wish = Wish.ANSWER,
        built_in: bool = False,
        live: Callable[[str, str], str] | None = None,
    ) -> Turn:
        """The engine's turn for one message. `built_in`: no language model is asked."""
        seen = None
        if wish is Wish.ANSWER:
            with step(StepName.URGENCY):
                seen = await self.read(state, message)
        at_once = seen is not None and seen.level is UrgencyLevel.URGENT
        async with self._place(built_in=built_in or at_once):
            turn = await self.pages.engine.respond(
                state.conversation,
                message,
                wish=wish,
                usual=self.pages.browsed.language(state),
                built_in=built_in,
                seen=seen,
                live=live,
                referral=self.pages.referral(state, message),
            )
        if wish is Wish.ANSWER and found_nothing(turn, message):
            topics = self.pages.engine.stakes.topics(message)
            self.unanswered.add(turn.conversation.assistant, topics[0] if topics else "")
        return self._counted(turn)

    async def tapped(self, state: ChatState, question: TappedQuestion, live: Callable[[str, str], str]) -> Turn:
        """The engine's turn for a question that was tapped; it is answered by quotation, so it needs no place."""
        turn = await self.pages.engine.respond(
            state.conversation,
            question.words,
            section=question.section,
            language=question.language,
            live=live,
            referral=self.pages.referral(state),
        )
        return self._counted(turn)

    async def answered(self, state: ChatState, answer: DangerAnswer, *, built_in: bool = False) -> Turn:
        """The engine's turn after a button below the check question or the referral."""
        async with self._place(built_in=built_in or answer is not DangerAnswer.SAFE):
            turn = await self.pages.engine.answered(
                state.conversation, answer, built_in=built_in, referral=self.pages.referral(state)
            )
        return self._counted(turn)

    @asynccontextmanager
    async def _place(self, *, built_in: bool) -> AsyncIterator[None]:
        """A place for a turn that may ask a language model; others need none."""
        async with AsyncExitStack() as held:
            if not built_in and self.places is not None:
                with step(StepName.PLACE):
                    await held.enter_async_context(self.places)
            yield

    def _counted(self, turn: Turn) -> Turn:
        if turn.help.replaces:
            self.counts.add(self.pages.platform.id, turn.urgency.kind)
        return turn

    # --- What people do ---------------------------------------------------------------------------------------------

    def message(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Answer a message; what is asked of the service is told as it is here."""
        live = partial(self.pages.live, state, incoming)
        return self._turn(state, incoming, lambda quoting: self.turn(state, incoming.text, built_in=quoting, live=live))

    def tapped_question(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Answer a question that was tapped, from its own section; one that is gone is too old."""
        found = self.pages.browsed.section(state, incoming.text)
        if found is None:
            return only(self.pages.too_old(state))
        live = partial(self.pages.live, state, incoming)
        return self._turn(state, incoming, lambda _: self.tapped(state, found, live))

    def topic(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The questions that a topic's button or link stands for; of a text with only one, its answer."""
        browsed = self.pages.browsed
        source = browsed.source(state, incoming.text)
        if source is None:
            return only(browsed.unknown(state))
        offers = browsed.offers(state, source)
        if len(offers) == 1:
            argument = section_button(offers[0], browsed.language(state)).argument
            return self.tapped_question(state, replace(incoming, command="section", text=argument))
        return only(browsed.questions(state, source, incoming.text))

    def wish(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The last answer in another form; older answers are too far away to know what was meant."""
        if incoming.about is not None and incoming.about != state.answered:
            return only(self.pages.too_old(state))
        wish = WISHES[incoming.command]
        return self._turn(state, incoming, lambda quoting: self.turn(state, "", wish=wish, built_in=quoting))

    def safe(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Answer what the crisis referral stood in place of, for somebody who says that they are safe."""
        return self._answered(state, incoming, DangerAnswer.SAFE)

    def danger(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """What follows from a button below the check question."""
        try:
            answer = DangerAnswer(incoming.text)
        except ValueError:
            return only(self.pages.too_old(state))
        return self._answered(state, incoming, answer)

    def _answered(self, state: ChatState, incoming: Incoming, answer: DangerAnswer) -> Outgoings:
        return self._turn(state, incoming, lambda quoting: self.answered(state, answer, built_in=quoting))

    async def _turn(self, state: ChatState, incoming: Incoming, ask: Ask) -> Outgoings:
        quoting = self.spending.exhausted
        turn = await ask(quoting or incoming.rushed)
        # What stands below a reply is in its language, unless the chat has chosen one.
        said = self.pages.languages.choose(state.language or turn.language)
        before, state = state, state.after(turn)
        with step(StepName.STORAGE):
            await self.spending.add(turn.usage)
        referral = self.pages.referral(state)
        if turn.help.replaces:
            rows = safe_button(referral)
            shown = Outgoing(text=turn.reply.text, referral=True, private=True, buttons=rows, state=state, turn=turn)
            if quoting or not self.pages.engine.takes_up(turn):
                yield shown
                return
            # Help is named at once; what takes up the person's words may follow it.
            yield replace(shown, state=None)
            reaction = await self._reaction(before, incoming, turn)
            if reaction is None:
                yield Outgoing(state=state)
            else:
                state = replace(state, conversation=reaction.conversation)
                yield Outgoing(text=reaction.reply.text, private=True, buttons=rows, state=state, turn=reaction)
            return
        told = quoting and turn.review.outcome is not Outcome.FIXED
        state = replace(state, told_quoting=quoting and (told or before.told_quoting))
        people, state = self._people_offered(state, said)
        notice, state = self._notice(state, turn, said, incoming)
        seen = self._seen(incoming, turn)
        text = _with_notes(turn.reply.text, seen, said, quoting=told and not before.told_quoting)
        text = f"{text}\n\n{said.review_due}" if self.pages.review_due(turn) else text
        answer = Outgoing(
            text=f"{notice}\n\n{text}{people}" if notice else text + people,
            pictures=tuple(_picture(one, said) for one in turn.reply.media),
            buttons=check_buttons(referral)
            if turn.help is Help.QUESTION
            else self._buttons(said, turn, state.answered),
            private=turn.help is not Help.NONE,
            turn=turn,
        )
        poll = await self._poll(state, incoming, turn)
        if poll is None:
            yield replace(answer, state=state)
        else:
            yield answer
            yield Outgoing(poll=poll, private=True, state=state.being_asked(poll.question))

    async def _reaction(self, before: ChatState, incoming: Incoming, turn: Turn) -> Turn | None:
        async with self._place(built_in=False):
            reaction = await self.pages.engine.reaction(before.conversation, incoming.text, turn)
        if reaction is not None:
            with step(StepName.STORAGE):
                await self.spending.add(reaction.usage)
        return reaction

    def _seen(self, incoming: Incoming, turn: Turn) -> Incoming:
        """Nobody is told of a model that is not there, or would not have been asked."""
        modelled = self.pages.facts.provider is not None and turn.review.outcome is not Outcome.FIXED
        return incoming if modelled and not self.spending.exhausted else replace(incoming, rushed=False)

    def _people_offered(self, state: ChatState, said: ChatTexts) -> tuple[str, ChatState]:
        """After two answers in a row that were none, whom else one can ask; the counting then begins anew."""
        if state.declined < UNANSWERED_BEFORE_PEOPLE:
            return "", state
        offered = self.pages.people_below(state, said.people.offered)
        return f"\n\n{offered}" if offered else "", replace(state, declined=0)

    def _notice(self, state: ChatState, turn: Turn, said: ChatTexts, incoming: Incoming) -> tuple[str, ChatState]:
        """What is told of this being a program, above an answer; somebody who may be in danger is told with a later one."""
        notices = self.pages.notices
        if turn.service == PERSON:
            return "", self.pages.noticed(state, Notice.ASKED)
        if self._asks_for_it(incoming):
            return said.notices.still, self.pages.noticed(state, Notice.ASKED)
        if state.noticed is None:
            return "", notices.anchored(state, whole=True)
        due = None if turn.help is Help.QUESTION else notices.due(state)
        if due is None:
            return "", state
        return notices.line(due, said, self.pages.emergency(state)), self.pages.noticed(state, due)

    def _asks_for_it(self, incoming: Incoming) -> bool:
        """Whether a message that says more asks, too, if a person answers: whatever a model answers, this is said."""
        service = self.pages.engine.service
        return service is not None and incoming.command in {"", "ask"} and service.named(incoming.text) == PERSON

    async def _poll(self, state: ChatState, incoming: Incoming, turn: Turn) -> Poll | None:
        """A question back, if this is a good moment for one."""
        calm = not turn.is_private and turn.review.outcome is not Outcome.FIXED
        if self.feedback is None or not calm or not incoming.private:
            return None
        return await self.feedback.due(incoming.identity, state, state.spoken or self.pages.languages.default)

    def _buttons(self, said: ChatTexts, turn: Turn, number: int) -> Rows:
        offered = offer_buttons(said, turn)
        if turn.review.outcome is Outcome.FIXED and not turn.reply.citations:
            return offered

        def button(command: str, label: str, argument: str = "") -> Button:
            return Button(label=label, command=command, argument=argument, about=number)

        labels = said.buttons
        if turn.conversation.offer is not None:
            # What the engine understands as a yes and a no is English, whatever the button says.
            return ((button("ask", labels.yes, "yes"), button("ask", labels.no, "no")),)
        rest = [button("more", labels.more)]
        if turn.reply.citations:
            rest.append(button("source", labels.source))
        rows: list[tuple[Button, ...]] = []
        if turn.reply.basis is not Basis.NONE:
            rows.append(tuple(button(name, getattr(labels, name)) for name in ("simpler", "shorter", "example")))
        rows.append(tuple(rest))
        if self.feedback is not None and not turn.is_private:
            rows.append((button("thumb", labels.helpful, "yes"), button("thumb", labels.unhelpful, "no")))
        if self.reports is not None:
            rows.append((report_button(said, number),))
        return (*offered, *rows)


def found_nothing(turn: Turn, message: str) -> bool:
    """Whether nothing was found on a question; where danger was told, or in a word or two, it is not asked."""
    if turn.is_private or turn.lost:
        return not turn.is_private
    asked = len(message.split()) >= LEAST_WORDS and turn.review.outcome is not Outcome.FIXED
    return asked and turn.reply.basis is Basis.NONE and not turn.reply.citations and not turn.sources_in_context


def offer_buttons(said: ChatTexts, turn: Turn) -> Rows:
    """A row for each question that can be tapped; where none may be meant or nothing was near, one that leads to the topics."""
    rows = [(section_button(one, turn.language),) for one in turn.offers]
    if turn.lost:
        rows.append((Button(label=said.buttons.all_topics, command="topics"),))
    elif rows and not turn.reply.citations:
        rows.append((Button(label=said.buttons.none_of_these, command="topics"),))
    return tuple(rows)


def safe_button(referral: Referral) -> Rows:
    """What stands below the referral: that it was a question, and the person is safe."""
    return ((Button(label=referral.texts.buttons.safe, command="safe"),),)


def check_buttons(referral: Referral) -> Rows:
    """The three answers to the check question; until one is given, nothing else asks for a tap."""
    labels = referral.texts.buttons
    said = ((DangerAnswer.YES, labels.yes), (DangerAnswer.NO, labels.no), (DangerAnswer.OTHER, labels.other))
    return tuple((Button(label=label, command="danger", argument=answer.value),) for answer, label in said)


def _with_notes(text: str, incoming: Incoming, said: ChatTexts, *, quoting: bool) -> str:
    notes = [
        note
        for due, note in (
            (incoming.late, said.late),
            (incoming.edited, said.edited),
            (quoting, said.quoting_today),
            (incoming.rushed and not quoting, said.quoting_now),
        )
        if due
    ]
    return "\n\n".join((*notes, text))


def _picture(medium: Medium, said: ChatTexts) -> Picture:
    caption = medium.caption or medium.file
    return Picture(path=medium.path, text=said.picture.format(caption=caption, alt=medium.alt))
