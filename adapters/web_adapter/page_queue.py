"""The queue as the page uses it: what somebody has said is shown and stored at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from adapters.conversation.incoming import Incoming
from adapters.delivery.job_queue import JobQueue
from adapters.delivery.store import Stored, Waiting
from adapters.web_adapter.board_store import BoardStore
from adapters.web_adapter.boards import Board
from adapters.web_adapter.entries import Entries


@dataclass(frozen=True, kw_only=True)
class PageQueue(JobQueue):
    """The queue of a process that serves pages: what somebody has said is on the board with the message, or neither is."""

    boards: BoardStore
    entries: Entries

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None) -> Sequence[Waiting]:
        """On disk with their jobs, and on their boards, in one transaction."""
        said = [(one.identity, entry) for one in arrived if (entry := self.entries.said(one)) is not None]
        shown = [(await self.store.naming.of(identity), entry) for identity, entry in said]

        def enqueue(connection: Connection, stored: Sequence[Stored]) -> None:
            self.enqueue(connection, stored)
            for chat, entry in shown:
                self.boards.write(connection, chat, partial(Board.add, entry=entry))

        await self.store.take(arrived, cursor, enqueue)
        return ()
