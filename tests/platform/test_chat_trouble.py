"""When storage fails under the running bot: a calm word with help for the person, a clear one for the operator."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from adapters.conversation.incoming import Incoming
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.tables import chats, inbox, outbox
from adapters.telegram_adapter.adapter import TelegramBot
from engine.exceptions import StorageError
from rehearsal.telegram_world import TelegramPerson
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.team import scripted
from tests.telegram import agreed, running

CALM = "I cannot take messages at the moment."
URGENT = "I want to kill myself tonight"
REFERRAL = "112"
pytestmark = pytest.mark.usefixtures("_quick")


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts are those of a test."""
    monkeypatch.setattr("adapters.telegram_adapter.polling.wait", _short)


async def _short(seconds: float, stopping: object) -> None:
    await asyncio.sleep(0.05)


def pragma(database: Database, text: str) -> None:
    raw = database.engine.raw_connection()
    raw.cursor().execute(f"PRAGMA {text}")
    raw.close()


@contextmanager
def read_only(bot: TelegramBot, folder: Path) -> Iterator[str]:
    """The database lets nothing be written."""
    pragma(bot.store.database, "query_only=ON")
    yield "The database cannot be written. Check the rights"
    pragma(bot.store.database, "query_only=OFF")


@contextmanager
def full(bot: TelegramBot, folder: Path) -> Iterator[str]:
    """The database may not grow, and has no page left that it could use again."""
    database = bot.store.database
    pragma(database, "max_page_count=1")  # SQLite takes the present size for it
    with suppress(StorageError):
        while True:
            database.run_now(lambda connection: connection.execute(insert(outbox).values(event="x" * 3000)))
    yield "The disk is full. Make room"
    pragma(database, "max_page_count=1000000")


@contextmanager
def locked(bot: TelegramBot, folder: Path) -> Iterator[str]:
    """Another program writes and does not end."""
    other = sqlite3.connect(folder / "cafi.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield "Another program keeps the database locked. Close it"
    other.execute("ROLLBACK")
    other.close()


def rows(bot: TelegramBot, table: object) -> int:
    return bot.store.database.run_now(lambda one: one.execute(select(func.count()).select_from(table)).scalar())


@pytest.mark.parametrize("trouble", [read_only, full, locked])
async def test_while_nothing_can_be_stored_people_get_a_calm_word_and_later_their_answer(
    tmp_path: Path, trouble: Callable[..., Iterator[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is acknowledged that is not stored, urgent messages get the referral at once, and all are answered after."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        pragma(bot.store.database, "busy_timeout=50")
        bot.dispatch.retry.seconds = 0.05
        # However busy the machine, these long texts are read: what finds no time gets the referral in place of a calm word.
        bot.dispatch.chat.turns.reader.soon_seconds = 60.0
        anna, bert, cleo = fake.person("Anna"), fake.person("Bert"), fake.person("Cleo")
        for person in (anna, bert, cleo):
            await agreed(fake, person)
        await fake.wait_for(lambda: not fake.pending())
        await bot.dispatch.idle()
        with trouble(bot, tmp_path) as words:
            # Long enough not to fit where a short one was.
            fake.write(anna, "what are the voices?".ljust(4000))
            fake.write(bert, URGENT.ljust(4000))
            await fake.wait_for(lambda: CALM in fake.replies(anna)[-1].text)
            await fake.wait_for(lambda: REFERRAL in fake.replies(bert)[-1].text)
            fake.write(cleo, "how can i sleep better".ljust(4000))
            await fake.wait_for(lambda: CALM in fake.replies(cleo)[-1].text)
            assert fake.pending() == 3
            assert "112" in fake.replies(anna)[-1].text
            assert [len(fake.replies(one)) for one in (anna, bert, cleo)] == [3, 3, 3]
        await fake.wait_for(lambda: "Voices are sounds" in fake.replies(anna)[-1].text)
        await fake.wait_for(lambda: "can help" in fake.replies(cleo)[-1].text)
        await fake.wait_for(lambda: len(fake.replies(bert)) == 4)
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0 and not bot.dispatch._lines
        assert any("cafi.db: " in line and words in line for line in caplog.messages)
        assert not any(word in caplog.text for word in ("voices?", "kill myself", "Anna"))


async def test_a_long_trouble_makes_nobody_wait_longer_and_fills_no_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a database was locked, the next attempt is two seconds away, and ten attempts are two lines."""
    waits: list[float] = []

    async def noted(seconds: float, stopping: object) -> None:
        waits.append(seconds)
        await _short(seconds, stopping)

    monkeypatch.setattr("adapters.telegram_adapter.polling.wait", noted)
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        pragma(bot.store.database, "busy_timeout=10")
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await bot.dispatch.idle()
        with locked(bot, tmp_path) as words:
            fake.write(anna, "what are the voices?")
            await fake.wait_for(lambda: len(waits) >= 10)
            assert sum(words in line for line in caplog.messages) == 2
        await fake.wait_for(lambda: "Voices are sounds" in fake.replies(anna)[-1].text)
    assert set(waits) == {2.0}


async def test_retries_of_a_batch_do_not_use_up_a_chats_minute(tmp_path: Path) -> None:
    """A message that is tried twenty times in trouble counts once against the chat's limit."""
    sessions = {"messages_a_minute": 4}
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=sessions) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        with read_only(bot, tmp_path):
            fake.write(anna, "what are the voices?")
            await fake.wait_for(lambda: CALM in fake.replies(anna)[-1].text)
            for _ in range(20):
                await _short(0, None)
        await fake.wait_for(lambda: "Voices are sounds" in fake.replies(anna)[-1].text)
        fake.write(anna, "how can i sleep better?")
        await fake.wait_for(lambda: "can help" in fake.replies(anna)[-1].text)


async def test_trouble_after_a_message_was_taken_costs_nobody_an_answer(tmp_path: Path) -> None:
    """A database that fails in the middle of a turn delays its end; the next message is answered, and each once."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({})) as bot:
        bot.dispatch.retry.seconds = 0.05
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await bot.dispatch.idle()
        question = Incoming(identity=_identity(anna), place={"chat": anna.id}, text="how can i sleep better")
        (waiting,) = await bot.store.take([question])
        pragma(bot.store.database, "query_only=ON")
        bot.dispatch._enqueue(waiting)
        await fake.wait_for(lambda: len(fake.replies(anna)) >= 3)
        for _ in range(6):
            await _short(0, None)
        pragma(bot.store.database, "query_only=OFF")
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0
        answers = [one.text for one in fake.replies(anna) if "can help" in one.text]
        assert len(answers) == 1
        assert len((await bot.store.load(_identity(anna))).state.answers) == 1


async def test_forgetting_in_trouble_is_done_when_it_can_be(tmp_path: Path) -> None:
    """A person who wants everything erased while the disk is full gets the receipt once it is really erased."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        bot.dispatch.retry.seconds = 0.05
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await bot.dispatch.idle()
        forget = Incoming(identity=_identity(anna), place={"chat": anna.id}, command="forget")
        (waiting,) = await bot.store.take([forget])
        pragma(bot.store.database, "query_only=ON")
        bot.dispatch._enqueue(waiting)
        await fake.wait_for(lambda: CALM in fake.replies(anna)[-1].text)
        pragma(bot.store.database, "query_only=OFF")
        await fake.wait_for(lambda: "Erased now:" in fake.replies(anna)[-1].text)
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0 and rows(bot, chats) == 0


async def test_what_is_written_right_after_forgetting_is_answered(tmp_path: Path) -> None:
    """A message that comes between the erasing and its receipt is not lost: its chat begins anew with it."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await bot.dispatch.idle()
        erase = bot.dispatch.chat.erase

        async def erase_and_take(identity: object) -> object:
            receipt = await erase(identity)
            await bot.dispatch.take([Incoming(identity=identity, place={"chat": anna.id}, text="and now?")])
            return receipt

        object.__setattr__(bot.dispatch.chat, "erase", erase_and_take)
        fake.write(anna, "/forget")
        await fake.wait_for(lambda: "Shall we begin?" in fake.replies(anna)[-1].text)
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0


async def test_a_chat_that_cannot_be_opened_begins_anew_and_says_so(tmp_path: Path) -> None:
    """Where a chat's state was changed on disk, the person is told and asked again, and their message waits."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await bot.dispatch.idle()
        changed = update(chats).values(sealed=b"\x01" + os.urandom(60))
        bot.store.database.run_now(lambda connection: connection.execute(changed))
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: "Shall we begin?" in fake.replies(anna)[-1].text)
        assert "we begin anew" in fake.replies(anna)[-2].text


async def test_a_turn_that_breaks_anywhere_lets_the_next_message_pass(tmp_path: Path) -> None:
    """An answer that cannot be shown is replaced by an apology, its message does not stay, and the line goes on."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        screen, parts = bot.dispatch.screen, bot.dispatch.screen.parts

        def breaking(incoming: Incoming, showing: object) -> object:
            if "Voices are sounds" in showing.text:
                raise RuntimeError("what was written")
            return parts(incoming, showing)

        object.__setattr__(screen, "parts", breaking)
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: "Something went wrong on my side" in fake.replies(anna)[-1].text)
        fake.write(anna, "how can i sleep better")
        await fake.wait_for(lambda: "can help" in fake.replies(anna)[-1].text)
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0


async def test_words_that_are_half_a_character_stop_nobody(tmp_path: Path) -> None:
    """A message with half of a character in it, which no text may hold, is answered like others."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        who, where = {"id": anna.id, "is_bot": False}, {"id": anna.id, "type": "private"}
        broken = {"date": 1_790_000_000, "chat": where, "message_id": 99, "from": who, "text": "voices \ud83d"}
        fake.push_raw({"message": broken})
        await fake.wait_for(lambda: len(fake.replies(anna)) >= 3)
        fake.write(anna, "how can i sleep better")
        await fake.wait_for(lambda: "can help" in fake.replies(anna)[-1].text)
        await bot.dispatch.idle()
        assert rows(bot, inbox) == 0


async def test_waiting_messages_under_a_lost_inbox_key_are_dropped_with_a_word_to_the_operator(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """When the inbox key is lost, the start drops what waits, says how many, and nothing of what they said."""
    async with FaultyTelegram() as fake:
        anna = fake.person("Anna")
        async with running(fake, tmp_path) as bot:
            await agreed(fake, anna)
            await bot.dispatch.idle()
            await bot.store.take([Incoming(identity=_identity(anna), place={"chat": anna.id}, text="chrysanthemum")])
        (tmp_path / "inbox.key").unlink()
        with caplog.at_level(logging.DEBUG):
            async with running(fake, tmp_path) as bot:
                fake.write(anna, "what are the voices?")
                await fake.wait_for(lambda: "Voices are sounds" in fake.replies(anna)[-1].text)
                await bot.dispatch.idle()
                assert rows(bot, inbox) == 0
        assert "1 waiting messages could not be opened and were dropped" in caplog.text
        assert "chrysanthemum" not in caplog.text and str(anna.id) not in caplog.text


def _identity(person: TelegramPerson) -> ChatIdentity:
    return ChatIdentity(platform="telegram", chat=str(person.id))
