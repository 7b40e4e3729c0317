"""The bots that `cafi rehearse` puts on stage: built by the composition root, against a stand-in for their platform."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bots.chats import Chats
from bots.compose import Application
from bots.process import settle
from bots.runner import Bot
from bots.settings import CafiSettings, DiscordSettings, SessionSettings, StorageSettings, TelegramSettings

if TYPE_CHECKING:
    from adapters.discord_adapter.adapter import DiscordBot
    from adapters.telegram_adapter.adapter import TelegramBot

BotT = TypeVar("BotT", bound=Bot)


@dataclass(frozen=True, kw_only=True)
class OnStage(Generic[BotT]):
    """A bot that runs, and what it was built from."""

    bot: BotT
    application: Application
    task: asyncio.Task[None]

    @classmethod
    async def begin(cls, settings: CafiSettings, build: Callable[[Chats], BotT]) -> OnStage[BotT]:
        """Build a bot and let it run."""
        application = Application(settings=settings)
        chats = Chats(application=application)
        settle(application.engine, application.settings.crisis.language)
        await chats.begin()
        bot = build(chats)
        return cls(bot=bot, application=application, task=asyncio.create_task(bot.run()))

    async def stop(self) -> None:
        """Stop it and close what it used; a second time nothing happens."""
        self.bot.stopping.set()
        await self.task
        await self.application.closing.aclose()


@dataclass(frozen=True, kw_only=True)
class BotStage:
    """Puts bots on stage, under an operator's settings with everything stored in a folder."""

    settings: CafiSettings

    async def telegram(self, folder: Path, account: Mapping[str, Any]) -> OnStage[TelegramBot]:
        """The Telegram bot."""
        from bots.telegram import telegram

        return await OnStage.begin(self._kept_in(folder, telegram=TelegramSettings(**account)), telegram)

    async def discord(self, folder: Path, account: Mapping[str, Any]) -> OnStage[DiscordBot]:
        """The Discord bot under moderation."""
        from bots.discord import moderated_bot

        moderation = self.settings.moderation.model_copy(update={"file": folder / "standing.json"})
        settings = self._kept_in(
            folder, {"messages_a_minute": 60}, discord=DiscordSettings(**account), moderation=moderation
        )
        return await OnStage.begin(settings, moderated_bot)

    def _kept_in(self, folder: Path, limits: Mapping[str, Any] = MappingProxyType({}), **others: Any) -> CafiSettings:
        sessions = SessionSettings(secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key", **limits)
        storage = StorageSettings(url=f"sqlite:///{folder}/cafi.db")
        return self.settings.model_copy(update={"storage": storage, "sessions": sessions, **others})
