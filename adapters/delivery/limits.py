"""How much one chat may ask at a time, so that nobody waits for somebody else's flood; what gets through all the same."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.conversation.incoming import Incoming
from adapters.storage.identity import ChatIdentity, Passing

_MINUTE = 60.0
_TELL_EVERY = 60.0
_MOST_CHATS = 20_000
UNLIMITED_COMMANDS = {"crisis", "people", "danger", "forget", "stop", "safe", "decided"}
"""Commands that no limit holds back: help, leaving, and a reply that has waited for a moderator."""


@dataclass(kw_only=True)
class ChatLimits:
    """Limits of each chat: messages a minute, messages waiting. In memory, by the clock that never jumps.

    Chats have passing names here, as erasing a chat must not be a way around its limits. `whose`: the chat that one counts as.
    """

    messages_a_minute: int = 12
    waiting: int = 5
    clock: Callable[[], float] = time.monotonic
    whose: Callable[[ChatIdentity], ChatIdentity] = lambda identity: identity
    _names: Passing = field(default_factory=Passing)
    _taken: dict[bytes, deque[float]] = field(default_factory=dict)
    _told: dict[bytes, float] = field(default_factory=dict)

    def admit(self, incoming: Incoming, ahead: int) -> bool:
        """Whether a message is taken, with so many of the same chat ahead of it."""
        if incoming.command in UNLIMITED_COMMANDS:
            return ahead < 4 * self.waiting
        now = self.clock()
        taken = self._taken.setdefault(self._name(incoming.identity), deque())
        while taken and taken[0] <= now - _MINUTE:
            taken.popleft()
        if ahead >= self.waiting or len(taken) >= self.messages_a_minute:
            return False
        taken.append(now)
        if len(self._taken) > _MOST_CHATS:
            self.sweep()
        return True

    def take_back(self, incoming: Incoming) -> None:
        """A message that was admitted could not be stored: it does not count, as it will come again."""
        taken = self._taken.get(self._name(incoming.identity))
        if taken and incoming.command not in UNLIMITED_COMMANDS:
            taken.pop()

    def may_tell(self, identity: ChatIdentity) -> bool:
        """Whether a chat may be told again that it is too fast: once a minute."""
        now, name = self.clock(), self._name(identity)
        if now - self._told.get(name, -_TELL_EVERY) < _TELL_EVERY:
            return False
        self._told[name] = now
        if len(self._told) > _MOST_CHATS:
            self.sweep()
        return True

    def _name(self, identity: ChatIdentity) -> bytes:
        return self._names.name(self.whose(identity))

    def sweep(self) -> None:
        """Forget the chats that no limit holds back any more."""
        now = self.clock()
        self._taken = {one: taken for one, taken in self._taken.items() if taken and taken[-1] > now - _MINUTE}
        self._told = {one: at for one, at in self._told.items() if at > now - _TELL_EVERY}
