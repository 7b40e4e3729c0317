"""A pause that a person makes in their own chat: an hour without answers, ended at once when they like. Help stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing, Outgoings
from adapters.conversation.pages import Pages
from adapters.conversation.state import ChatState
from adapters.conversation.topics import NAMING
from adapters.conversation.turns import WISHES, Turns
from engine import Danger

PAUSE_SECONDS = 3600.0
ASKING = frozenset({"", "ask", "topics", *NAMING, *WISHES})
"""What a pause holds off. Help, people, choices, privacy, reports and leaving stay, and every answer about danger."""


@dataclass(frozen=True, kw_only=True)
class Pauses:
    """Pauses of single chats. `now` gives seconds since 1970."""

    pages: Pages
    turns: Turns
    now: Callable[[], float] = time.time

    def left(self, state: ChatState) -> float:
        """Seconds of the pause that are left. A clock that was set back does not make a pause longer than it was."""
        left = state.paused_until - self.now()
        return left if 0 < left <= PAUSE_SECONDS else 0.0

    def holds(self, state: ChatState, incoming: Incoming) -> bool:
        """Whether something is not done because of a pause."""
        asks = incoming.command in ASKING or (incoming.command == "start" and bool(incoming.text))
        return asks and bool(self.left(state))

    async def begun(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The pause begins, or begins anew."""
        if not self.pages.pausable:
            async for outgoing in self.pages.unknown(state, incoming):
                yield outgoing
            return
        state = replace(state, paused_until=self.now() + PAUSE_SECONDS)
        yield self._said(state, self.pages.texts(state).pauses.begun)

    async def over(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The pause ends at once."""
        state = replace(state, paused_until=0.0)
        yield Outgoing(text=self.pages.texts(state).pauses.over, private=True, state=state)

    async def held(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The referral where the words call for one, else a word about the pause. No model is asked, no word is kept."""
        urgent = await self.turns.own_alarm(state, incoming)
        if urgent is not None:
            told = replace(state.conversation, danger=Danger(told=0, shown=0))
            yield replace(urgent, state=replace(state, conversation=told))
            return
        contacts, minutes = self.pages.referral(state).brief(), max(1, round(self.left(state) / 60))
        still = self.pages.texts(state).pauses.still
        yield self._said(state, still.format(minutes=minutes, contacts=contacts))

    def _said(self, state: ChatState, text: str) -> Outgoing:
        button = Button(label=self.pages.texts(state).pauses.resume, command="resume")
        return Outgoing(text=text, buttons=((button,),), private=True, state=state)
