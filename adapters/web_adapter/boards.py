"""What the open pages of a chat show: a few recent entries, in memory only, and a bell for whoever waits for the next.

After a restart a board is made anew from the stored conversation; nothing of it lies on disk outside the seal. Where several
processes serve pages, boards lie on disk, sealed: `shared_boards`.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypeAlias

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.entries import Entry
from engine import StorageError

Take: TypeAlias = Callable[[Sequence[Incoming]], Awaitable[int]]
"""Puts messages on disk; how many were refused."""
MOST_ENTRIES = 40
MOST_CHARACTERS = 60_000


@dataclass(kw_only=True)
class Board:
    """One chat's entries. `epoch` tells a browser whether its numbers are still ours.

    `waiting`: messages taken and not yet begun; `working`: those being answered. `listening`:
    open pages that are told what is new. `status`: a word for a moment. Where it lies on disk, `version` and `seen_hour` are
    of what was read last, and `token` is what rings for it; `made`: how often its numbers have stayed and its entries not.
    """

    epoch: str = field(default_factory=lambda: secrets.token_hex(4))
    entries: deque[Entry] = field(default_factory=deque)
    polls: OrderedDict[str, Poll] = field(default_factory=OrderedDict)
    number: int = 0
    waiting: int = 0
    working: int = 0
    listening: int = 0
    done: int = 0
    status: str = ""
    seeded: bool = False
    closed: bool = False
    touched: float = 0.0
    version: int = 0
    seen_hour: int = 0
    token: bytes = b""
    made: int = 0
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self.waiting > 0 or self.working > 0

    @property
    def needed(self) -> bool:
        """Whether somebody waits for what comes here."""
        return self.busy or self.listening > 0

    def add(self, entry: Entry) -> Entry:
        """Put an entry at the end; the oldest go when there are too many."""
        self.number += 1
        entry = replace(entry, number=self.number)
        self.entries.append(entry)
        size = sum(len(one.text) for one in self.entries)
        while len(self.entries) > MOST_ENTRIES or (size > MOST_CHARACTERS and len(self.entries) > 2):
            size -= len(self.entries.popleft().text)
        self.ring()
        return entry

    def seed(self, restored: Sequence[Entry]) -> None:
        """Put what is stored before what has been shown since the restart, each once."""
        if self.seeded:
            return
        self.seeded = True
        known = [one.text for one in restored]
        since = [one for one in self.entries if not any(_same(one, text) for text in known)]
        self.entries, self.epoch = deque(), secrets.token_hex(4)
        for one in (*restored, *since):
            self.add(one)

    def after(self, number: int) -> list[Entry]:
        """Entries with higher numbers."""
        return [one for one in self.entries if one.number > number]

    @property
    def pressable(self) -> int:
        """The number of the entry whose buttons work: the last one, but for questions back, which follow an answer."""
        return next((one.number for one in reversed(self.entries) if one.kind != "question"), 0)

    def keep_poll(self, name: str, poll: Poll) -> None:
        """Remember a question that a page shows."""
        self.polls[name] = poll
        while len(self.polls) > 4:
            self.polls.popitem(last=False)

    def voted(self, name: str, status: str = "") -> None:
        """A question is answered, or cannot be any more: it is put to nobody again."""
        self.polls.pop(name, None)
        self.status = status or self.status
        for at, entry in enumerate(self.entries):
            if entry.poll is not None and entry.poll[0] == name:
                self.entries[at] = replace(entry, poll=None)
        self.ring()

    def tell(self, status: str) -> None:
        """A word for a moment."""
        self.status = status
        self.ring()

    def take_over(self, other: Board) -> None:
        """Show what another board shows."""
        self.epoch, self.number, self.status, self.seeded = other.epoch, other.number, other.status, other.seeded
        self.entries, self.polls = other.entries, other.polls
        self.ring()

    def wait_for(self, waiting: int) -> None:
        """So many messages are not answered yet."""
        if waiting != self.waiting:
            self.waiting = waiting
            self.ring()

    def ring(self) -> None:
        """Tell everybody who waits that something is new."""
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    @property
    def bell(self) -> asyncio.Event:
        """What is rung at the next change; take it before looking, so that no change falls in between."""
        return self._bell

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While an open page is told what is new here."""
        self.listening += 1
        try:
            yield
        finally:
            self.listening -= 1

    def close(self) -> None:
        """The chat is gone: open pages are told."""
        self.closed = True
        self.entries.clear()
        self.polls.clear()
        self.ring()


def _same(entry: Entry, text: str) -> bool:
    """Whether a stored text is what was shown; an answer may have been shown with a note before it."""
    return entry.text == text or (entry.kind != "you" and bool(text) and entry.text.endswith(text))


async def rung(bell: asyncio.Event, seconds: float) -> None:
    """Wait for a bell, or for some seconds."""
    with suppress(TimeoutError):
        await asyncio.wait_for(bell.wait(), seconds)


@dataclass(kw_only=True)
class Boards:
    """The boards of the chats seen last, none older than `idle_seconds`; `most` of them, and those that are needed."""

    most: int = 1000
    idle_seconds: float = 24 * 3600.0
    clock: Callable[[], float] = time.monotonic
    _boards: OrderedDict[ChatIdentity, Board] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._boards)

    # --- What pages do with a board ---------------------------------------------------------------------------------

    async def known(self, identity: ChatIdentity) -> Board | None:
        """A chat's board as it is now, if there is one. Raises StorageError where it lies on disk."""
        return self.find(identity)

    async def watched(self, identity: ChatIdentity) -> Board:
        """A chat's board for an open page, as it is now as far as that can be known."""
        return self.get(identity)

    async def change(self, identity: ChatIdentity, work: Callable[[Board], object]) -> Board:
        """Do something to a board. Raises StorageError where it lies on disk."""
        board = self.get(identity)
        work(board)
        return board

    async def note(self, identity: ChatIdentity, entry: Entry) -> None:
        """Show a word about what could not be taken; also where nothing can be stored."""
        await self.change(identity, lambda board: board.add(entry))

    async def take(self, steps: Sequence[Incoming], said: Entry | None, take: Take) -> int:
        """Show what somebody has said, and put it on disk; how many steps were refused. Raises StorageError.

        Until as many as were taken are answered, the board is busy.
        """
        board = self.get(steps[0].identity)
        if said is not None:
            board.add(said)
        board.waiting += len(steps)
        try:
            refused = await take(steps)
        except StorageError:
            board.waiting -= len(steps)
            raise
        board.waiting = max(0, board.waiting - refused)
        return refused

    async def calm(self, identity: ChatIdentity, seconds: float) -> None:
        """Wait until nothing of a chat is being answered, or for some seconds."""
        end = asyncio.get_running_loop().time() + seconds
        board = await self.watched(identity)
        while board.busy and not board.closed and (left := end - asyncio.get_running_loop().time()) > 0:
            with board.heard():
                await rung(board.bell, left)
            if not board.closed:
                board = await self.watched(identity)

    def lingers(self, identity: ChatIdentity) -> bool:
        """Whether an answer that is being made would still be written after its chat was erased."""
        board = self.find(identity)
        return board is not None and board.busy

    @asynccontextmanager
    async def answering(self, incoming: Incoming, said: Entry | None) -> AsyncIterator[None]:
        """While an answer is made, open pages say so."""
        board = self.get(incoming.identity)
        if board.waiting:
            board.waiting -= 1
        elif not board.seeded and incoming.command in {"", "ask"} and said is not None:
            board.add(said)  # so many chats are open that its board has been given up meanwhile
        board.working += 1
        board.ring()
        try:
            yield
        finally:
            board.working -= 1
            board.done += 1
            board.ring()

    # --- In memory --------------------------------------------------------------------------------------------------

    def get(self, identity: ChatIdentity) -> Board:
        """A chat's board, made where there is none."""
        now = self.clock()
        board = self._boards.get(identity)
        if board is not None and self._is_over(board, now):
            self.lose(identity)
            board = None
        if board is None:
            board = self._boards[identity] = Board()
        board.touched = now
        self._boards.move_to_end(identity)
        self._tidy(keep=identity)
        return board

    def find(self, identity: ChatIdentity) -> Board | None:
        """A chat's board, if there is one."""
        return self._boards.get(identity)

    def drop(self, identity: ChatIdentity) -> None:
        """Forget a chat's board."""
        board = self._boards.pop(identity, None)
        if board is not None:
            board.close()

    def lose(self, identity: ChatIdentity) -> None:
        """Forget a board whose chat has expired, or that is one too many: open pages look anew, and find what there is."""
        board = self._boards.pop(identity, None)
        if board is not None:
            board.ring()

    def sweep(self) -> None:
        """Forget the boards that nobody has looked at for so long that their chats have expired."""
        now = self.clock()
        for identity in [one for one, board in self._boards.items() if self._is_over(board, now)]:
            self.lose(identity)

    def _is_over(self, board: Board, now: float) -> bool:
        return now - board.touched > self.idle_seconds and not board.busy

    def close(self) -> None:
        """Wake all who wait, at the end of the process; what was shown stays where it is stored."""
        for board in self._boards.values():
            board.ring()

    def _tidy(self, keep: ChatIdentity) -> None:
        beyond = len(self._boards) - self.most
        if beyond > 0:
            idle = (one for one, board in self._boards.items() if not board.needed and one != keep)
            for identity in list(islice(idle, beyond)):
                self.lose(identity)
