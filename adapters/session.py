"""What every platform does around a turn: crisis referral first, then the answer, then the state for the next turn.

All adapters go through `Session.handle` and `Session.answer_safely`; nothing else asks the engine for a turn, and
every message that ends a turn is made by `Session._last`, where the referral step is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

from adapters.counting import UrgentCounts
from adapters.crisis import Referral, Referrals
from adapters.reader import Reader
from engine.engine import Engine, shown_as
from engine.types import Conversation, Medium, Turn, Urgency, UrgencyLevel, Wish
from engine.urgency.person import about_another

REPEAT_WITHIN = 4
"""Turns within which a whole referral is repeated as one line, as long as every turn is urgent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionState:
    """All that is kept of a chat between turns.

    `since_referral`: turns since the whole referral was shown; `was_urgent`: the last turn was answered with it;
    `unanswered`: the message it replaced the answer to, until the next message; `country` and `language` as chosen, an
    empty country by somebody who would rather not say.
    """

    conversation: Conversation
    since_referral: int | None = None
    was_urgent: bool = False
    unanswered: str = ""
    country: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """One message to show. `referral`: it is the crisis referral. `turn` and `state` come with the last one."""

    text: str
    referral: bool = False
    citations: tuple[str, ...] = ()
    media: tuple[Medium, ...] = ()
    turn: Turn | None = None
    state: SessionState | None = None


@dataclass(frozen=True, kw_only=True)
class Session:
    """Runs turns of one chat over an engine; stateless itself. `counts` holds no more than weeks and platforms.

    `reader` reads what people write, for all platforms; `places` are those of turns with a language model, given in
    the order of asking, None for no bound.
    """

    engine: Engine
    referrals: Referrals
    platform: str = "console"
    counts: UrgentCounts
    reader: Reader = field(default_factory=Reader)
    places: asyncio.Semaphore | None = None

    def start(self) -> SessionState:
        """A new chat."""
        return SessionState(conversation=self.engine.start())

    def referral(self, state: SessionState) -> Referral:
        """The referral for what this person has set."""
        return self.referrals.choose(state.country, state.language)

    async def read(self, state: SessionState, message: str) -> Urgency:
        """What the fast layers see in a message that will be answered."""
        return await self.reader.read(self.engine.assess_now, state.conversation, message)

    async def referral_now(self, state: SessionState, message: str) -> Outgoing | None:
        """The whole referral for a message that will not be answered (now), where the fast layers call for one.

        Also where there is no place or time to read it: help that was not needed does less harm than help that was missed.
        """
        found = await self.reader.read_soon(self.engine.assess_now, state.conversation, message)
        if found is not None and found.level is not UrgencyLevel.URGENT:
            return None
        self.counts.add(self.platform)
        return Outgoing(text=self.referral(state).full(third_person=about_another(message)), referral=True)

    async def handle(
        self, state: SessionState, message: str, *, wish: Wish = Wish.ANSWER, built_in: bool = False
    ) -> AsyncIterator[Outgoing]:
        """Show what has to be shown for one message, the referral before any model is asked.

        Yields one to four messages; the last one carries the turn and the state after it. `built_in`: no language
        model is asked.
        """
        first = Urgency()
        if wish is Wish.ANSWER:
            reading = asyncio.ensure_future(self.read(state, message))
            try:
                if not (await asyncio.wait({reading}, timeout=self.reader.soon_seconds))[0]:
                    yield Outgoing(text=self.referral(state).concern())
                first = await reading
            finally:
                reading.cancel()
        at_once = first.level is UrgencyLevel.URGENT
        if at_once:
            yield Outgoing(text=self._referral_text(state, message), referral=True)
        seen = first if wish is Wish.ANSWER else None
        async with self._place(built_in=built_in or at_once):
            turn = await self.engine.respond(state.conversation, message, wish=wish, built_in=built_in, seen=seen)
        if not at_once and _unsure(turn.urgency):
            yield Outgoing(text=self.referral(state).full(third_person=about_another(message)), referral=True)
        yield self._last(state, message, turn, shown=at_once)

    async def answer_safely(self, state: SessionState, *, built_in: bool = False) -> AsyncIterator[Outgoing]:
        """Answer the message that the referral replaced, for somebody who says that it was a question and they are safe.

        The contacts stay in view below the answer. Without such a message, only the contacts are shown.
        """
        noted = self.referral(state).safe_noted()
        if not state.unanswered:
            yield Outgoing(text=noted, referral=True)
            return
        seen = await self.read(state, state.unanswered)
        async with self._place(built_in=built_in):
            turn = await self.engine.respond(
                state.conversation, state.unanswered, said_safe=True, built_in=built_in, seen=seen
            )
        shown = f"{turn.reply.text}\n\n{noted}"
        yield self._ended(state, replace(turn, reply=replace(turn.reply, text=shown)), urgent=False)

    def _place(self, *, built_in: bool) -> AbstractAsyncContextManager[object]:
        """A place for a turn that may ask a language model; others need none."""
        return nullcontext() if built_in or self.places is None else self.places

    def _last(self, state: SessionState, message: str, turn: Turn, *, shown: bool) -> Outgoing:
        """The referral step: every turn ends here, with the referral, with its line, or with neither being due."""
        if turn.urgency.level is UrgencyLevel.URGENT or shown:
            self.counts.add(self.platform)
            text = self._referral_text(state, message)
            reply = replace(turn.reply, text=text, citations=(), media=(), handoff=None)
            ended = self._ended(state, replace(turn, reply=reply), urgent=True, unanswered=message)
            return replace(ended, text="" if shown else text, referral=True)
        if turn.urgency.level is UrgencyLevel.CONCERN:
            text = f"{turn.reply.text}\n\n{self.referral(state).concern()}"
            turn = replace(turn, reply=replace(turn.reply, text=text))
        return self._ended(state, turn, urgent=False)

    def _ended(self, state: SessionState, turn: Turn, *, urgent: bool, unanswered: str = "") -> Outgoing:
        """The end of a turn: what is shown is what is remembered."""
        turn = replace(turn, conversation=shown_as(turn.conversation, turn.reply.text))
        after = replace(
            state,
            conversation=turn.conversation,
            since_referral=self._counted(state, urgent=urgent),
            was_urgent=urgent,
            unanswered=unanswered,
        )
        reply = turn.reply
        return Outgoing(text=reply.text, citations=reply.citations, media=reply.media, turn=turn, state=after)

    def _referral_text(self, state: SessionState, message: str) -> str:
        referral = self.referral(state)
        return referral.repeated() if _fades(state) else referral.full(third_person=about_another(message))

    def _counted(self, state: SessionState, *, urgent: bool) -> int | None:
        if urgent and not _fades(state):
            return 0
        return None if state.since_referral is None else state.since_referral + 1


def _fades(state: SessionState) -> bool:
    """Whether an urgent message gets one line: the turn before was urgent too, and the whole text is not long ago.

    After a calmer turn an urgent message is an escalation, and the whole text comes back.
    """
    return state.was_urgent and state.since_referral is not None and state.since_referral < REPEAT_WITHIN - 1


def _unsure(urgency: Urgency) -> bool:
    """Whether the model's layers have all failed while a layer without one is unsure."""
    reading = [layer for layer in urgency.layers if layer.layer == "llm"]
    return bool(reading) and all(layer.failed for layer in reading) and urgency.level is UrgencyLevel.CONCERN
