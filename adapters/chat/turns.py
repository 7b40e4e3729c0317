"""Questions and answers: a turn of the session, with its notes, pictures and buttons, and now and then a question back."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, replace

from adapters.chat.feedback_port import FeedbackPort
from adapters.chat.incoming import Incoming
from adapters.chat.pages import Pages
from adapters.chat.showing import Button, Picture, Rows, Showing, Showings
from adapters.chat.spending import Spending
from adapters.chat.state import ChatState
from adapters.chat.texts import ChatTexts
from adapters.session import Outgoing, Session
from engine.types import Basis, DangerAnswer, Help, Medium, Outcome, Turn, Wish
from engine.urgency.referral import Referral

WISHES = {"simpler": Wish.SIMPLER, "shorter": Wish.SHORTER, "example": Wish.EXAMPLE, "more": Wish.MORE}


@dataclass(frozen=True, kw_only=True)
class Turns:
    """Answers. At the day's limit of spending, by quotation."""

    pages: Pages
    spending: Spending
    feedback: FeedbackPort | None = None

    @property
    def session(self) -> Session:
        """What a turn is asked of."""
        return self.pages.session

    async def message(self, state: ChatState, incoming: Incoming) -> Showings:
        """Answer a message; who asks who can read this is told by the page for it, not by a model."""
        if self.pages.assistant(state).texts.sayings.secrecy.fits(incoming.text):
            shown = self.pages.whocanread(state, incoming)
        else:
            quoting = self.spending.exhausted
            turn = self.session.handle(state.session, incoming.text, built_in=quoting)
            shown = self._turn(state, incoming, turn, quoting=quoting)
        async for showing in shown:
            yield showing

    async def topic(self, state: ChatState, incoming: Incoming) -> Showings:
        """Answer what a topic's button or link stands for."""
        question = self.as_question(state, incoming)
        if not question:
            yield Showing(text=self.pages.texts(state).unknown_topic, private=True, state=state)
            return
        async for showing in self.message(state, replace(incoming, text=question)):
            yield showing

    async def wish(self, state: ChatState, incoming: Incoming) -> Showings:
        """The last answer in another form; older answers are too far away to know what was meant."""
        if incoming.about is not None and incoming.about != state.answered:
            yield Showing(text=self.pages.texts(state).earlier_answer, private=True, state=state)
            return
        quoting = self.spending.exhausted
        turn = self.session.handle(state.session, "", wish=WISHES[incoming.command], built_in=quoting)
        async for showing in self._turn(state, incoming, turn, quoting=quoting):
            yield showing

    async def safe(self, state: ChatState, incoming: Incoming) -> Showings:
        """Answer what the crisis referral stood in place of, for somebody who says that they are safe."""
        async for showing in self._answered(state, incoming, DangerAnswer.SAFE):
            yield showing

    async def danger(self, state: ChatState, incoming: Incoming) -> Showings:
        """What follows from a button below the check question."""
        try:
            answer = DangerAnswer(incoming.text)
        except ValueError:
            yield Showing(text=self.pages.texts(state).earlier_answer, private=True, state=state)
            return
        async for showing in self._answered(state, incoming, answer):
            yield showing

    async def _answered(self, state: ChatState, incoming: Incoming, answer: DangerAnswer) -> Showings:
        quoting = self.spending.exhausted
        turn = self.session.answered(state.session, answer, built_in=quoting)
        async for showing in self._turn(state, incoming, turn, quoting=quoting):
            yield showing

    def as_question(self, state: ChatState, incoming: Incoming) -> str:
        """What somebody wants to know: their words, or the question that a topic stands for."""
        if incoming.command not in {"start", "topic"}:
            return incoming.text if incoming.command in {"", "ask"} else ""
        title = self.pages.topic_title(state, incoming.text)
        return self.pages.texts(state).topic_question.format(title=title) if title else ""

    async def _turn(
        self, state: ChatState, incoming: Incoming, turn: Awaitable[Outgoing], *, quoting: bool
    ) -> Showings:
        said, outgoing = self.pages.texts(state), await turn
        assert outgoing.turn is not None and outgoing.state is not None  # noqa: S101 - contract of Session
        before, state = state, state.after(outgoing.state, outgoing.turn)
        await self.spending.add(outgoing.turn.usage)
        referral = self.session.referral(state.session)
        if outgoing.referral:
            yield Showing(
                text=outgoing.text,
                referral=True,
                private=True,
                buttons=safe_button(referral),
                state=state,
                turn=outgoing.turn,
            )
            return
        told = quoting and outgoing.turn.review.outcome is not Outcome.FIXED
        state = replace(state, told_quoting=quoting and (told or before.told_quoting))
        rows = self._buttons(said, outgoing.turn, state.answered)
        answer = Showing(
            text=_with_notes(outgoing.text, incoming, said, quoting=told and not before.told_quoting),
            pictures=tuple(_picture(one, said) for one in outgoing.media),
            buttons=check_buttons(referral) if outgoing.turn.help is Help.QUESTION else rows,
            private=outgoing.turn.help is not Help.NONE,
            turn=outgoing.turn,
        )
        async for showing in self._with_poll(answer, state, incoming, outgoing.turn):
            yield showing

    async def _with_poll(self, answer: Showing, state: ChatState, incoming: Incoming, turn: Turn) -> Showings:
        """The answer, and after it a question back, if this is a good moment for one."""
        calm = not turn.is_private and turn.review.outcome is not Outcome.FIXED
        poll = None
        if self.feedback is not None and calm and incoming.private:
            poll = await self.feedback.due(incoming.identity, state, state.session.language or self._default_language)
        if poll is None:
            yield replace(answer, state=state)
        else:
            yield answer
            yield Showing(poll=poll, private=True, state=state.being_asked(poll.question))

    @property
    def _default_language(self) -> str:
        return self.pages.languages.default

    def _buttons(self, said: ChatTexts, turn: Turn, number: int) -> Rows:
        if turn.review.outcome is Outcome.FIXED and not turn.reply.citations:
            return ()

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
        for due, note in ((incoming.late, said.late), (incoming.edited, said.edited), (quoting, said.quoting_today))
        if due
    ]
    return "\n\n".join((*notes, text))


def _picture(medium: Medium, said: ChatTexts) -> Picture:
    caption = medium.caption or medium.file
    return Picture(path=medium.path, text=said.picture.format(caption=caption, alt=medium.alt))
