"""Boards on disk, sealed as their chats are, for several processes that serve pages: one row a chat, written whole.

With each write a bell is rung for the row's pseudonym. What lies here expires and is erased like the chat itself.
"""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, case, delete, literal, select, update

from adapters.conversation.feedback_port import Poll
from adapters.conversation.outgoing import Button
from adapters.delivery.store import ChatStore, Superseded, Waiting
from adapters.storage.bells import ring
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Pseudonyms
from adapters.storage.tables import boards, inbox
from adapters.storage.upsert import insert_new
from adapters.web_adapter.boards import Board
from adapters.web_adapter.entries import Cited, Entry, Pictured
from engine import SealBroken

_BOARD = "board"
_FIRST = 2**30
"""Below it a row's first version is chosen at random: one that was erased and made anew is another one."""
_FORM = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptBoard:
    """What is known of a board. `board` is None where it is the one that is known already, or there is none (version 0)."""

    version: int = 0
    seen_hour: int = 0
    board: Board | None = None
    waiting: int = 0


@dataclass(frozen=True, kw_only=True)
class BoardStore:
    """Every method is one transaction and raises StorageError."""

    store: ChatStore

    async def load(self, identity: ChatIdentity, known: int = 0) -> KeptBoard:
        """A board, and how many messages of its chat wait; not opened where its version is `known`."""
        chat = await self.store.naming.of(identity)
        keys = chat.names(_BOARD)
        sealed = case((boards.c.version != literal(known), boards.c.sealed))
        wanted = select(boards.c.chat, boards.c.version, boards.c.seen_hour, sealed.label("sealed"))

        def work(connection: Connection) -> tuple[int, list[Any]]:
            # First what waits: an answer that is no longer awaited must be on the board that is read.
            waiting = self.store.count_waiting(connection, identity)
            return waiting, list(connection.execute(wanted.where(boards.c.chat.in_(keys))).all())

        waiting, rows = await self.store.database.run(work)
        by_key = {bytes(row.chat): row for row in rows}
        row = next((by_key[key] for key in keys if key in by_key), None)
        if row is None or row.seen_hour + self.store.idle_hours < self.store.hour():
            return KeptBoard(waiting=waiting)
        board = None if row.sealed is None else _opened(chat, row.sealed)
        return KeptBoard(version=row.version, seen_hour=row.seen_hour, board=board, waiting=waiting)

    async def change(
        self, identity: ChatIdentity, work: Callable[[Board], object], held: Waiting | None = None
    ) -> KeptBoard:
        """Do something to a board; as it is then. `held`: the message that is being answered; raises Superseded."""
        chat = await self.store.naming.of(identity)
        return await self.store.database.run(lambda connection: self.write(connection, chat, work, held))

    def write(
        self, connection: Connection, chat: Pseudonyms, work: Callable[[Board], object], held: Waiting | None = None
    ) -> KeptBoard:
        """The same within a transaction."""
        if held is not None:
            mine = select(inbox.c.id).where(held.held).with_for_update(read=True)
            if connection.execute(mine).first() is None:
                raise Superseded
        version, board = self._locked(connection, chat)
        _change(board, work, held)
        kept = KeptBoard(version=version + 1, seen_hour=self.store.hour(), board=board)
        values = {
            "version": kept.version,
            "seen_hour": kept.seen_hour,
            "sealed": chat.seal(_BOARD, board_to_json(board)),
        }
        name = chat.present.name(_BOARD)
        connection.execute(update(boards).where(boards.c.chat == name).values(values))
        ring(connection, [name])
        return kept

    def _locked(self, connection: Connection, chat: Pseudonyms) -> tuple[int, Board]:
        """The board, for nobody else until the end of the transaction; a new one where there is none (any more)."""
        name, *former = chat.names(_BOARD)
        there = select(boards.c.version, boards.c.seen_hour, boards.c.sealed)
        row = connection.execute(there.where(boards.c.chat == name).with_for_update()).first()
        if row is None:
            values = {"chat": name, "version": secrets.randbelow(_FIRST), "seen_hour": self.store.hour(), "sealed": b""}
            connection.execute(insert_new(connection.dialect.name, boards, values))
            row = connection.execute(there.where(boards.c.chat == name).with_for_update()).one()
            gone = delete(boards).where(boards.c.chat.in_(former)).returning(boards.c.sealed)
            before = connection.execute(gone).scalars().first() if former else None
            return row.version, _opened(chat, before or row.sealed)
        over = row.seen_hour + self.store.idle_hours < self.store.hour()
        return row.version, Board() if over else _opened(chat, row.sealed)

    async def ring(self, identity: ChatIdentity) -> None:
        """Something about a chat's messages has changed: open pages look."""
        name = (await self.store.naming.of(identity)).present.name(_BOARD)
        await self.store.database.run(lambda connection: ring(connection, [name]))

    async def token(self, identity: ChatIdentity) -> bytes:
        """What rings for a chat."""
        return (await self.store.naming.of(identity)).present.name(_BOARD)


def _change(board: Board, work: Callable[[Board], object], held: Waiting | None) -> None:
    """What a worker has shown of a message before it died, goes when another one shows what it has made of it."""
    if held is None or held.begun is None:
        work(board)
        return
    mine, number = (held.row, held.begun), board.number
    kept = [one for one in board.entries if one.answers[0] != held.row or one.answers == mine]
    if len(kept) < len(board.entries):
        board.entries, board.epoch = deque(kept), secrets.token_hex(4)
    work(board)
    board.entries = deque(replace(one, answers=mine) if one.number > number else one for one in board.entries)


def _opened(chat: Pseudonyms, sealed: bytes) -> Board:
    """An empty one where it does not open: it is then made of the conversation."""
    try:
        return board_from_json(chat.open(_BOARD, sealed))
    except (SealBroken, ValueError, KeyError, TypeError):
        return Board()


def board_to_json(board: Board) -> bytes:
    """What lies on disk of a board, for sealing."""
    kept = {
        "form": _FORM,
        "entries": [asdict(one) for one in board.entries],
        "polls": {name: poll.to_json().decode(errors="surrogatepass") for name, poll in board.polls.items()},
        **{name: getattr(board, name) for name in _PLAIN},
    }
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


def board_from_json(content: bytes) -> Board:
    """The inverse; raises ValueError, KeyError or TypeError for anything else."""
    kept = json.loads(content.decode(errors="surrogatepass"))
    if kept["form"] != _FORM:
        raise ValueError("a board of another form")
    polls = ((name, Poll.from_json(text.encode(errors="surrogatepass"))) for name, text in kept["polls"].items())
    return Board(
        entries=deque(_entry(one) for one in kept["entries"]),
        polls=OrderedDict(polls),
        **{name: kept[name] for name in _PLAIN},
    )


_PLAIN = ("epoch", "number", "status", "seeded")


def _entry(kept: dict[str, Any]) -> Entry:
    poll = kept["poll"]
    return Entry(
        **{
            **kept,
            "buttons": tuple(tuple(Button(**one) for one in row) for row in kept["buttons"]),
            "citations": tuple(Cited(**one) for one in kept["citations"]),
            "pictures": tuple(Pictured(**one) for one in kept["pictures"]),
            "answers": tuple(kept["answers"]),
            "poll": poll and (poll[0], tuple((code, text) for code, text in poll[1])),
        }
    )
