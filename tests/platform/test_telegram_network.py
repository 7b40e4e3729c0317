"""Telegram when things go wrong: limits, blocks, broken networks, malformed updates, tokens that nobody knows."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bots.settings import TelegramSettings
from bots.telegram import telegram
from engine.exceptions import ConfigurationError
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import scripted
from tests.telegram import BEGIN, EAGER, agreed, asked, chats_in, quiet, running

SLEEPLESS = "I cant sleep, what helps?"
ANSWER = "A fixed time for going to bed can help."
SECRET_WORDS = "Ottilie-of-the-seven-hills"


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits after failures of the network are hundredths of a second."""
    from adapters.telegram_adapter import adapter, polling, screen

    monkeypatch.setattr(adapter, "FIRST_WAIT", 0.02)
    monkeypatch.setattr(screen, "WAIT_SECONDS", (0.02, 0.05))
    monkeypatch.setattr(polling, "_MOST_WAIT", 0.05)


def rows(folder: Path) -> dict[str, int]:
    """How many rows lie in each table that holds something of chats."""
    with sqlite3.connect(folder / "cafi.db") as connection:
        tables = ("chats", "inbox", "asked", "polls")
        return {name: connection.execute(f"select count(*) from {name}").fetchone()[0] for name in tables}  # noqa: S608


# --- Sending --------------------------------------------------------------------------------------------------------


async def test_a_limit_on_one_chat_delays_no_other(tmp_path: Path) -> None:
    """While one chat waits out a 429, another is answered; the first gets its answer then, once."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, bela = fake.person("Anna"), fake.person("Bela")
        await agreed(fake, anna)
        await agreed(fake, bela)
        fake.fail("sendMessage", Fault.too_many_requests(1), chat=anna)
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: fake.refusals("sendMessage"))
        refused_at = fake.refusals("sendMessage")[0].at
        await asked(fake, bela, "what are the voices?")
        assert len(fake.replies(anna)) == 2, "she is still waiting"
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
        assert fake.calls("sendMessage")[-1].at - refused_at >= 1.0, "Telegram's wait is kept"
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == 3


async def test_who_blocks_the_bot_is_forgotten_whole(tmp_path: Path) -> None:
    """403 on an answer: nothing of the chat stays, neither its state nor what waits."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=0.1)) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", Fault.blocked(), times=None)
        for _ in range(3):
            fake.write(anna, SLEEPLESS)
        await quiet(fake, bot)
        assert rows(tmp_path) == {"chats": 0, "inbox": 0, "asked": 0, "polls": 0}
        assert len(fake.refusals("sendMessage")) == 1


async def test_a_block_is_heard_of_without_a_message(tmp_path: Path) -> None:
    """Telegram tells of the block itself: the chat is erased then; back again, it begins anew."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        assert rows(tmp_path)["chats"] == 1
        fake.block(anna)
        await quiet(fake, bot)
        assert rows(tmp_path)["chats"] == 0
        fake.unblock(anna)
        assert BEGIN in (await asked(fake, anna, SLEEPLESS))[0].buttons


@pytest.mark.parametrize("said", ["chat not found", "user is deactivated", "CHAT_WRITE_FORBIDDEN", "TOPIC_CLOSED"])
async def test_a_place_where_nobody_can_be_reached_is_forgotten(tmp_path: Path, said: str) -> None:
    """These refusals mean that nothing can be shown there: nothing is kept, and it is not tried for ever."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", Fault.refused(400, f"Bad Request: {said}"), times=None)
        fake.write(anna, "what are the voices?")
        await quiet(fake, bot)
        assert rows(tmp_path) == {"chats": 0, "inbox": 0, "asked": 0, "polls": 0}


@pytest.mark.parametrize(
    ("fault", "times"),
    [(Fault.dropped("before"), 1), (Fault.broken_gateway(502), 1), (Fault.broken_gateway(500), 1),
     (Fault.refused(500, "Internal Server Error"), 1), (Fault.dropped("after"), 2)],
    ids=["connection cut before", "502", "500 page", "500", "connection cut after"],
)  # fmt: skip
async def test_a_failing_network_loses_no_answer(tmp_path: Path, fault: Fault, times: int) -> None:
    """The answer is sent until Telegram has taken it; cut off after that, it may come twice, and never not at all."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", fault)
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 2 + times)
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == 2 + times and rows(tmp_path)["inbox"] == 0


async def test_a_message_whose_form_is_refused_is_sent_plainly(tmp_path: Path) -> None:
    """What Telegram objects to (entities, then buttons) is taken out; the words arrive."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        fake.fail("sendMessage", Fault.refused(400, "Bad Request: BUTTON_DATA_INVALID"))
        (welcome,) = await asked(fake, anna, "/start")
        assert "computer program" in welcome.text and not welcome.buttons
        fake.fail("sendMessage", Fault.refused(400, "Bad Request: can't parse entities"))
        (page,) = await asked(fake, anna, "/privacy")
        assert page.text.startswith("What is kept") and not page.entities


async def test_what_can_never_be_shown_stops_no_chat(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A message that is refused whatever is taken out of it gets an apology; the next one is answered."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", Fault.refused(400, "Bad Request: message is strange"), times=2)
        (sorry,) = await asked(fake, anna, "what are the voices?")
        assert sorry.text.startswith("Something went wrong on my side, not yours.") and "112" in sorry.text
        assert (await asked(fake, anna, "/help"))[0].text.startswith("Write your question")
    assert "voices" not in caplog.text


async def test_a_button_press_that_is_too_old_is_answered_all_the_same(tmp_path: Path) -> None:
    """That Telegram does not take the acknowledgement any more hides nothing from the person."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        fake.fail("answerCallbackQuery", Fault.refused(400, "Bad Request: query is too old"), times=None)
        fake.press(anna, answer.id, "Where from?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)


async def test_a_typing_sign_that_fails_spoils_nothing(tmp_path: Path) -> None:
    """Where the sign is refused or limited, the answer comes."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        fake.fail("sendChatAction", Fault.too_many_requests(30), times=None)
        anna = fake.person("Anna")
        await agreed(fake, anna)
        assert (await asked(fake, anna, "what are the voices?"))[0].text.startswith("Voices")


# --- Asking for updates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [Fault.broken_gateway(500), Fault.broken_gateway(502), Fault.refused(500, "Internal Server Error"),
     Fault.dropped("before"), Fault.dropped("after"), Fault.too_many_requests(1)],
    ids=["500 page", "502 page", "500", "cut before", "cut after", "429"],
)  # fmt: skip
async def test_polling_goes_on_after_failures(tmp_path: Path, fault: Fault) -> None:
    """A few failures in a row, and the next message is answered, once."""
    async with FaultyTelegram() as fake:
        fake.fail("getUpdates", fault, times=1 if "retry after" in str(fault) else 3)
        async with running(fake, tmp_path) as bot:
            anna = fake.person("Anna")
            await agreed(fake, anna)
            await asked(fake, anna, "what are the voices?")
            await quiet(fake, bot)
            assert len(fake.replies(anna)) == 3


async def test_another_program_with_the_same_token_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """409: the operator reads what is going on, and the bot goes on asking."""
    from adapters.telegram_adapter import polling

    async with FaultyTelegram() as fake:
        fake.fail("getUpdates", Fault.refused(409, "Conflict: terminated by other getUpdates request"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(polling, "CONFLICT_SECONDS", 0.02)
            async with running(fake, tmp_path):
                assert BEGIN in (await asked(fake, fake.person("Anna"), "hello"))[0].buttons
    assert "Another program asks for this bot's updates" in caplog.text


async def test_a_wrong_token_is_named_at_the_start(tmp_path: Path) -> None:
    """Nobody knows the token: a configuration error with the key and the remedy."""
    async with FaultyTelegram() as fake:
        fake.token = "7:another"
        chosen = TelegramSettings(token="7000000001:AAwrong", base_url=fake.base_url)  # type: ignore[arg-type]
        chats = chats_in(tmp_path, telegram=chosen)
        async with chats.application.closing:
            await chats.begin()
            with pytest.raises(
                ConfigurationError,
                match=r"^telegram.token: Telegram does not know this token. Copy it from @BotFather, whole.$",
            ):
                await telegram(chats).run()


@pytest.mark.parametrize("token", ["abc", "1234567", "1234:with space", "https://t.me/cafi_bot", ":AA"])
def test_what_is_no_token_is_named_before_anything_is_sent(tmp_path: Path, token: str) -> None:
    """A name or half a token in place of one is found without asking Telegram."""
    chats = chats_in(tmp_path, telegram=TelegramSettings(token=token))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="This cannot be a Telegram token"):
        telegram(chats)


async def test_a_token_that_is_taken_back_ends_the_bot_with_a_word(tmp_path: Path) -> None:
    """Later, the same; messages on disk wait for the new token."""
    async with FaultyTelegram() as fake:
        chosen = TelegramSettings(token=fake.token, base_url=fake.base_url)  # type: ignore[arg-type]
        chats = chats_in(tmp_path, scripted({}, latency=0.2), telegram=chosen)
        async with chats.application.closing:
            await chats.begin()
            bot = telegram(chats)
            task = asyncio.create_task(bot.run())
            anna = fake.person("Anna")
            await agreed(fake, anna)
            fake.write(anna, SLEEPLESS)
            await fake.wait_for(lambda: fake.pending() == 0)
            fake.fail("*", Fault.refused(401, "Unauthorized"), times=None)
            fake.push_raw({"message": {}})
            bot.dispatch.aclose = _at_once(bot.dispatch.aclose)  # type: ignore[method-assign]
            with pytest.raises(ConfigurationError, match="Telegram does not know the token"):
                await task
        assert rows(tmp_path)["inbox"] == 1
        fake.faults.clear()
        async with running(fake, tmp_path, scripted({})):
            await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
            assert fake.replies(anna)[-1].text == ANSWER


async def test_an_answer_waits_while_the_token_is_not_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a webhook nobody asks for updates: the operator reads it when an answer cannot be sent, and it is kept."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", Fault.refused(401, "Unauthorized"))
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
        await quiet(fake, bot)
    assert "Telegram does not know the token (any more)" in caplog.text


async def test_telegram_out_of_reach_at_the_start_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The bot starts when Telegram is there, says so once, and ends when it is told to."""
    with caplog.at_level(logging.WARNING):
        async with FaultyTelegram() as fake:
            fake.fail("getMe", Fault.broken_gateway(502), times=1)
            async with running(fake, tmp_path):
                await asked(fake, fake.person("Anna"), "hello")
    assert caplog.text.count("Telegram cannot be reached") == 1


# --- Malformed updates ----------------------------------------------------------------------------------------------

_SENDER = {"id": 5, "is_bot": False, "first_name": SECRET_WORDS}
_CHAT = {"id": 5, "type": "private"}
MALFORMED: list[dict[str, Any]] = [
    {},
    {"message": None},
    {"message": []},
    {"message": {"text": SECRET_WORDS}},
    {"message": {"chat": SECRET_WORDS, "from": _SENDER, "text": SECRET_WORDS, "date": 1}},
    {"message": {"chat": _CHAT, "from": [SECRET_WORDS], "text": SECRET_WORDS, "date": 1}},
    {"message": {"chat": _CHAT, "from": _SENDER, "text": SECRET_WORDS, "date": "yesterday"}},
    {"message": {"chat": _CHAT, "from": _SENDER, "text": {"deep": SECRET_WORDS}, "date": 1}},
    {"message": {"chat": {"id": SECRET_WORDS, "type": "private"}, "from": _SENDER, "text": "x", "date": 1}},
    {"message": {"chat": {"id": 1e400, "type": "group"}, "from": _SENDER, "text": "/crisis", "date": 1}},
    {"callback_query": {"id": "1", "from": _SENDER, "data": SECRET_WORDS}},
    {"callback_query": {"id": "1", "from": _SENDER, "data": "more:x:", "message": {}}},
    {"edited_message": {"chat": _CHAT, "from": _SENDER, "text": SECRET_WORDS, "date": 1, "edit_date": SECRET_WORDS}},
    {"poll": {"id": "1", "options": [SECRET_WORDS]}},
    {"my_chat_member": {"chat": _CHAT}},
    {"something_new": {"text": SECRET_WORDS}},
]


async def test_malformed_updates_among_good_ones_concern_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each update is read alone: the good ones before, between and after are answered; nothing of the bad is logged."""
    with caplog.at_level(logging.DEBUG):
        async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
            anna = fake.person("Anna")
            await agreed(fake, anna)
            for update in MALFORMED:
                fake.push_raw(update)
                fake.write(anna, "/help")
            fake.push_raw("{broken: " + SECRET_WORDS)
            fake.write(anna, "/help")
            await quiet(fake, bot)
            assert len(fake.replies(anna)) == 3 + len(MALFORMED)
    assert SECRET_WORDS not in caplog.text and "an update could not be read and was left out" in caplog.text
    assert fake.token not in caplog.text


async def test_half_a_character_is_no_harm(tmp_path: Path) -> None:
    """A text with half a surrogate pair, which no file can hold, is answered like any other."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices? \ud83d", entities=[])
        assert answer.text.startswith("Voices")


async def test_an_update_without_a_number_does_not_keep_the_bot_busy(tmp_path: Path) -> None:
    """It cannot be acknowledged, so it comes again and again: the bot waits in between, and answers everybody else."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        fake.push_raw({"message": {"chat": _CHAT, "from": _SENDER, "text": "hi", "date": 1}}, as_is=True)
        await asked(fake, anna, "hello")
        assert len(fake.calls("getUpdates")) < 50


async def test_messages_that_were_taken_are_not_taken_again(tmp_path: Path) -> None:
    """A process that ends before it could acknowledge is followed by one that answers no message twice."""
    async with FaultyTelegram() as fake:
        anna = fake.person("Anna")
        async with running(fake, tmp_path) as bot:
            await agreed(fake, anna)
            bot.stopping.set()
            fake.write(anna, "what are the voices?")
        update = fake.updates.pending[-1]
        async with running(fake, tmp_path) as bot:
            await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
            await quiet(fake, bot)
        fake.updates.pending.append(update)
        async with running(fake, tmp_path) as bot:
            await quiet(fake, bot)
            assert len(fake.replies(anna)) == 3


def _at_once(close: Any) -> Any:
    async def closing(seconds: float = 0.0) -> None:
        await close(0.0)

    return closing
