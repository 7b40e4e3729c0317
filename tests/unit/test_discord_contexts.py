"""A person's contexts on Discord, on disk; and the custom ids that lead back to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation.incoming import Incoming
from adapters.conversation.state import ChatState
from adapters.delivery.limits import ChatLimits
from adapters.delivery.store import ChatStore
from adapters.discord_adapter.codes import LONGEST, Code
from adapters.discord_adapter.contexts import PersonContexts, own
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from engine.types import Conversation, Danger

PERSON = ChatIdentity(platform="discord", chat="1", user="2")
THREADS = [replace(PERSON, thread=str(number)) for number in (11, 12, 13)]
FIRST, SECOND = Secret(b"1" * 32), Secret(b"2" * 32)


class Clock:
    hours = 0

    def now(self) -> float:
        return 1_700_000_000 + self.hours * 3600.0


def begin() -> ChatState:
    return ChatState(conversation=Conversation(assistant="a", messages=()))


def over(chats: ChatStore, **changes: Any) -> ChatStore:
    chats = replace(chats, contexts=None, **changes)
    return replace(chats, contexts=PersonContexts(chats=chats, begin=begin))


def people(store: ChatStore) -> PersonContexts:
    assert isinstance(store.contexts, PersonContexts)
    return store.contexts


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ChatStore]:
    database = Database(f"sqlite:///{tmp_path}/cafi.db")
    migrate(database)
    chats = ChatStore(
        database=database, naming=Naming(Keyring(current=FIRST)), inbox_secret=Secret(b"3" * 32), now=Clock().now
    )
    yield over(chats)
    await database.aclose()


async def talked(store: ChatStore, identity: ChatIdentity, **changes: object) -> None:
    (waiting,) = await store.take([Incoming(identity=identity, text="x")])
    kept = await store.load(identity)
    state = kept.state or begin()
    await store.finish(waiting.row, identity, replace(state, consented=True, **changes), kept.version)  # type: ignore[arg-type]


async def test_consent_given_in_one_thread_holds_in_the_next_and_the_talk_does_not(store: ChatStore) -> None:
    """A new thread begins with consent, country and language, and with nothing that was said elsewhere."""
    said = replace(begin().conversation, danger=Danger(told=0, held="something said"))
    await talked(store, THREADS[0], country="no", language="nb", conversation=said, answered=7, waiting="a question")
    state = (await store.load(THREADS[1])).state
    assert state is not None and state.consented
    assert (state.country, state.language) == ("no", "nb")
    assert (state.conversation.danger.held, state.answered, state.waiting) == ("", 0, "")


async def test_everything_of_a_person_is_erased_after_a_change_of_secrets_too(store: ChatStore) -> None:
    """The names of threads are found under a former secret; nobody else's are touched."""
    for identity in (PERSON, *THREADS[:2]):
        await talked(store, identity)
    other = replace(PERSON, user="3", thread="11")
    await talked(store, other)
    store = over(store, naming=Naming(Keyring(current=SECOND, former=(FIRST,))))
    await talked(store, THREADS[2])
    assert await people(store).latest(PERSON) == THREADS[2]
    assert (await people(store).forget(THREADS[0])).chat >= 4
    assert [(await store.load(one)).state for one in (PERSON, *THREADS)] == [None] * 4
    assert await people(store).latest(PERSON) == PERSON
    assert (await store.load(other)).state is not None


async def test_the_names_of_threads_live_as_long_as_the_threads(tmp_path: Path, store: ChatStore) -> None:
    """Activity in one thread keeps the list of all, so that /forget finds what there is."""
    clock = Clock()
    store = over(store, now=clock.now)
    await talked(store, THREADS[0])
    for _ in range(2):
        clock.hours += 20
        await talked(store, THREADS[0])
        await store.sweep(14)
    assert await people(store).latest(PERSON) == THREADS[0]
    assert (await people(store).forget(PERSON)).chat == 2
    clock.hours += 20
    assert await store.sweep(14) == 0


def test_new_threads_do_not_begin_new_limits() -> None:
    """Twelve questions a minute are twelve, in however many threads."""
    plain, person = ChatLimits(messages_a_minute=2), ChatLimits(messages_a_minute=2, whose=own)
    asked = [Incoming(identity=one) for one in THREADS]
    assert [plain.admit(one, 0) for one in asked] == [True, True, True]
    assert [person.admit(one, 0) for one in asked] == [True, True, False]
    assert person.may_tell(THREADS[0]) and not person.may_tell(THREADS[1])


@given(
    st.integers(0, 2**64 - 1),
    st.one_of(st.just(""), st.integers(1, 2**64 - 1).map(str)),
    st.sampled_from(["more", "topic", "consent", "vote"]),
    st.text(max_size=40).filter(lambda text: "|" not in text),
    st.one_of(st.none(), st.integers(0, 99_999_999)),
)
def test_custom_ids_lead_back(owner: int, context: str, command: str, argument: str, about: int | None) -> None:
    """What a button stands for is read back whole, whoever's and wherever it is."""
    code = Code(owner=owner, context=context, command=command, argument=argument, about=about)
    assert Code.read(code.custom_id()) == code
    assert len(Code(owner=2**64 - 1, context=str(2**64 - 1), command="", argument="x" * 62).custom_id()) <= LONGEST


@given(st.text(max_size=120))
def test_other_peoples_custom_ids_are_none_of_ours(text: str) -> None:
    """Anything may come back as a custom id; nothing of it raises."""
    code = Code.read(text)
    assert code is None or Code.read(code.custom_id()) == code
