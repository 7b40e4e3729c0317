"""Outgoing messages onto boards: whoever has the page open sees them come, whoever comes back finds them there."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.delivery.screen import NotNow
from adapters.web_adapter.boards import Board, Boards
from adapters.web_adapter.entries import QUIET, Entries
from engine import StorageError

TROUBLE_SECONDS = 2.0
"""Until the next attempt, where boards lie on disk and nothing can be written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """An outgoing message on its way to a board; `poll` is the name it will have, if it is one."""

    incoming: Incoming
    outgoing: Outgoing
    poll: str = ""


@dataclass(frozen=True, kw_only=True)
class WebScreen:
    """The boards as a platform's screen."""

    boards: Boards
    entries: Entries

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
        entry = self.entries.shown(outgoing, self._language(part.incoming, outgoing))

        def put(board: Board) -> None:
            if outgoing.poll is not None:
                board.keep_poll(part.poll, outgoing.poll)
                board.add(replace(entry, poll=(part.poll, outgoing.poll.options)))
            elif outgoing.brief:
                board.tell(outgoing.text)
            else:
                board.status = ""
                board.add(entry)

        try:
            await self.boards.change(identity, put)
        except StorageError:
            raise NotNow(TROUBLE_SECONDS) from None
        return part.poll or None

    def busy(self, incoming: Incoming) -> AbstractAsyncContextManager[object]:
        """While an answer is made, open pages say so."""
        return self.boards.answering(incoming, self.entries.said(incoming))

    def _language(self, incoming: Incoming, outgoing: Outgoing) -> str:
        state = outgoing.state
        chosen = None if state is None else state.language
        return chosen or incoming.language or self.entries.chat.languages.default
