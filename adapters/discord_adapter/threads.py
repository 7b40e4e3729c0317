"""Whose a question thread is. Discord remembers it for us: in the message that the thread was started from."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import discord

from adapters.discord_adapter.codes import Code
from adapters.storage.identity import ChatIdentity

_REMEMBERED = 2000
_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ThreadAsker:
    """Who asked in a thread, and the name of their context in it."""

    user: int
    context: str


@dataclass(kw_only=True)
class Threads:
    """Askers by thread. A thread on somebody's message is theirs; one on ours names the asker in its button.

    They are forgotten after an hour without a message, as Discord knows them all the same.
    """

    clock: Callable[[], float] = time.monotonic
    _known: OrderedDict[int, tuple[ThreadAsker, float]] = field(default_factory=OrderedDict)

    def started(self, thread: int, asker: ThreadAsker) -> None:
        """A thread was started for somebody."""
        self._known[thread] = asker, self.clock()
        self._known.move_to_end(thread)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    async def asker(
        self, client: discord.Client, thread: int, parent: int | None, owner: int | None
    ) -> ThreadAsker | None:
        """The asker of one of our threads; None for other threads, and where the first message is gone."""
        me = client.user
        if me is None or parent is None or owner != me.id:
            return None
        if thread not in self._known:
            try:
                first = await client.get_partial_messageable(parent).fetch_message(thread)
            except (discord.NotFound, discord.Forbidden):
                return None
            asker = _asker(first, me.id)
            if asker is None:
                return None
            self.started(thread, asker)
        found, _ = self._known[thread]
        self.started(thread, found)
        return found

    def drop(self, identity: ChatIdentity) -> None:
        """Somebody has erased everything of theirs."""
        self._known = OrderedDict((thread, one) for thread, one in self._known.items() if not _is(one[0], identity))

    def sweep(self) -> None:
        """Forget threads in which nobody has written for a while."""
        now = self.clock()
        while self._known and next(iter(self._known.values()))[1] < now - _SECONDS:
            self._known.popitem(last=False)


def _is(asker: ThreadAsker, identity: ChatIdentity) -> bool:
    return str(asker.user) == identity.user


def _asker(first: discord.Message, me: int) -> ThreadAsker | None:
    if first.author.id != me:
        return ThreadAsker(user=first.author.id, context=str(first.id))
    for row in first.components:
        for part in getattr(row, "children", ()):
            code = Code.read(getattr(part, "custom_id", None) or "")
            if code is not None:
                return ThreadAsker(user=code.owner, context=code.context)
    return None
