"""Telegram in private, as the shared suite drives it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from bots.rehearsing.telegram_world import TelegramServer
from tests.drivers.protocol import Driver, words
from tests.telegram import BEGIN, running


class TelegramDriver(Driver):
    """A private chat, over the stand-in for the Bot API."""

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._fake = await self._stack.enter_async_context(TelegramServer())
        self._bot = await self._stack.enter_async_context(running(self._fake, self.folder, self.model, **self.settings))
        self._anna = self._fake.person("Anna")
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def say(self, text: str) -> list[str]:
        return await self.flood([text])

    async def use(self, command: str) -> list[str]:
        if command == "consent":
            before = len(self._fake.replies(self._anna))
            self._fake.press(self._anna, self._fake.replies(self._anna)[-1].id, BEGIN)
            return await self._settled(before)
        return await self.say(f"/{command}")

    async def flood(self, texts: list[str]) -> list[str]:
        before = len(self._fake.replies(self._anna))
        for text in texts:
            self._fake.write(self._anna, text)
        return await self._settled(before)

    async def _settled(self, before: int) -> list[str]:
        await self._fake.wait_for(lambda: len(self._fake.replies(self._anna)) > before)
        await self._bot.dispatch.idle()
        return [words(one.text) for one in self._fake.replies(self._anna)[before:]]
