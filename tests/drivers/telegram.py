"""Telegram in private, as the shared suite drives it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self

from tests.drivers.private import PrivateDriver
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.telegram import ANYWHERE, BEGIN, running


class TelegramDriver(PrivateDriver):
    """A private chat, over the stand-in for the Bot API."""

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._fake = await self._stack.enter_async_context(FaultyTelegram())
        await self.start()
        self._anna = self._fake.person("Anna")
        return self

    def running(self) -> AbstractAsyncContextManager[Any]:
        return running(self._fake, self.folder, self.model, **self.settings)

    def labels(self) -> list[str]:
        return list(self._fake.replies(self._anna)[-1].buttons)

    def shown(self) -> list[str]:
        return [one.text for one in self._fake.replies(self._anna)]

    def write(self, text: str) -> None:
        self._fake.write(self._anna, text)

    async def press(self, label: str) -> list[str]:
        before = len(self._fake.replies(self._anna))
        self._fake.press(self._anna, self._fake.replies(self._anna)[-1].id, label)
        return await self.settled(before)

    async def use(self, command: str) -> list[str]:
        if command == "consent":
            before = len(self._fake.replies(self._anna))
            for button in (BEGIN, ANYWHERE):
                begun = len(self._fake.replies(self._anna))
                self._fake.press(self._anna, self._fake.replies(self._anna)[-1].id, button)
                await self.settled(begun)
            return await self.settled(before)
        return await self.say(f"/{command}")
