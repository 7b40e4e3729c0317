"""What every rehearsal shares: the terminal of whoever rehearses, and a bot that is started and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bots.chats import Chats
from bots.compose import Application
from bots.process import settle
from bots.settings import CafiSettings, SessionSettings, StorageSettings


class Terminal(Protocol):
    """Where lines come from and go to."""

    async def read(self) -> str | None:
        """The next line, or None at the end of input."""
        ...

    def write(self, text: str) -> None:
        """Show text."""
        ...


class Bot(Protocol):
    """A bot of a platform."""

    stopping: asyncio.Event

    async def run(self) -> None:
        """Run until `stopping` is set."""
        ...


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
        settle(application.session.engine)
        await chats.begin()
        bot = build(chats)
        return cls(bot=bot, application=application, task=asyncio.create_task(bot.run()))

    async def stop(self) -> None:
        """Stop it and close what it used; a second time nothing happens."""
        self.bot.stopping.set()
        await self.task
        await self.application.closing.aclose()


def kept_in(folder: Path, **sessions: Any) -> dict[str, Any]:
    """Settings by which everything is stored in a folder; `sessions` are further ones of sessions."""
    return {
        "storage": StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
        "sessions": SessionSettings(
            secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key", **sessions
        ),
    }
