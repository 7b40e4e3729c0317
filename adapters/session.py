"""A turn of a chat on every platform: what the engine says, in the person's language, with their country's contacts.

All adapters go through `Session`; nothing else asks the engine for a turn.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace

from adapters.counting import UrgentCounts
from adapters.reader import Reader
from engine.turn.engine import Engine
from engine.types import Conversation, DangerAnswer, Medium, Turn, Urgency, UrgencyLevel, Wish
from engine.urgency.referral import Referral, Referrals


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionState:
    """All that is kept of a chat between turns.

    `country` and `language` as chosen, an empty country by somebody who would rather not say.
    """

    conversation: Conversation
    country: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """One message to show. `referral`: it is the crisis referral. `turn` and `state` come with the end of a turn."""

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
    platform: str = "console"
    counts: UrgentCounts
    reader: Reader = field(default_factory=Reader)
    places: asyncio.Semaphore | None = None

    @property
    def referrals(self) -> Referrals:
        """The contacts and fixed texts of every country and language."""
        return self.engine.referrals

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
        """The whole referral for a message that will not be answered (now), where its explicit words call for one.

        Also where there is no place or time to read it: help that was not needed does less harm than help that was missed.
        """
        found = await self.reader.read_soon(self.engine.assess_now, state.conversation, message)
        if found is not None and found.level is not UrgencyLevel.URGENT:
            return None
        self.counts.add(self.platform)
        found = found or Urgency()
        text = self.referral(state).full(kind=found.kind, third_person=found.another)
        return Outgoing(text=text, referral=True)

    async def handle(
        self, state: SessionState, message: str, *, wish: Wish = Wish.ANSWER, built_in: bool = False
    ) -> Outgoing:
        """The turn of one message. `built_in`: no language model is asked."""
        seen = await self.read(state, message) if wish is Wish.ANSWER else None
        at_once = seen is not None and seen.level is UrgencyLevel.URGENT
        async with self._place(built_in=built_in or at_once):
            turn = await self.engine.respond(
                state.conversation, message, wish=wish, built_in=built_in, seen=seen, referral=self.referral(state)
            )
        return self._shown(state, turn)

    async def answered(self, state: SessionState, answer: DangerAnswer, *, built_in: bool = False) -> Outgoing:
        """The turn after a button below the check question or the referral."""
        async with self._place(built_in=built_in or answer is not DangerAnswer.SAFE):
            turn = await self.engine.answered(
                state.conversation, answer, built_in=built_in, referral=self.referral(state)
            )
        return self._shown(state, turn)

    def _place(self, *, built_in: bool) -> AbstractAsyncContextManager[object]:
        """A place for a turn that may ask a language model; others need none."""
        return nullcontext() if built_in or self.places is None else self.places

    def _shown(self, state: SessionState, turn: Turn) -> Outgoing:
        if turn.help.replaces:
            self.counts.add(self.platform)
        return Outgoing(
            text=turn.reply.text,
            referral=turn.help.replaces,
            citations=turn.reply.citations,
            media=turn.reply.media,
            turn=turn,
            state=replace(state, conversation=turn.conversation),
        )
