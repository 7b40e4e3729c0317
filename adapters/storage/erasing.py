"""`/forget`: one eraser a table that holds anything of a chat, and a receipt of what each erased."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete

from adapters.chat.identity import ChatIdentity
from adapters.storage.sealing import Keyring
from adapters.storage.tables import asked, chats, inbox, polls, reviews


@dataclass(frozen=True, kw_only=True, slots=True)
class Names:
    """The pseudonyms of one chat, under every secret in the keyring."""

    chat: Sequence[bytes]
    asked: Sequence[bytes]

    @classmethod
    def of(cls, keyring: Keyring, identity: ChatIdentity) -> Names:
        """All names of one identity."""
        return cls(
            chat=keyring.chat_keys(identity),
            asked=keyring.names("asked", identity.canonical()),
        )


Eraser = Callable[[Connection, Names], int]


def _by_chat(table: Table) -> Eraser:
    def erase(connection: Connection, names: Names) -> int:
        return connection.execute(delete(table).where(table.c.chat.in_(names.chat))).rowcount

    return erase


def _asked(connection: Connection, names: Names) -> int:
    return connection.execute(delete(asked).where(asked.c.person.in_(names.asked))).rowcount


ERASERS: Mapping[str, Eraser] = {
    "chats": _by_chat(chats),
    "inbox": _by_chat(inbox),
    "asked": _asked,
    "polls": _by_chat(polls),
    "reviews": _by_chat(reviews),
}


def erase(connection: Connection, names: Names) -> dict[str, int]:
    """Erase everything of one chat; how many rows of each table are gone."""
    return {table: eraser(connection, names) for table, eraser in ERASERS.items()}
