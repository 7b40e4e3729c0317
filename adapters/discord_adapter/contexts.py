"""A person's contexts in one community: one of their own, and one in each question thread.

What somebody says for themselves alone never colours an answer that others read: threads have contexts apart. Consent,
country and language are the person's and hold in all of them; `/forget` erases all of them. So that they are found,
their names are kept, sealed for the person like a chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from sqlalchemy import Connection, delete, insert, select, update

from adapters.chat.feedback_port import Poll
from adapters.chat.identity import ChatIdentity
from adapters.chat.incoming import Incoming
from adapters.chat.limits import ChatLimits
from adapters.chat.receipt import Receipt
from adapters.chat.state import ChatState
from adapters.chat.store import ChatStore, Kept, Waiting
from adapters.session import SessionState
from adapters.storage.naming import Pseudonyms
from adapters.storage.tables import chats
from engine.exceptions import SealBroken, StaleState
from engine.types import Danger

_THREADS = "threads"
MOST_THREADS = 500
"""Question threads of one person that are remembered at a time."""


def own(identity: ChatIdentity) -> ChatIdentity:
    """The context of the person alone."""
    return replace(identity, thread="") if identity.thread else identity


@dataclass(frozen=True, kw_only=True)
class PersonStore(ChatStore):
    """Chats on disk, with what is the person's carried between their contexts. `begin`: a new session."""

    begin: Callable[[], SessionState]

    @classmethod
    def over(cls, store: ChatStore, begin: Callable[[], SessionState]) -> PersonStore:
        """The same store, seen so."""
        return cls(begin=begin, **{one.name: getattr(store, one.name) for one in fields(ChatStore)})

    async def take(self, arrived: Iterable[Incoming], cursor: tuple[str, int] | None = None) -> list[Waiting]:
        """Put messages on disk; before that, note in which threads their people have contexts."""
        arrived = list(arrived)
        threads: dict[ChatIdentity, dict[str, None]] = {}
        for one in arrived:
            if one.identity.thread:
                threads.setdefault(own(one.identity), {})[one.identity.thread] = None
        if threads:
            people = {person: await self.naming.of(person) for person in threads}
            await self.database.run(lambda connection: self._note(connection, people, threads))
        return await super().take(arrived, cursor)

    async def load(self, identity: ChatIdentity) -> Kept:
        """A chat's state; in a thread with consent, country and language, and that danger was told, from anywhere."""
        kept = await super().load(identity)
        if not identity.thread:
            return kept
        person = (await super().load(own(identity))).state
        if person is None or not person.consented:
            return kept
        state = kept.state or ChatState(session=self.begin())
        conversation = state.session.conversation
        if person.session.conversation.danger.told is not None:
            held = conversation.danger.held
            conversation = replace(conversation, danger=replace(person.session.conversation.danger, held=held))
        session = replace(
            state.session,
            conversation=conversation,
            country=person.session.country,
            language=person.session.language,
        )
        return replace(kept, state=replace(state, session=session, consented=True))

    async def finish(
        self,
        row: int | None,
        identity: ChatIdentity,
        state: ChatState | None,
        version: int,
        poll: tuple[str, Poll] | None = None,
    ) -> int:
        """Store what came of a message; consent given in a thread, and that danger was told there, are the person's."""
        written = await super().finish(row, identity, state, version, poll)
        if identity.thread and state is not None and state.consented:
            await self._consented(own(identity), state)
        return written

    async def forget(self, identity: ChatIdentity) -> Receipt:
        """Erase everything of a person in this community: their own context, and that of every thread."""
        person = own(identity)
        listed = await self.naming.of(person)
        threads = await self.database.run(lambda connection: self._threads(connection, listed))
        names = dict.fromkeys((person, *(replace(person, thread=one) for one in threads), identity))
        gone = [await self.erase(one) for one in names]
        keys = listed.names(_THREADS)
        await self.database.run(lambda connection: connection.execute(delete(chats).where(chats.c.chat.in_(keys))))
        sums = {
            name: sum(getattr(one, name) for one in gone) for name in ("chat", "waiting", "asked", "polls", "reviews")
        }
        return Receipt(**sums)

    async def latest(self, identity: ChatIdentity) -> ChatIdentity:
        """The context in which the person was answered last: in the thread that was noted last, if there is one."""
        person = await self.naming.of(own(identity))
        threads = await self.database.run(lambda connection: self._threads(connection, person))
        return replace(identity, thread=threads[-1]) if threads else identity

    async def put_cursor(self, name: str, value: int) -> None:
        """Note a number under a name, without any message."""
        await super().take([], (name, value))

    async def _consented(self, person: ChatIdentity, state: ChatState) -> None:
        kept = await super().load(person)
        danger = replace(state.session.conversation.danger, held="")
        known = Danger() if kept.state is None else kept.state.session.conversation.danger
        same = danger == known or (danger.told is None and known.told is None)
        if kept.state is not None and kept.state.consented and same:
            names = await self.naming.of(person)
            await self.database.run(lambda connection: self._touch(connection, names))
            return
        begun = self.begin() if kept.state is None else kept.state.session
        session = replace(
            begun,
            conversation=replace(begun.conversation, danger=danger),
            country=state.session.country,
            language=state.session.language,
        )
        there = kept.state or ChatState(session=session)
        try:
            await super().finish(None, person, replace(there, session=session, consented=True), kept.version)
        except StaleState:  # they did something else at the same moment; consent is asked for once more
            return

    def _touch(self, connection: Connection, person: Pseudonyms) -> None:
        """What is the person's lives as long as the last of their threads, and so do the names of these."""
        keys = [person.present.name("chat"), *person.names(_THREADS)]
        connection.execute(update(chats).where(chats.c.chat.in_(keys)).values(seen_hour=self._hour()))

    # --- The names of threads, in one row a person --------------------------------------------------------------------

    def _note(
        self,
        connection: Connection,
        people: Mapping[ChatIdentity, Pseudonyms],
        threads: Mapping[ChatIdentity, Iterable[str]],
    ) -> None:
        """Note threads of some people, the latest last; of all of them together, as everybody's acknowledgement waits."""
        keys = {person: names.names(_THREADS) for person, names in people.items()}
        named = [key for several in keys.values() for key in several]
        query = select(chats.c.chat, chats.c.sealed).where(chats.c.chat.in_(named))
        sealed = {bytes(chat): content for chat, content in connection.execute(query)}
        gone: list[bytes] = []
        rows: list[dict[str, object]] = []
        for person, new in threads.items():
            known = _opened(people[person], sealed)
            kept = [*(one for one in known if one not in new), *new][-MOST_THREADS:]
            if kept != known:
                gone += keys[person]
                rows.append(self._list_row(people[person], kept))
        if rows:
            connection.execute(delete(chats).where(chats.c.chat.in_(gone)))
            connection.execute(insert(chats), rows)

    def _list_row(self, person: Pseudonyms, kept: Sequence[str]) -> dict[str, object]:
        sealed = person.seal(_THREADS, json.dumps(kept).encode())
        return {"chat": person.present.name(_THREADS), "version": 1, "seen_hour": self._hour(), "sealed": sealed}

    def _threads(self, connection: Connection, person: Pseudonyms) -> list[str]:
        query = select(chats.c.chat, chats.c.sealed).where(chats.c.chat.in_(person.names(_THREADS)))
        return _opened(person, {bytes(chat): sealed for chat, sealed in connection.execute(query)})


def _opened(person: Pseudonyms, sealed: Mapping[bytes, bytes]) -> list[str]:
    """The threads of a person, from the first row of theirs among some."""
    for key in person.names(_THREADS):
        if key in sealed:
            try:
                return [str(one) for one in json.loads(person.open(_THREADS, sealed[key]))]
            except (SealBroken, ValueError):
                return []
    return []


class PersonLimits(ChatLimits):
    """Limits of a person: a new question thread does not begin a new count."""

    def admit(self, incoming: Incoming, ahead: int) -> bool:
        """Whether a message is taken, with so many of the same chat ahead of it."""
        return super().admit(replace(incoming, identity=own(incoming.identity)), ahead)

    def may_tell(self, identity: ChatIdentity) -> bool:
        """Whether the person may be told again that they are too fast."""
        return super().may_tell(own(identity))
