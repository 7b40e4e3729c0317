"""`/forget`: one eraser a table that holds anything of a chat, and a receipt of what each erased."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete

from adapters.storage.bells import ring
from adapters.storage.pseudonyms import Pseudonyms
from adapters.storage.tables import asked, boards, chats, inbox, polls, reviews


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """The names of one chat, under every secret and in every form that may still be on disk.

    `kept`: the waiting message that asks for the erasure, and goes when it is answered; it is counted all the same.
    """

    chat: Sequence[bytes]
    asked: Sequence[bytes]
    inbox: Sequence[bytes] = ()
    board: Sequence[bytes] = ()
    kept: int | None = None

    @classmethod
    def of(cls, chat: Pseudonyms, inbox: bytes, kept: int | None = None) -> Names:
        """All names of a chat; `inbox` is the one under which its messages wait."""
        names = chat.names("chat")
        return cls(chat=names, asked=chat.names("asked"), inbox=(inbox, *names), board=chat.names("board"), kept=kept)


Eraser = Callable[[Connection, Names], int]


def _by_chat(table: Table) -> Eraser:
    def erase(connection: Connection, names: Names) -> int:
        return connection.execute(delete(table).where(table.c.chat.in_(names.chat))).rowcount

    return erase


def _inbox(connection: Connection, names: Names) -> int:
    waiting = delete(inbox).where(inbox.c.chat.in_(names.inbox))
    if names.kept is None:
        return connection.execute(waiting).rowcount
    return connection.execute(waiting.where(inbox.c.id != names.kept)).rowcount + 1


def _asked(connection: Connection, names: Names) -> int:
    return connection.execute(delete(asked).where(asked.c.person.in_(names.asked))).rowcount


def _boards(connection: Connection, names: Names) -> int:
    """After the messages: whoever answers one holds it while it is shown."""
    gone = delete(boards).where(boards.c.chat.in_(names.board)).returning(boards.c.chat)
    tokens = connection.execute(gone).scalars().all()
    ring(connection, tokens)
    return len(tokens)


ERASERS: Mapping[str, Eraser] = {
    "chats": _by_chat(chats),
    "inbox": _inbox,
    "asked": _asked,
    "polls": _by_chat(polls),
    "reviews": _by_chat(reviews),
    "boards": _boards,
}


def erase(connection: Connection, names: Names) -> dict[str, int]:
    """Erase everything of one chat; how many rows of each table are gone."""
    return {table: eraser(connection, names) for table, eraser in ERASERS.items()}
