"""The Telegram bot over a small knowledge base and a real database, against a stand-in for the Bot API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.telegram_adapter.adapter import TelegramBot
from bots.chats import Chats
from bots.rehearsing.telegram_world import Person, TelegramServer
from bots.running import telegram
from bots.settings import SessionSettings, StorageSettings, TelegramSettings
from engine.models.scripted import ScriptedModel
from tests.team import application

BEGIN = "I understand, begin"


def chats_in(
    folder: Path, model: ScriptedModel | None = None, sessions: Mapping[str, Any] | None = None, **settings: Any
) -> Chats:
    """Everything around turns, with its files in a folder."""
    built = application(
        folder / "kb",
        model,
        storage=StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
        sessions=SessionSettings(
            secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key", **(sessions or {})
        ),
        **settings,
    )
    return Chats(application=built)


@asynccontextmanager
async def running(
    fake: TelegramServer,
    folder: Path,
    model: ScriptedModel | None = None,
    telegram_settings: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[TelegramBot]:
    """The bot, until the end of the block."""
    chosen = TelegramSettings(token=fake.token, base_url=fake.base_url, **(telegram_settings or {}))
    chats = chats_in(folder, model, telegram=chosen, **settings)
    async with chats.application.closing:
        await chats.begin()
        bot = telegram(chats)
        assert isinstance(bot, TelegramBot)
        task = asyncio.create_task(bot.run())
        try:
            yield bot
        finally:
            bot.stopping.set()
            await task


async def agreed(fake: TelegramServer, person: Person, *, chat: Any = None) -> None:
    """The person has read the disclaimer and agreed."""
    place = {} if chat is None else {"chat": chat}
    where = person if chat is None else chat
    before = len(fake.replies(where))
    fake.write(person, "/start" if chat is None else "/start@cafi_bot", **place)
    await fake.wait_for(lambda: len(fake.replies(where)) > before)
    welcome = fake.replies(where)[-1]
    fake.press(person, welcome.id, BEGIN, **place)
    await fake.wait_for(lambda: len(fake.replies(where)) > before + 1)
