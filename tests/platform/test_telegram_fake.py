"""The real Telegram library against the fake Bot API: what it accepts, refuses, tells the bot and spoils."""

from __future__ import annotations

import asyncio
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllPrivateChats,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputPollOption,
    LinkPreviewOptions,
    MenuButtonCommands,
    MessageEntity,
    ReplyParameters,
    Update,
)
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.ext import Application, ApplicationBuilder, CommandHandler, MessageHandler, filters
from telegram.request import HTTPXRequest

from rehearsal.telegram_world import TOKEN, Fault, NotPossible, TelegramServer
from tests.fakes.telegram_process import TelegramProcess

PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)


@pytest.fixture(autouse=True)
def _waits_are_timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library warns of whole seconds in `RetryAfter` unless it is told that timedeltas are expected."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture
async def fake() -> AsyncIterator[TelegramServer]:
    async with TelegramServer() as server:
        yield server


@pytest.fixture
async def bot(fake: TelegramServer) -> AsyncIterator[Bot]:
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


async def test_the_bot_knows_itself(fake: TelegramServer, bot: Bot) -> None:
    """The library starts against the fake and reads the bot's own name."""
    assert (bot.username, bot.bot.is_bot) == ("cafi_bot", True)
    assert [call.method for call in fake.calls()] == ["getMe"]


async def test_wrong_tokens_and_methods_are_refused(fake: TelegramServer, bot: Bot) -> None:
    """A wrong token is 401, a malformed one 404, an unknown method 404."""
    for token in ("123:wrong", "nonsense"):
        async with HTTPXRequest() as request:
            with pytest.raises(InvalidToken):
                await Bot(token, base_url=fake.base_url, request=request).get_me()
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("flyToTheMoon")
    assert fake.refusals("flyToTheMoon")[0].result["description"] == "Not Found: method not found"


# --- Polling ------------------------------------------------------------------------------------------------------------


async def test_updates_come_again_until_they_are_acknowledged(fake: TelegramServer, bot: Bot) -> None:
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


async def test_limit_and_negative_offset(fake: TelegramServer, bot: Bot) -> None:
    """At most a hundred updates come at once; a negative offset keeps the last ones only."""
    anna = fake.person()
    for number in range(120):
        fake.write(anna, str(number))
    assert len(await bot.get_updates()) == 100
    assert len(await bot.get_updates(limit=7)) == 7
    assert [update.message.text for update in await bot.get_updates(offset=-2)] == ["118", "119"]
    assert fake.pending() == 2


async def test_a_long_poll_ends_with_the_first_update(fake: TelegramServer, bot: Bot) -> None:
    """A poll that waits is answered when somebody writes."""
    poll = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.05)
    assert not poll.done()
    fake.write(fake.person(), "hello")
    assert [update.message.text for update in await poll] == ["hello"]


async def test_a_second_poller_ends_the_first(fake: TelegramServer, bot: Bot) -> None:
    """Of two polls at once the older one gets a conflict."""
    older = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.05)
    async with Bot(TOKEN, base_url=fake.base_url) as other:
        newer = asyncio.create_task(other.get_updates(timeout=20))
        with refused(Conflict, "terminated by other getUpdates request"):
            await older
        fake.write(fake.person(), "hello")
        assert len(await newer) == 1


async def test_a_poll_whose_bot_is_gone_takes_nothing_along(fake: TelegramServer, bot: Bot) -> None:
    """An update that comes after the poller has died goes to the next one, without a conflict."""
    dead = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.05)
    dead.cancel()
    await asyncio.gather(dead, return_exceptions=True)
    alive = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.05)
    fake.write(fake.person(), "hello")
    assert len(await alive) == 1
    assert not fake.refusals()


async def test_only_the_kinds_asked_for_are_queued(fake: TelegramServer, bot: Bot) -> None:
    """The kinds that a bot names hold for later polls too."""
    await bot.get_updates(allowed_updates=["edited_message"])
    anna = fake.person()
    written = fake.write(anna, "helo")
    fake.edit(anna, written, "hello")
    update = await only_update(bot)
    assert update.edited_message.text == "hello"
    assert update.edited_message.edit_date


# --- Webhook ------------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def webhook_application(fake: TelegramServer, port: int, secret: str) -> AsyncIterator[Application]:
    application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).build()
    async with application:
        url = f"http://127.0.0.1:{port}/hook"
        await application.updater.start_webhook(
            listen="127.0.0.1", port=port, url_path="hook", webhook_url=url, secret_token=secret
        )
        yield application
        await application.updater.stop()


async def test_updates_are_pushed_to_a_webhook_with_its_secret(fake: TelegramServer) -> None:
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
        assert (await application.bot.get_webhook_info()).url == ""
        fake.write(anna, "polled")
        assert len(await application.bot.get_updates()) == 1


async def test_a_webhook_that_refuses_is_tried_again(fake: TelegramServer) -> None:
    """An update is kept while the webhook answers with an error, which its state names; the chat's next one waits."""
    anna = fake.person()
    async with webhook_application(fake, free_port(), "right") as application:
        fake.updates.webhook.secret = "wrong"
        fake.write(anna, "hello")
        await fake.wait_for(lambda: fake.updates.pending and fake.updates.pending[0].attempts >= 2)
        about = await application.bot.get_webhook_info()
        assert about.pending_update_count == 1
        assert "403" in about.last_error_message
        fake.updates.webhook.secret = "right"
        fake.write(anna, "second")
        fake.write(fake.person("Ben"), "beside")
        got = [(await application.update_queue.get()).message.text for _ in range(3)]
        assert [text for text in got if text != "beside"] == ["hello", "second"]
        assert "beside" in got
        await fake.wait_for(lambda: fake.pending() == 0)


async def test_a_webhook_needs_https_and_a_plain_secret(fake: TelegramServer, bot: Bot) -> None:
    """Plain HTTP beyond the machine and odd secrets are refused; pending updates can be dropped."""
    with refused(BadRequest, "An HTTPS URL must be provided"):
        await bot.set_webhook("http://bot.example/hook")
    with refused(BadRequest, "unallowed characters"):
        await bot.set_webhook("http://127.0.0.1:1/hook", secret_token="no spaces")
    fake.write(fake.person(), "old")
    await bot.delete_webhook(drop_pending_updates=True)
    assert fake.pending() == 0


# --- Messages -----------------------------------------------------------------------------------------------------------


async def test_a_message_is_seen_with_its_parts(fake: TelegramServer, bot: Bot) -> None:
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
async def test_text_is_measured_in_utf_16(fake: TelegramServer, bot: Bot, text: str, words: str) -> None:
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
    fake: TelegramServer, bot: Bot, entities: list[tuple[int, int]], words: str
) -> None:
    """Entities beyond the text, inside a surrogate pair or across each other are refused; nested ones are not."""
    anna = fake.person()
    fake.start(anna)
    await bot.send_message(anna.id, "😀abcd", entities=[MessageEntity("bold", 0, 6), MessageEntity("italic", 2, 2)])
    with refused(BadRequest, words):
        await bot.send_message(anna.id, "😀abcd", entities=[MessageEntity("bold", *place) for place in entities])


async def test_buttons_are_checked(fake: TelegramServer, bot: Bot) -> None:
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


async def test_chats_that_cannot_be_written_to(fake: TelegramServer, bot: Bot) -> None:
    """Unknown chats, people who never wrote, missing threads and missing messages are refused in the API's words."""
    anna = fake.person()
    with refused(BadRequest, "Chat not found"):
        await bot.send_message(42, "hello")
    with refused(Forbidden, "bot can't initiate conversation with a user"):
        await bot.send_message(anna.id, "hello")
    fake.start(anna)
    with refused(BadRequest, "Message to be replied not found"):
        await bot.send_message(anna.id, "hello", reply_parameters=ReplyParameters(99))
    with refused(BadRequest, "Message thread not found"):
        await bot.send_message(anna.id, "hello", message_thread_id=99)


async def test_editing_changes_what_is_seen(fake: TelegramServer, bot: Bot) -> None:
    """An edit replaces text and keyboard, drops a keyboard that is not repeated, and must change something."""
    anna = fake.person()
    start = fake.start(anna)
    sent = await bot.send_message(anna.id, "one", reply_markup=keyboard(("A", "a")))
    with refused(BadRequest, "Message is not modified"):
        await bot.edit_message_text("one", anna.id, sent.message_id, reply_markup=keyboard(("A", "a")))
    await bot.edit_message_text("two", anna.id, sent.message_id)
    (seen,) = fake.replies(anna)
    assert (seen.text, seen.buttons, seen.edited) == ("two", {}, True)
    await bot.edit_message_reply_markup(anna.id, sent.message_id, reply_markup=keyboard(("B", "b")))
    assert fake.replies(anna)[0].buttons == {"B": "b"}
    await bot.edit_message_reply_markup(anna.id, sent.message_id)
    with refused(BadRequest, "Message is not modified"):
        await bot.edit_message_reply_markup(anna.id, sent.message_id)
    for number, words in ((start["message_id"], "can't be edited"), (99, "to edit not found")):
        with refused(BadRequest, words):
            await bot.edit_message_text("three", anna.id, number)


async def test_deleting(fake: TelegramServer, bot: Bot) -> None:
    """The bot deletes its own messages anywhere, those of others in private only."""
    anna, group = fake.person(), fake.group()
    mine = await bot.send_message(group.id, "hello")
    theirs = fake.write(anna, "hello", chat=group)
    private = fake.start(anna)
    await bot.delete_message(group.id, mine.message_id)
    await bot.delete_message(anna.id, private["message_id"])
    assert not fake.messages(anna)
    for number, words in ((theirs["message_id"], "can't be deleted"), (mine.message_id, "to delete not found")):
        with refused(BadRequest, words):
            await bot.delete_message(group.id, number)


async def test_the_typing_sign(fake: TelegramServer, bot: Bot) -> None:
    """A known action is recorded, an unknown one refused."""
    anna = fake.person()
    fake.start(anna)
    await bot.send_chat_action(anna.id, "typing")
    assert fake.calls("sendChatAction")[0].params["action"] == "typing"
    with refused(BadRequest, "Wrong parameter action"):
        await bot.send_chat_action(anna.id, "dancing")


async def test_pictures(fake: TelegramServer, bot: Bot) -> None:
    """A picture is uploaded once and sent again by its id; captions have 1024 UTF-16 units."""
    anna = fake.person()
    fake.start(anna)
    sent = await bot.send_photo(anna.id, PNG, caption="A sleeping cat.")
    await bot.send_photo(anna.id, sent.photo[-1].file_id, caption="😀" * 512)
    assert [(one.kind, one.text) for one in fake.replies(anna)] == [("photo", "A sleeping cat."), ("photo", "😀" * 512)]
    assert fake.calls("sendPhoto")[0].files == {"photo": len(PNG)}
    with refused(BadRequest, "Message caption is too long"):
        await bot.send_photo(anna.id, PNG, caption="😀" * 513)
    with refused(BadRequest, "IMAGE_PROCESS_FAILED"):
        await bot.send_photo(anna.id, b"no picture")
    with refused(BadRequest, "wrong remote file identifier"):
        await bot.send_photo(anna.id, "no-such-file")


# --- Buttons and polls --------------------------------------------------------------------------------------------------


async def test_a_press_is_answered_once(fake: TelegramServer, bot: Bot) -> None:
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


async def test_only_buttons_that_are_there_can_be_pressed(fake: TelegramServer, bot: Bot) -> None:
    """A button that was never there, was removed or opens an address cannot be pressed."""
    anna = fake.person()
    fake.start(anna)
    link = InlineKeyboardButton("Read", url="https://example.org")
    sent = await bot.send_message(
        anna.id, "one", reply_markup=InlineKeyboardMarkup([[link, InlineKeyboardButton("A", callback_data="a")]])
    )
    for button in ("B", "Read"):
        with pytest.raises(NotPossible):
            fake.press(anna, sent.message_id, button)
    await bot.edit_message_reply_markup(anna.id, sent.message_id)
    with pytest.raises(NotPossible):
        fake.press(anna, sent.message_id, "A")


async def test_votes_in_an_anonymous_poll_name_nobody(fake: TelegramServer, bot: Bot) -> None:
    """An anonymous vote brings the state of the poll, without any user; a closed poll takes no votes."""
    anna = fake.person()
    fake.start(anna)
    sent = await bot.send_poll(anna.id, "Was this useful?", [InputPollOption("Yes"), "No"])
    fake.vote(anna, sent.message_id, [1])
    update = (await bot.get_updates())[-1]
    assert [option.voter_count for option in update.poll.options] == [0, 1]
    assert update.effective_user is None
    assert str(anna.id) not in str(update.to_dict())
    closed = await bot.stop_poll(anna.id, sent.message_id)
    assert (closed.is_closed, closed.total_voter_count) == (True, 1)
    with pytest.raises(NotPossible):
        fake.vote(anna, sent.message_id, [0])
    with refused(BadRequest, "Poll has already been closed"):
        await bot.stop_poll(anna.id, sent.message_id)


async def test_votes_in_an_open_poll_name_the_voter(fake: TelegramServer, bot: Bot) -> None:
    """A vote that is not anonymous brings the voter and the options; it can be changed."""
    anna = fake.person()
    fake.start(anna)
    sent = await bot.send_poll(anna.id, "Which?", ["A", "B", "C"], is_anonymous=False, allows_multiple_answers=True)
    fake.vote(anna, sent.message_id, [0, 2])
    fake.vote(anna, sent.message_id, [1])
    updates = await bot.get_updates()
    answers = [update.poll_answer for update in updates if update.poll_answer]
    assert [(answer.user.id, answer.option_ids) for answer in answers] == [(anna.id, (0, 2)), (anna.id, (1,))]
    assert [option.voter_count for option in updates[-2].poll.options] == [0, 1, 0]


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ("q" * 301, ["a", "b"], "question length must not exceed 300"),
        ("q", ["a"], "at least 2 option"),
        ("q", list("abcdefghijklm"), "more than 12 options"),
        ("q", ["a", "b" * 101], "options length must not exceed 100"),
        ("q", ["a", ""], "options must be non-empty"),
    ],
)
async def test_polls_are_checked(fake: TelegramServer, bot: Bot, question: str, options: list[str], words: str) -> None:
    """Polls outside the limits of the API are refused."""
    anna = fake.person()
    fake.start(anna)
    with refused(BadRequest, words):
        await bot.send_poll(anna.id, question, options)


# --- The bot's profile --------------------------------------------------------------------------------------------------


async def test_commands_by_scope_and_language(fake: TelegramServer, bot: Bot) -> None:
    """A menu belongs to one scope and one language; names and descriptions are checked."""
    private = BotCommandScopeAllPrivateChats()
    await bot.set_my_commands([BotCommand("help", "What I can do")])
    await bot.set_my_commands([("help", "Was ich kann")], scope=private, language_code="de")
    assert (await bot.get_my_commands())[0].description == "What I can do"
    assert (await bot.get_my_commands(scope=private, language_code="de"))[0].description == "Was ich kann"
    assert await bot.get_my_commands(scope=private) == ()
    await bot.delete_my_commands()
    assert await bot.get_my_commands() == ()
    for name, description in (("Help", "d"), ("h" * 33, "d"), ("", "d"), ("help", ""), ("help", "d" * 257)):
        with pytest.raises(BadRequest):
            await bot.set_my_commands([(name, description)])
    with refused(BadRequest, "Invalid language code"):
        await bot.set_my_commands([("help", "d")], language_code="german")


async def test_names_and_descriptions_by_language(fake: TelegramServer, bot: Bot) -> None:
    """Each text has its limit; a language without one of its own falls back."""
    await bot.set_my_name("CAFI")
    await bot.set_my_description("Hello")
    await bot.set_my_description("Hallo", language_code="de")
    await bot.set_my_short_description("Short")
    assert (await bot.get_my_name()).name == "CAFI"
    assert [(await bot.get_my_description(code)).description for code in ("de", "fr")] == ["Hallo", "Hello"]
    assert (await bot.get_my_short_description("es")).short_description == "Short"
    for too_long in (
        bot.set_my_name("n" * 65),
        bot.set_my_description("d" * 513),
        bot.set_my_short_description("s" * 121),
    ):
        with refused(BadRequest, "is too long"):
            await too_long


async def test_menu_button_and_chat(fake: TelegramServer, bot: Bot) -> None:
    """The menu button is kept; a chat can be asked about and left."""
    await bot.set_chat_menu_button(menu_button=MenuButtonCommands())
    assert (await bot.get_chat_menu_button()).type == "commands"
    group = fake.group("Family")
    assert (await bot.get_chat(group.id)).title == "Family"
    await bot.leave_chat(group.id)
    with refused(Forbidden, "bot is not a member of the group chat"):
        await bot.send_message(group.id, "hello")


# --- People -------------------------------------------------------------------------------------------------------------


async def test_commands_and_mentions_are_marked_in_utf_16(fake: TelegramServer, bot: Bot) -> None:
    """The library cuts commands, mentions and addresses out of a text with emoji before them."""
    fake.write(fake.person(), "😀 /help@cafi_bot for @anna_b, see https://example.org and a/b x@y")
    message = (await only_update(bot)).message
    found = [(entity.type, text) for entity, text in message.parse_entities().items()]
    assert found == [("bot_command", "/help@cafi_bot"), ("mention", "@anna_b"), ("url", "https://example.org")]


async def test_a_deep_link_carries_its_payload(fake: TelegramServer) -> None:
    """A handler of the real application gets the payload of a deep link and its answer is seen."""

    async def answer(update: Update, context: Any) -> None:
        await update.message.reply_text(f"topic: {context.args[0]}")

    application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).build()
    application.add_handler(CommandHandler("start", answer))
    anna = fake.person()
    async with application:
        await application.start()
        await application.updater.start_polling(timeout=5)
        fake.start(anna, "sleep")
        (seen,) = await fake.wait_for(lambda: fake.replies(anna))
        await application.updater.stop()
        await application.stop()
    assert seen.text == "topic: sleep"


async def test_media_and_places(fake: TelegramServer, bot: Bot) -> None:
    """Pictures, stickers, voices, contacts and locations are parsed by the library."""
    anna = fake.person()
    for kind in ("photo", "sticker", "voice", "contact", "location"):
        fake.send(anna, kind)
    assert all(
        getattr(update.message, kind)
        for update, kind in zip(
            await bot.get_updates(), ("photo", "sticker", "voice", "contact", "location"), strict=True
        )
    )


async def test_topics_of_a_forum(fake: TelegramServer, bot: Bot) -> None:
    """Messages belong to topics, answers go into them, and an unknown topic is refused."""
    anna, forum = fake.person(), fake.supergroup(topics=["Sleep", "Work"])
    fake.write(anna, "hello", chat=forum, topic="Work")
    message = (await only_update(bot)).message
    assert (message.is_topic_message, message.message_thread_id) == (True, fake.topic_id(forum, "Work"))
    assert message.chat.is_forum
    await message.reply_text("hi")
    assert [one.topic for one in fake.replies(forum)] == [message.message_thread_id]
    with refused(BadRequest, "Message thread not found"):
        await bot.send_message(forum.id, "hi", message_thread_id=1)


async def test_replies_make_threads_that_are_no_topics(fake: TelegramServer, bot: Bot) -> None:
    """In a supergroup without topics a reply to the bot has a thread, and says that it is no topic."""
    anna, group = fake.person(), fake.supergroup()
    sent = await bot.send_message(group.id, "hello")
    fake.write(anna, "thanks", chat=group, reply_to=sent.message_id)
    message = (await only_update(bot)).message
    assert message.reply_to_message.from_user.id == bot.id
    assert (message.message_thread_id, message.is_topic_message) == (sent.message_id, None)


async def test_coming_and_going(fake: TelegramServer, bot: Bot) -> None:
    """The bot is told that it was blocked, added, removed, and who joined or left."""
    anna = fake.person()
    fake.start(anna)
    fake.block(anna)
    with refused(Forbidden, "bot was blocked by the user"):
        await bot.send_message(anna.id, "hello")
    fake.write(anna, "back")
    group = fake.group(by=anna)
    fake.join(anna, group)
    fake.leave(anna, group)
    fake.remove_bot(group, anna)
    with refused(Forbidden, "bot was kicked from the group chat"):
        await bot.send_message(group.id, "hello")
    updates = await bot.get_updates()
    standing = [
        (update.my_chat_member.old_chat_member.status, update.my_chat_member.new_chat_member.status)
        for update in updates
        if update.my_chat_member
    ]
    assert standing == [("member", "kicked"), ("kicked", "member"), ("left", "member"), ("member", "kicked")]
    joined = [user.id for update in updates if update.message for user in update.message.new_chat_members]
    assert joined == [bot.id, anna.id]


async def test_a_group_becomes_a_supergroup(fake: TelegramServer, bot: Bot) -> None:
    """Writing to the old id names the new one."""
    anna, group = fake.person(), fake.group()
    new = fake.upgrade(group, anna)
    with pytest.raises(ChatMigrated) as raised:
        await bot.send_message(group.id, "hello")
    assert raised.value.new_chat_id == new.id
    old, _ = await bot.get_updates()
    assert old.message.migrate_to_chat_id == new.id


# --- What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (Fault.too_many_requests(1), RetryAfter, "Retry in 0:00:01"),
        (Fault.blocked(), Forbidden, "bot was blocked by the user"),
        (Fault.kicked(), Forbidden, "bot was kicked from the supergroup chat"),
        (Fault.chat_not_found(), BadRequest, "Chat not found"),
        (Fault.migrated(-1001), ChatMigrated, "-1001"),
        (Fault.broken_gateway(502), NetworkError, "Bad Gateway"),
        (Fault.broken_gateway(500), NetworkError, "Internal Server Error"),
    ],
)
async def test_a_scripted_refusal_meets_one_call(
    fake: TelegramServer, bot: Bot, fault: Fault, error: type[TelegramError], words: str
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
async def test_a_dropped_connection(fake: TelegramServer, bot: Bot, when: str, shown: int) -> None:
    """The bot sees the same error whether the call was carried out or not; people see the difference."""
    anna = fake.person()
    fake.start(anna)
    fake.fail("*", Fault.dropped(when))
    with pytest.raises(NetworkError):
        await bot.send_message(anna.id, "hello")
    assert len(fake.replies(anna)) == len(fake.calls("sendMessage")) == shown


async def test_a_slow_answer(fake: TelegramServer, bot: Bot) -> None:
    """A call that is answered late was carried out, though the bot has stopped waiting."""
    anna = fake.person()
    fake.start(anna)
    fake.fail("sendMessage", Fault.slow(5))
    with pytest.raises(TimedOut):
        await bot.send_message(anna.id, "hello", read_timeout=0.1)
    assert len(fake.replies(anna)) == 1


async def test_malformed_updates_reach_the_bot(
    fake: TelegramServer, bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    """Unknown kinds pass, missing fields and wrong types fail in the library, a broken body fails once."""
    fake.push_raw({"teleported_message": {"far": True}})
    update = await only_update(bot)
    assert update.api_kwargs == {"teleported_message": {"far": True}}
    for broken in ({"message": {"text": "no id"}}, {"message": "no object"}):
        fake.push_raw(broken)
        with pytest.raises((TypeError, AttributeError, KeyError)):
            await bot.get_updates()
        await bot.delete_webhook(drop_pending_updates=True)
    fake.push_raw('{"ok": true, "result": [{')
    fake.write(fake.person(), "next")
    with refused(TelegramError, "Invalid server response"):
        await bot.get_updates()
    assert len(await bot.get_updates()) == 1


async def test_an_impossible_wait_says_what_happened(fake: TelegramServer, bot: Bot) -> None:
    """A wait that fails lists the last calls."""
    with pytest.raises(AssertionError, match="getMe"):
        await fake.wait_for(lambda: fake.calls("sendMessage"), seconds=0.05)


# --- As a process of its own --------------------------------------------------------------------------------------------


async def test_another_process_pushes_and_records(tmp_path: Path) -> None:
    """Deeds go in over HTTP, and each accepted call is a line in the file before the bot hears of it."""
    async with TelegramProcess(tmp_path / "calls.jsonl") as fake:
        anna = await fake.do("person", first_name="Anna")
        await fake.do("start", person=anna["id"], payload="sleep")
        await fake.do("fail", method="sendMessage", fault="too_many_requests", arguments={"retry_after": 1})
        async with Bot(TOKEN, base_url=fake.base_url) as bot:
            (update,) = await bot.get_updates()
            assert update.message.text == "/start sleep"
            with pytest.raises(RetryAfter):
                await bot.send_message(anna["id"], "hello")
            await bot.send_message(anna["id"], "hello")
        assert [call["params"]["text"] for call in fake.recorded("sendMessage")] == ["hello"]
        assert fake.recorded()[-1]["at"] > 0
        seen = await fake.do("replies", chat=anna["id"])
        assert [one["text"] for one in seen] == ["hello"]
        with pytest.raises(ValueError, match="NotPossible"):
            await fake.do("press", person=anna["id"], message=seen[0]["id"], button="A")
        assert await fake.do("pending") == 1


BOT_THAT_DIES = """
import asyncio, os, signal, sys
from telegram import Bot

async def main():
    async with Bot(sys.argv[1], base_url=sys.argv[2]) as bot:
        (update,) = await bot.get_updates(timeout=5)
        await bot.send_message(update.message.chat_id, "answer")
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_what_a_killed_bot_did_is_counted(tmp_path: Path) -> None:
    """A bot killed between answer and acknowledgement answers twice, and the record shows it."""
    async with TelegramProcess(tmp_path / "calls.jsonl") as fake:
        anna = await fake.do("person")
        await fake.do("write", person=anna["id"], text="hello")
        for _ in range(2):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", BOT_THAT_DIES, TOKEN, fake.base_url)
            assert await process.wait() == -9
        assert len(fake.recorded("sendMessage")) == 2
        assert await fake.do("pending") == 1


async def test_a_burst_is_answered_by_the_real_application(fake: TelegramServer) -> None:
    """Two hundred messages of fifty people are each answered once, over polling."""

    async def answer(update: Update, context: Any) -> None:
        await update.message.reply_text(f"re {update.message.text}")

    request = HTTPXRequest(connection_pool_size=20)
    application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).request(request).concurrent_updates(20)
    application = application.build()
    application.add_handler(MessageHandler(filters.TEXT, answer))
    people = [fake.person(f"P{number}") for number in range(50)]
    for number in range(4):
        for person in people:
            fake.write(person, str(number))
    async with application:
        await application.start()
        await application.updater.start_polling(timeout=5)
        await fake.wait_for(lambda: len(fake.calls("sendMessage")) == 200, seconds=20)
        await application.updater.stop()
        await application.stop()
    for person in people:
        assert sorted(one.text for one in fake.replies(person)) == ["re 0", "re 1", "re 2", "re 3"]
    assert fake.pending() == 0
