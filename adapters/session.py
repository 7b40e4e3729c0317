"""What every platform does around a turn: crisis referral first, then the answer, then the state for the next turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from adapters.crisis import CrisisReferral
from engine.engine import Engine, shown_as
from engine.types import Conversation, Medium, Turn, UrgencyLevel, Wish

REPEAT_WITHIN = 4  # turns within which a whole referral is repeated as one line


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionState:
    """All that is kept of a chat between turns. `since_referral`: turns since the whole referral was shown."""

    conversation: Conversation
    since_referral: int | None = None


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
    """Runs turns of one chat over an engine; stateless itself."""

    engine: Engine
    referral: CrisisReferral

    def start(self) -> SessionState:
        """A new chat."""
        return SessionState(conversation=self.engine.start())

    async def handle(self, state: SessionState, message: str, *, wish: Wish = Wish.ANSWER) -> AsyncIterator[Outgoing]:
        """Show what has to be shown for one message, the referral before any model is asked.

        Yields one or two messages; the last one carries the turn and the state after it.
        """
        sent = False
        if wish is Wish.ANSWER and self._urgent_at_once(state, message):
            sent = True
            yield Outgoing(text=self._referral_text(state), referral=True)
        turn = await self.engine.respond(state.conversation, message, wish=wish)
        urgent = sent or turn.urgency.level is UrgencyLevel.URGENT
        shown = self._referral_text(state) if urgent else self._with_contacts(turn)
        turn = replace(turn, conversation=shown_as(turn.conversation, shown))
        after = SessionState(conversation=turn.conversation, since_referral=_counted(state, urgent=urgent))
        if urgent:
            turn = replace(turn, reply=replace(turn.reply, text=shown, citations=(), media=(), handoff=None))
            yield Outgoing(text="" if sent else shown, referral=True, turn=turn, state=after)
            return
        turn = replace(turn, reply=replace(turn.reply, text=shown))
        yield Outgoing(text=shown, citations=turn.reply.citations, media=turn.reply.media, turn=turn, state=after)

    def _urgent_at_once(self, state: SessionState, message: str) -> bool:
        return self.engine.assess_now(state.conversation, message).level is UrgencyLevel.URGENT

    def _referral_text(self, state: SessionState) -> str:
        recent = state.since_referral is not None and state.since_referral < REPEAT_WITHIN
        return self.referral.repeated() if recent else self.referral.full()

    def _with_contacts(self, turn: Turn) -> str:
        if turn.urgency.level is UrgencyLevel.CONCERN:
            return f"{turn.reply.text}\n\n{self.referral.concern()}"
        return turn.reply.text


def _counted(state: SessionState, *, urgent: bool) -> int | None:
    recent = state.since_referral is not None and state.since_referral < REPEAT_WITHIN
    if urgent and not recent:
        return 0
    return None if state.since_referral is None else state.since_referral + 1
