"""Outgoing messages onto boards: whoever has the page open sees them come, whoever comes back finds them there."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.web_adapter.boards import Boards
from adapters.web_adapter.entries import Entries
from adapters.web_adapter.metrics import counts

QUIET = "quiet"
"""In the place of an incoming: what comes of it is stored and not shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """An outgoing message on its way to a board; `poll` is the name it will have, if it is one."""

    incoming: Incoming
    outgoing: Outgoing
    poll: str = ""


@dataclass(frozen=True, kw_only=True)
class WebScreen:
    """The boards as a platform's screen. `timed`: told how many seconds an answer took that counts."""

    boards: Boards
    entries: Entries
    clock: Callable[[], float]
    timed: Callable[[float], None] = lambda seconds: None

    def parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[Part]:
        """One part; none for what is not to be seen."""
        if incoming.place.get(QUIET):
            return ()
        return [Part(incoming=incoming, outgoing=outgoing, poll="" if outgoing.poll is None else secrets.token_hex(16))]

    async def send(self, part: Part) -> str | None:
        """Put it on the chat's board; the name of a poll."""
        identity, outgoing = part.incoming.identity, part.outgoing
        if outgoing.erased:
            self.boards.drop(identity)
            return None
        board = self.boards.get(identity)
        language = self._language(part.incoming, outgoing)
        if outgoing.poll is not None:
            entry = self.entries.shown(outgoing, language)
            board.keep_poll(part.poll, outgoing.poll)
            board.add(replace(entry, poll=(part.poll, outgoing.poll.options)))
            return part.poll
        if outgoing.brief:
            board.status = outgoing.text
            board.ring()
            return None
        board.status = ""
        board.add(self.entries.shown(outgoing, language))
        if counts(outgoing) and board.begun is not None:
            self.timed(self.clock() - board.begun)
        return None

    @asynccontextmanager
    async def busy(self, incoming: Incoming) -> AsyncIterator[None]:
        """While an answer is made, open pages say so."""
        board = self.boards.get(incoming.identity)
        if board.waiting:
            board.waiting -= 1
        elif not board.seeded and incoming.command in {"", "ask"} and (said := self.entries.said(incoming)) is not None:
            board.add(said)  # so many chats are open that its board has been given up meanwhile
        board.working += 1
        board.begun = self.clock()
        board.ring()
        try:
            yield
        finally:
            board.working -= 1
            board.begun = None
            board.done += 1
            board.ring()

    def _language(self, incoming: Incoming, outgoing: Outgoing) -> str:
        state = outgoing.state
        chosen = None if state is None else state.language
        return chosen or incoming.language or self.entries.chat.languages.default
