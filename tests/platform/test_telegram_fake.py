"""The real Telegram library against the fake Bot API: what it accepts, refuses, tells the bot and spoils."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telegram import (
    Bot,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputPollOption,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
    Update,
)
from telegram.error import (
    BadRequest,
    Conflict,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)
from telegram.ext import Application, ApplicationBuilder
from telegram.request import HTTPXRequest

from rehearsal.telegram_world import TOKEN
from tests.fakes.faulty_telegram import Fault, FaultyTelegram


@pytest.fixture(autouse=True)
def _waits_are_timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library warns of whole seconds in `RetryAfter` unless it is told that timedeltas are expected."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture
async def fake() -> AsyncIterator[FaultyTelegram]:
    async with FaultyTelegram() as server:
        yield server


@pytest.fixture
async def bot(fake: FaultyTelegram) -> AsyncIterator[Bot]:
    async with Bot(TOKEN, base_url=fake.base_url) as one:
        yield one


def refused(error: type[TelegramError], words: str) -> Any:
    """The library's error, whose words it writes with a capital where the API does not."""
    return pytest.raises(error, match=f"(?i){re.escape(words)}")


def keyboard(*buttons: tuple[str, str]) -> InlineKeyboardMarkup:
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=value) for label, value in buttons]])


async def only_update(bot: Bot) -> Update:
    """The one update that waits; it is acknowledged."""
    (update,) = await bot.get_updates()
    await bot.get_updates(offset=update.update_id + 1)
    return update


# --- Who is asked -------------------------------------------------------------------------------------------------------


async def test_wrong_tokens_and_methods_are_refused(fake: FaultyTelegram, bot: Bot) -> None:
    """A wrong token is 401, a malformed one 404, an unknown method 404."""
    for token in ("123:wrong", "nonsense"):
        async with HTTPXRequest() as request:
            with pytest.raises(InvalidToken):
                await Bot(token, base_url=fake.base_url, request=request).get_me()
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("flyToTheMoon")
    assert fake.refusals("flyToTheMoon")[0].result["description"] == "Not Found: method not found"


# --- Polling ------------------------------------------------------------------------------------------------------------


async def test_updates_come_again_until_they_are_acknowledged(fake: FaultyTelegram, bot: Bot) -> None:
    """An update is delivered at each poll until a higher offset is asked for."""
    anna = fake.person()
    fake.write(anna, "one")
    fake.write(anna, "two")
    first = await bot.get_updates()
    assert [update.message.text for update in first] == ["one", "two"]
    assert await bot.get_updates() == first
    assert await bot.get_updates(offset=first[1].update_id) == (first[1],)
    assert fake.pending() == 1
    assert fake.calls("getUpdates")[-2].result == {"acknowledged": [first[0].update_id]}


async def test_a_second_poller_ends_the_first(fake: FaultyTelegram, bot: Bot) -> None:
    """Of two polls at once the older one gets a conflict."""
    older = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.05)
    async with Bot(TOKEN, base_url=fake.base_url) as other:
        newer = asyncio.create_task(other.get_updates(timeout=20))
        with refused(Conflict, "terminated by other getUpdates request"):
            await older
        fake.write(fake.person(), "hello")
        assert len(await newer) == 1


# --- Webhook ------------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def webhook_application(fake: FaultyTelegram, port: int, secret: str) -> AsyncIterator[Application]:
    application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).build()
    async with application:
        url = f"http://127.0.0.1:{port}/hook"
        await application.updater.start_webhook(
            listen="127.0.0.1", port=port, url_path="hook", webhook_url=url, secret_token=secret
        )
        yield application
        await application.updater.stop()


async def test_updates_are_pushed_to_a_webhook_with_its_secret(fake: FaultyTelegram) -> None:
    """The library's webhook server gets updates in order, and polling is a conflict meanwhile."""
    anna = fake.person()
    async with webhook_application(fake, free_port(), "se-cret_1") as application:
        for number in range(3):
            fake.write(anna, str(number))
        got = [(await application.update_queue.get()).message.text for _ in range(3)]
        assert got == ["0", "1", "2"]
        await fake.wait_for(lambda: fake.pending() == 0)
        with refused(Conflict, "can't use getUpdates method while webhook is active"):
            await application.bot.get_updates()
        await application.bot.delete_webhook()
        fake.write(anna, "polled")
        assert len(await application.bot.get_updates()) == 1


# --- Messages -----------------------------------------------------------------------------------------------------------


async def test_a_message_is_seen_with_its_parts(fake: FaultyTelegram, bot: Bot) -> None:
    """Text, entities, buttons, the message replied to and the preview options arrive as they were sent."""
    anna = fake.person()
    written = fake.write(anna, "hello")
    text = "😀 bold"
    sent = await bot.send_message(
        anna.id,
        text,
        entities=[MessageEntity("bold", 3, 4)],
        reply_markup=keyboard(("Simpler", "s"), ("Example", "e")),
        reply_parameters=ReplyParameters(written["message_id"]),
        link_preview_options=LinkPreviewOptions(is_disabled=True),
    )
    (seen,) = fake.replies(anna)
    assert (seen.id, seen.text, seen.reply_to) == (sent.message_id, text, written["message_id"])
    assert seen.buttons == {"Simpler": "s", "Example": "e"}
    assert sent.parse_entities() == {sent.entities[0]: "bold"}
    assert fake.calls("sendMessage")[0].params["link_preview_options"] == {"is_disabled": True}
    assert fake.calls("sendMessage")[0].result["message_id"] == sent.message_id


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "message text is empty"), (" \n", "message text is empty"), ("😀" * 2049, "message is too long")],
)
async def test_text_is_measured_in_utf_16(fake: FaultyTelegram, bot: Bot, text: str, words: str) -> None:
    """Empty text and more than 4096 UTF-16 units are refused, 2048 emoji are not."""
    anna = fake.person()
    fake.start(anna)
    await bot.send_message(anna.id, "😀" * 2048)
    with refused(BadRequest, words):
        await bot.send_message(anna.id, text)


@pytest.mark.parametrize(
    ("entities", "words"),
    [
        ([(0, 9)], "ends after the end of the text"),
        ([(8, 1)], "begins after the end of the text"),
        ([(1, 2)], "begins in a middle of a UTF-16 symbol"),
        ([(0, 1)], "ends in a middle of a UTF-16 symbol"),
        ([(2, 3), (4, 2)], "entities cross"),
    ],
)
async def test_entities_must_fit_the_text(
    fake: FaultyTelegram, bot: Bot, entities: list[tuple[int, int]], words: str
) -> None:
    """Entities beyond the text, inside a surrogate pair or across each other are refused; nested ones are not."""
    anna = fake.person()
    fake.start(anna)
    await bot.send_message(anna.id, "😀abcd", entities=[MessageEntity("bold", 0, 6), MessageEntity("italic", 2, 2)])
    with refused(BadRequest, words):
        await bot.send_message(anna.id, "😀abcd", entities=[MessageEntity("bold", *place) for place in entities])


async def test_buttons_are_checked(fake: FaultyTelegram, bot: Bot) -> None:
    """Callback data is 1 to 64 bytes, an address must be one, a button must do something."""
    anna = fake.person()
    fake.start(anna)
    await bot.send_message(anna.id, "fits", reply_markup=keyboard(("Yes", "ä" * 32)))
    for button, words in (
        (InlineKeyboardButton("Yes", callback_data="ä" * 33), "BUTTON_DATA_INVALID"),
        (InlineKeyboardButton("Yes", url="nowhere"), "Wrong HTTP URL"),
        (InlineKeyboardButton("Yes"), "Text buttons are unallowed"),
    ):
        with refused(BadRequest, words):
            await bot.send_message(anna.id, "no", reply_markup=InlineKeyboardMarkup([[button]]))


# --- Buttons and polls --------------------------------------------------------------------------------------------------


async def test_a_press_is_answered_once(fake: FaultyTelegram, bot: Bot) -> None:
    """A press brings the message and the data; it can be answered once, with 200 units of text."""
    anna = fake.person(language="de")
    fake.start(anna)
    sent = await bot.send_message(anna.id, "one", reply_markup=keyboard(("Simpler", "s:1")))
    fake.press(anna, sent.message_id, "Simpler")
    query = (await bot.get_updates())[-1].callback_query
    assert (query.data, query.message.message_id, query.from_user.language_code) == ("s:1", sent.message_id, "de")
    with refused(BadRequest, "MESSAGE_TOO_LONG"):
        await query.answer("x" * 201)
    await query.answer("x" * 200)
    with refused(BadRequest, "Query is too old"):
        await query.answer()


async def test_votes_in_an_anonymous_poll_name_nobody(fake: FaultyTelegram, bot: Bot) -> None:
    """An anonymous vote brings the state of the poll, without any user."""
    anna = fake.person()
    fake.start(anna)
    sent = await bot.send_poll(anna.id, "Was this useful?", [InputPollOption("Yes"), "No"])
    fake.vote(anna, sent.message_id, [1])
    update = (await bot.get_updates())[-1]
    assert [option.voter_count for option in update.poll.options] == [0, 1]
    assert update.effective_user is None
    assert str(anna.id) not in str(update.to_dict())


# --- What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (Fault.too_many_requests(1), RetryAfter, "Retry in 0:00:01"),
        (Fault.blocked(), Forbidden, "bot was blocked by the user"),
        (Fault.broken_gateway(502), NetworkError, "Bad Gateway"),
        (Fault.broken_gateway(500), NetworkError, "Internal Server Error"),
    ],
)
async def test_a_scripted_refusal_meets_one_call(
    fake: FaultyTelegram, bot: Bot, fault: Fault, error: type[TelegramError], words: str
) -> None:
    """A fault turns into the library's own error for one chat and one call, and nothing is shown."""
    anna, ben = fake.person(), fake.person("Ben")
    fake.start(anna)
    fake.start(ben)
    fake.fail("sendMessage", fault, chat=anna)
    await bot.send_message(ben.id, "hello")
    with refused(error, words):
        await bot.send_message(anna.id, "hello")
    assert not fake.replies(anna)
    await bot.send_message(anna.id, "hello")
    assert (len(fake.replies(anna)), len(fake.refusals("sendMessage"))) == (1, 1)


@pytest.mark.parametrize(("when", "shown"), [("before", 0), ("after", 1)])
async def test_a_dropped_connection(fake: FaultyTelegram, bot: Bot, when: str, shown: int) -> None:
    """The bot sees the same error whether the call was carried out or not; people see the difference."""
    anna = fake.person()
    fake.start(anna)
    fake.fail("*", Fault.dropped(when))
    with pytest.raises(NetworkError):
        await bot.send_message(anna.id, "hello")
    assert len(fake.replies(anna)) == len(fake.calls("sendMessage")) == shown
