"""The page as `cafi run` builds it, with its files in a folder; it can be stopped and started on the same address.

Nothing here has a repr of all its parts: the loop writes one of whatever a fixture returns, and an application is large.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.adapter import WebBot
from adapters.web_adapter.settings import WebSettings
from bots.chats import Chats
from bots.compose import Application
from bots.settings import CafiSettings, SessionSettings, StorageSettings
from bots.web import web
from engine.models.scripted import ScriptedModel
from tests.team import shipped
from tests.web import TOKEN

MANY = 10_000
EXIT = "https://www.wikipedia.org/"


@dataclass(kw_only=True, repr=False)
class Served:
    """A running page. `model`: what answers in place of the built-in agents; `settings`: further ones."""

    folder: Path
    model: ScriptedModel | None = None
    page: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    port: int = 0
    bot: WebBot = field(init=False)
    _stack: AsyncExitStack = field(init=False)

    async def __aenter__(self) -> Served:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> str:
        """Where it is."""
        return self.bot.address

    async def start(self) -> None:
        """Serve."""
        chats = Chats(application=self._application())
        stack = self._stack = AsyncExitStack()
        await stack.enter_async_context(chats.application.closing)
        await chats.begin()
        self.bot = web(chats)
        task = asyncio.create_task(self.bot.run())
        stack.push_async_callback(self._ended, self.bot, task)
        await self.bot.started.wait()
        self.port = int(self.bot.address.rpartition(":")[2])

    async def stop(self) -> None:
        """Stop; what is stored stays."""
        await self._stack.aclose()

    async def expire(self, session: str) -> None:
        """What happens to a chat that nobody has written in for a day."""
        store = self.bot.store
        listeners, store.erased[:] = list(store.erased), []  # expiry tells no open page
        await store.erase(ChatIdentity(platform="web", chat=session))
        store.erased[:] = listeners

    async def _ended(self, bot: WebBot, task: asyncio.Task[None]) -> None:
        bot.stopping.set()
        await task

    def _application(self) -> Application:
        many = ("posts", "requests", "begun", "messages", "refused")
        usual = {"operator_token": TOKEN, "exit_url": EXIT, **{f"{one}_a_minute": MANY for one in many}}
        settings = CafiSettings(
            agents="builtin",
            storage=StorageSettings(url=f"sqlite:///{self.folder}/cafi.db"),
            sessions=SessionSettings(
                secret_file=self.folder / "secret.json",
                inbox_key_file=self.folder / "inbox.key",
                messages_a_minute=MANY,
            ),
            web=WebSettings(port=self.port, **{**usual, **self.page}),
            **self.settings,
        )
        return shipped(settings, self.model)
