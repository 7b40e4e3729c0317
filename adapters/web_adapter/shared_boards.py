"""The boards where several processes serve pages and others answer: in memory only what open pages show, the rest on disk.

A process hears of changes by bells (`adapters/storage/bells.py`) and looks by itself now and then, as a bell may be missed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from adapters.conversation.incoming import Incoming
from adapters.delivery.store import Waiting
from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.board_store import BoardStore, KeptBoard
from adapters.web_adapter.boards import Board, Boards, Take
from adapters.web_adapter.entries import Entry
from engine import StorageError


@dataclass(kw_only=True)
class SharedBoards(Boards):
    """Boards on disk. `held`: the message that this task answers, in a worker."""

    kept: BoardStore
    held: Callable[[], Waiting | None] = lambda: None
    _tokens: dict[bytes, ChatIdentity] = field(default_factory=dict)

    async def known(self, identity: ChatIdentity) -> Board | None:
        """A chat's board as it is on disk; None where nothing is, and nothing waits either."""
        found = await self._looked(identity)
        return None if found.closed or not (found.version or found.busy) else found

    async def watched(self, identity: ChatIdentity) -> Board:
        """As it is on disk, or was when that could last be read. Closed where the chat was erased."""
        with suppress(StorageError):
            return await self._looked(identity)
        return self.get(identity)

    async def change(self, identity: ChatIdentity, work: Callable[[Board], object]) -> Board:
        """On disk; raises StorageError, and Superseded where the message that it answers is another worker's now."""
        board = self.get(identity)
        kept = await self.kept.change(identity, work, self.held())
        _take_over(board, kept)
        return board

    async def note(self, identity: ChatIdentity, entry: Entry) -> None:
        """Where nothing can be stored, on the pages that are open here: help must be seen all the same."""
        try:
            await self.change(identity, lambda board: board.add(entry))
        except StorageError:
            board = self.get(identity)
            board.add(entry)
            board.version = -1  # whatever is read next is another one

    async def take(self, steps: Sequence[Incoming], said: Entry | None, take: Take) -> int:
        """What is said is shown by the transaction that stores the message (`PageQueue`); what was refused, after it."""
        identity = steps[0].identity
        refused = await take(steps)
        if refused and said is not None:
            await self.change(identity, lambda board: board.add(said))
        elif said is None:
            with suppress(StorageError):  # they are on disk; pages look by themselves
                await self.kept.ring(identity)
        if (board := self.find(identity)) is not None:
            board.ring()
        return refused

    def lingers(self, identity: ChatIdentity) -> bool:
        """Never: who erases a chat takes its messages out of the hands of whoever answers them."""
        return False

    @asynccontextmanager
    async def answering(self, incoming: Incoming, said: Entry | None) -> AsyncIterator[None]:
        """What waits is counted on disk; when it is less, whoever looks is told. Nothing of the chat stays in the worker."""
        try:
            yield
        finally:
            self.lose(incoming.identity)
            with suppress(StorageError):  # pages look by themselves
                await self.kept.ring(incoming.identity)

    # --- Bells ------------------------------------------------------------------------------------------------------

    def heard(self, token: bytes) -> None:
        """Something is new on a board; its open pages look."""
        identity = self._tokens.get(token)
        board = None if identity is None else self.find(identity)
        if board is not None:
            board.ring()

    def missed(self) -> None:
        """Something may be new on any board."""
        self.close()

    async def _looked(self, identity: ChatIdentity) -> Board:
        board = self.get(identity)
        if not board.token:
            board.token = await self.kept.token(identity)
            self._tokens[board.token] = identity
        kept = await self.kept.load(identity, board.version)
        if board.closed:  # meanwhile
            return board
        if kept.version:
            _take_over(board, kept)
        elif board.version > 0:
            expired = board.seen_hour + self.kept.store.idle_hours < self.kept.store.hour()
            (self.lose if expired else self.drop)(identity)
            if expired:
                return self.get(identity)
            board.close()
        board.wait_for(kept.waiting)
        return board

    def drop(self, identity: ChatIdentity) -> None:
        """Forget a chat's board."""
        self._forget(identity)
        super().drop(identity)

    def lose(self, identity: ChatIdentity) -> None:
        """Forget a board; open pages look anew."""
        self._forget(identity)
        super().lose(identity)

    def _forget(self, identity: ChatIdentity) -> None:
        board = self.find(identity)
        if board is not None:
            self._tokens.pop(board.token, None)


def _take_over(board: Board, kept: KeptBoard) -> None:
    """What was read last is not always what was written last."""
    board.seen_hour = kept.seen_hour
    if kept.board is None or kept.version == board.version:
        return
    if kept.board.epoch == board.epoch and kept.version < board.version:
        return
    board.made += board.version < 0
    board.version = kept.version
    board.take_over(kept.board)
