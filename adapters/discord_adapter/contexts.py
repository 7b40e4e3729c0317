"""A person's contexts in one community: one of their own, and one in each question thread.

What somebody says for themselves alone never colours an answer that others read: threads have contexts apart. Consent,
country and language are the person's and hold in all of them; `/forget` erases all of them. So that they are found,
their names are kept, sealed for the person like a chat.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, delete, insert, select, update

from adapters.conversation.incoming import Incoming
from adapters.conversation.receipt import Receipt
from adapters.conversation.state import ChatState
from adapters.delivery.store import ChatStore, Kept
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Pseudonyms
from adapters.storage.tables import chats
from engine import Danger, SealBroken, StaleState

_THREADS = "threads"
MOST_THREADS = 500
"""Question threads of one person that are remembered at a time."""


def own(identity: ChatIdentity) -> ChatIdentity:
    """The context of the person alone."""
    return replace(identity, thread="") if identity.thread else identity


@dataclass(frozen=True, kw_only=True)
class PersonContexts:
    """What is the person's, carried between their contexts. `chats`: each by itself. `begin`: a new chat."""

    chats: ChatStore
    begin: Callable[[], ChatState]

    async def noted(self, arrived: Iterable[Incoming]) -> None:
        """Note in which threads the people of these messages have contexts."""
        threads: dict[ChatIdentity, dict[str, None]] = {}
        for one in arrived:
            if one.identity.thread:
                threads.setdefault(own(one.identity), {})[one.identity.thread] = None
        if threads:
            people = {person: await self.chats.naming.of(person) for person in threads}
            await self.chats.database.run(lambda connection: self._note(connection, people, threads))

    async def loaded(self, identity: ChatIdentity, kept: Kept) -> Kept:
        """A chat; in a thread with consent, country and language, and that danger was told, from anywhere."""
        if not identity.thread:
            return kept
        person = (await self.chats.load(own(identity))).state
        if person is None or not person.consented:
            return kept
        state = kept.state or self.begin()
        conversation = state.conversation
        if person.conversation.danger.told is not None:
            held = conversation.danger.held
            conversation = replace(conversation, danger=replace(person.conversation.danger, held=held))
        state = replace(
            state, conversation=conversation, country=person.country, language=person.language, consented=True
        )
        return replace(kept, state=state)

    async def finished(self, identity: ChatIdentity, state: ChatState) -> None:
        """Consent given in a thread, and that danger was told there, are the person's."""
        if identity.thread and state.consented:
            await self._consented(own(identity), state)

    async def forget(self, identity: ChatIdentity) -> Receipt:
        """Erase everything of a person in this community: their own context, and that of every thread."""
        person = own(identity)
        listed = await self.chats.naming.of(person)
        threads = await self.chats.database.run(lambda connection: self._threads(connection, listed))
        names = dict.fromkeys((person, *(replace(person, thread=one) for one in threads), identity))
        gone = [await self.chats.erase(one) for one in names]
        keys = listed.names(_THREADS)
        await self.chats.database.run(
            lambda connection: connection.execute(delete(chats).where(chats.c.chat.in_(keys)))
        )
        sums = {
            name: sum(getattr(one, name) for one in gone) for name in ("chat", "waiting", "asked", "polls", "reviews")
        }
        return Receipt(**sums)

    async def latest(self, identity: ChatIdentity) -> ChatIdentity:
        """The context in which the person was answered last: in the thread that was noted last, if there is one."""
        person = await self.chats.naming.of(own(identity))
        threads = await self.chats.database.run(lambda connection: self._threads(connection, person))
        return replace(identity, thread=threads[-1]) if threads else identity

    async def _consented(self, person: ChatIdentity, state: ChatState) -> None:
        kept = await self.chats.load(person)
        danger = replace(state.conversation.danger, held="")
        known = Danger() if kept.state is None else kept.state.conversation.danger
        same = danger == known or (danger.told is None and known.told is None)
        if kept.state is not None and kept.state.consented and same:
            names = await self.chats.naming.of(person)
            await self.chats.database.run(lambda connection: self._touch(connection, names))
            return
        there = kept.state or self.begin()
        there = replace(
            there,
            conversation=replace(there.conversation, danger=danger),
            country=state.country,
            language=state.language,
            consented=True,
        )
        try:
            await self.chats.finish(None, person, there, kept.version)
        except StaleState:  # they did something else at the same moment; consent is asked for once more
            return

    def _touch(self, connection: Connection, person: Pseudonyms) -> None:
        """What is the person's lives as long as the last of their threads, and so do the names of these."""
        keys = [person.present.name("chat"), *person.names(_THREADS)]
        connection.execute(update(chats).where(chats.c.chat.in_(keys)).values(seen_hour=self.chats.hour()))

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
        return {"chat": person.present.name(_THREADS), "version": 1, "seen_hour": self.chats.hour(), "sealed": sealed}

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
