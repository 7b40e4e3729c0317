"""The Telegram bot over a small knowledge base and a real database, against a stand-in for the Bot API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.conversation.feedback_port import FeedbackPort
from adapters.telegram_adapter.adapter import TelegramBot
from adapters.web_adapter.settings import WebSettings
from bots.chats import Chats
from bots.settings import SessionSettings, StorageSettings, TelegramSettings
from bots.telegram import telegram
from engine.models.scripted import ScriptedModel
from rehearsal.telegram_world import Shown, TelegramPerson
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.team import application

BEGIN = "I understand, begin"
CONTACTS = "Please call your emergency number now (112, 911, 999, 000 or 111,"
REFERRAL = f"That sounds very heavy. {CONTACTS}"
ANYWHERE = "I would rather not say"
EAGER = {"messages_a_minute": 1_000, "waiting_messages": 100}
"""Settings of sessions for tests that write faster than people do."""


def chats_in(
    folder: Path,
    model: ScriptedModel | None = None,
    sessions: Mapping[str, Any] | None = None,
    given: Mapping[str, object] | None = None,
    **settings: Any,
) -> Chats:
    """Everything around turns, with its files in a folder. `given`: parts in place of what would be built."""
    built = application(
        folder / "kb",
        model,
        sessions=SessionSettings(
            secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key", **(sessions or {})
        ),
        **{
            "storage": StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
            "web": WebSettings(enabled=False),
            **settings,
        },
    )
    return Chats(application=built, given=given or {})


@asynccontextmanager
async def running(
    fake: FaultyTelegram,
    folder: Path,
    model: ScriptedModel | None = None,
    telegram_settings: Mapping[str, Any] | None = None,
    feedback: FeedbackPort | None = None,
    real_feedback: bool = False,
    **settings: Any,
) -> AsyncIterator[TelegramBot]:
    """The bot, until the end of the block."""
    chosen = TelegramSettings(token=SecretStr(fake.token), base_url=fake.base_url, **(telegram_settings or {}))
    given = {} if real_feedback else {"feedback": feedback, "reports": None}
    chats = chats_in(folder, model, given=given, telegram=chosen, **settings)
    async with chats.application.closing:
        await chats.begin()
        bot = telegram(chats)
        task = asyncio.create_task(bot.run())
        try:
            yield bot
        finally:
            bot.stopping.set()
            await task


async def agreed(fake: FaultyTelegram, person: TelegramPerson, *, chat: Any = None) -> None:
    """The person has read the disclaimer and agreed."""
    place = {} if chat is None else {"chat": chat}
    where = person if chat is None else chat
    before = len(fake.replies(where))
    fake.write(person, "/start" if chat is None else "/start@cafi_bot", **place)
    await fake.wait_for(lambda: len(fake.replies(where)) > before)
    welcome = fake.replies(where)[-1]
    fake.press(person, welcome.id, BEGIN, **place)
    await fake.wait_for(lambda: len(fake.replies(where)) > before + 1)


async def asked(
    fake: FaultyTelegram, person: TelegramPerson, text: str, *, replies: int = 1, **place: Any
) -> list[Shown]:
    """What the bot answers to a message: so many replies. `place`: as of `write`."""
    before = _seen(fake, person, place)
    fake.write(person, text, **place)
    return await _new(fake, person, place, before, replies)


async def pressed(
    fake: FaultyTelegram, person: TelegramPerson, message: Shown, button: str, *, replies: int = 1, **place: Any
) -> list[Shown]:
    """What the bot answers to a button."""
    before = _seen(fake, person, place)
    fake.press(person, message.id, button, **place)
    return await _new(fake, person, place, before, replies)


async def quiet(fake: FaultyTelegram, bot: TelegramBot) -> None:
    """Everything that has been written is seen to."""
    await fake.wait_for(lambda: fake.pending() == 0)
    async with asyncio.timeout(10):
        await bot.dispatch.idle()


def texts(shown: Iterable[Shown]) -> list[str]:
    """Only the words."""
    return [one.text for one in shown]


def _seen(fake: FaultyTelegram, person: TelegramPerson, place: Mapping[str, Any]) -> int:
    return len(fake.replies(place.get("chat") or person))


async def _new(
    fake: FaultyTelegram, person: TelegramPerson, place: Mapping[str, Any], before: int, replies: int
) -> list[Shown]:
    where = place.get("chat") or person
    await fake.wait_for(lambda: len(fake.replies(where)) >= before + replies)
    return fake.replies(where)[before:]
