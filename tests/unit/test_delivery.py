"""Order, durability and another attempt, on a screen in memory: what holds on every platform."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.delivery.dispatch import AWAY_SECONDS, GIVE_UP_AFTER
from adapters.delivery.limits import ChatLimits
from adapters.delivery.screen import Gone, NotNow
from adapters.delivery.store import ChatStore
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.tables import chats, inbox
from engine.exceptions import StorageError
from engine.models.protocol import Prompt
from tests.chats import chat_over, delivered
from tests.storage import database_in, store_over
from tests.team import CITED, scripted

ANNA = ChatIdentity(platform="console", chat="anna")
BEN = ChatIdentity(platform="console", chat="ben")
VOICES, SLEEP = "What are the voices?", "How can I sleep better?"
SORRY = "Something went wrong on my side"


def message(text: str, identity: ChatIdentity = ANNA, **changes: Any) -> Incoming:
    return Incoming(identity=identity, text=text, at=time.time(), **changes)


def rows(store: ChatStore, table: Any) -> int:
    return store.database.run_now(lambda one: one.execute(select(func.count()).select_from(table)).scalar_one())


def pragma(database: Database, setting: str) -> None:
    """Set something of the connection that all work goes over."""
    connection = database.engine.raw_connection()
    try:
        connection.cursor().execute(f"PRAGMA {setting}")
    finally:
        connection.close()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database that outlives a dispatch, as one on disk outlives a process."""
    found = database_in(tmp_path)
    yield found
    await found.aclose()


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return chat_over(tmp_path / "kb")


async def test_an_answer_is_shown_and_nothing_of_the_message_waits(chat: Chat) -> None:
    """After the answer the state is stored, and the inbox is empty."""
    async with delivered(chat) as (dispatch, screen):
        assert await dispatch.take([message(VOICES)]) == 0
        await dispatch.idle()
        assert len(screen.texts(ANNA)) == 1 and "Voices are sounds" in screen.texts(ANNA)[0]
        assert (rows(dispatch.store, inbox), rows(dispatch.store, chats)) == (0, 1)


async def test_one_chat_is_answered_in_order_and_another_does_not_wait(tmp_path: Path) -> None:
    """Messages that arrive together are answered one after the other; somebody else's slow turn holds up nobody."""
    gate = asyncio.Event()
    model = scripted({"agent": CITED})
    complete = model.complete

    async def slow(prompt: Prompt, ledger: Any) -> Any:
        if prompt.role == "agent" and "SLOW" in prompt.messages[-1].content:
            await gate.wait()
        return await complete(prompt, ledger)

    model.complete = slow  # type: ignore[method-assign]
    async with delivered(chat_over(tmp_path, model)) as (dispatch, screen):
        await dispatch.take([message("SLOW why am I so tired?"), message("", command="help"), message(SLEEP, BEN)])
        while not screen.texts(BEN):  # noqa: ASYNC110 - the screen rings no bell
            await asyncio.sleep(0.01)
        assert screen.texts(ANNA) == []
        gate.set()
        await dispatch.idle()
        first, second = screen.texts(ANNA)
        assert CITED["reply"] in first and "/topics" in second


async def test_what_is_not_on_disk_is_not_acknowledged(chat: Chat, database: Database) -> None:
    """Where the database takes nothing, `take` raises, nothing is answered, and it does not count against the limits."""
    async with delivered(chat, store_over(database, now=time.time), ChatLimits(messages_a_minute=1)) as (
        dispatch,
        screen,
    ):
        pragma(database, "query_only=ON")
        with pytest.raises(StorageError):
            await dispatch.take([message(VOICES)])
        await dispatch.idle()
        assert screen.shown == []
        pragma(database, "query_only=OFF")
        assert await dispatch.take([message(VOICES)]) == 0
        await dispatch.idle()
        assert len(screen.shown) == 1


async def test_what_was_left_is_taken_up_and_answered_once(chat: Chat, database: Database) -> None:
    """A message that was on disk when the process ended is answered by the next one, and by no third."""
    store = store_over(database, now=time.time)
    await store.take([message(VOICES)])
    for left, shown in ((1, 1), (0, 0)):
        async with delivered(chat, store) as (dispatch, screen):
            assert await dispatch.resume() == left
            await dispatch.idle()
            assert len(screen.shown) == shown


async def test_what_ends_every_process_gets_an_apology(chat: Chat, database: Database) -> None:
    """A message over which process after process has ended is given up with one calm sentence."""
    store = store_over(database, now=time.time)
    (waiting,) = await store.take([message(VOICES)])
    for _ in range(GIVE_UP_AFTER):
        await store.tried([waiting.row])
    async with delivered(chat, store) as (dispatch, screen):
        await dispatch.resume()
        await dispatch.idle()
        assert len(screen.shown) == 1 and SORRY in screen.texts(ANNA)[0] and rows(store, inbox) == 0


async def test_an_answer_after_an_absence_says_so(chat: Chat, database: Database) -> None:
    """Whoever waited longer than a person would expect reads why before the answer."""
    store = store_over(database, now=time.time)
    await store.take([replace(message(VOICES), at=time.time() - AWAY_SECONDS - 1)])
    async with delivered(chat, store) as (dispatch, screen):
        await dispatch.resume()
        await dispatch.idle()
        assert screen.texts(ANNA)[0].startswith("I was away for a while.")


async def test_a_platform_that_asks_to_wait_is_tried_again(chat: Chat) -> None:
    """The answer comes once, after as many attempts as the platform needs."""
    async with delivered(chat) as (dispatch, screen):
        screen.failures = [NotNow(0.0), NotNow(0.0)]
        await dispatch.take([message(VOICES)])
        await dispatch.idle()
        assert len(screen.shown) == 1 and rows(dispatch.store, inbox) == 0


async def test_of_somebody_who_is_gone_nothing_stays(chat: Chat) -> None:
    """A person or place that cannot be reached any more is erased, with what still waited."""
    async with delivered(chat) as (dispatch, screen):
        await dispatch.take([message(VOICES)])
        await dispatch.idle()
        screen.failures = [Gone()]
        await dispatch.take([message(VOICES), message(SLEEP)])
        await dispatch.idle()
        assert len(screen.shown) == 1
        assert (rows(dispatch.store, inbox), rows(dispatch.store, chats)) == (0, 0)


async def test_forgetting_takes_along_what_still_waits(chat: Chat) -> None:
    """What was sent behind /forget before it was carried out is erased unanswered; what comes later is answered."""
    async with delivered(chat) as (dispatch, screen):
        await dispatch.take([message("", command="forget"), message(VOICES)])
        await dispatch.idle()
        assert len(screen.shown) == 1 and rows(dispatch.store, chats) == 0
        await dispatch.take([message(SLEEP)])
        await dispatch.idle()
        assert len(screen.shown) == 2


async def test_a_flood_is_refused_told_once_and_never_kept(chat: Chat) -> None:
    """Beyond the limit nothing is stored; the person is told once, and where help is; /crisis is answered all the same."""
    async with delivered(chat, limits=ChatLimits(messages_a_minute=1)) as (dispatch, screen):
        assert await dispatch.take([message(VOICES), message(SLEEP), message(SLEEP)]) == 2
        assert await dispatch.take([message("", command="crisis")]) == 0
        await dispatch.idle()
        told = [one for one in screen.texts(ANNA) if "several messages from you" in one]
        assert len(told) == 1 and "112" in told[0] and len(screen.shown) == 3


async def test_a_failure_is_one_calm_sentence_and_the_line_goes_on(tmp_path: Path) -> None:
    """An error nobody foresaw shows no trace of itself; the next message is answered."""

    def fails(_: Prompt) -> Any:
        raise RuntimeError("SECRET trace")

    async with delivered(chat_over(tmp_path, scripted({"agent": fails}))) as (dispatch, screen):
        await dispatch.take([message(SLEEP), message("", command="help")])
        await dispatch.idle()
        first, second = screen.texts(ANNA)
        assert SORRY in first and "SECRET" not in first and "/topics" in second


async def test_a_slow_turn_says_that_it_takes_longer(tmp_path: Path) -> None:
    """Whoever waits is told once, and then gets the answer."""
    async with delivered(chat_over(tmp_path, scripted({"agent": CITED}, latency=0.2))) as (dispatch, screen):
        dispatch.slow_after = 0.01
        await dispatch.take([message(SLEEP)])
        await dispatch.idle()
        assert [one.startswith("I am still working on it") for one in screen.texts(ANNA)] == [True, False]
