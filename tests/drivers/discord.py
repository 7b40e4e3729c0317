"""Discord in private, as the shared suite drives it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self

from tests.discord import ANYWHERE, BEGIN, Room, running
from tests.drivers.private import PrivateDriver
from tests.fakes.faulty_discord import FaultyDiscord

BUTTONS = {"simpler": "Simpler", "shorter": "Shorter", "safe": "It was a question, I am safe"}


class DiscordDriver(PrivateDriver):
    """Direct messages, over the stand-in for gateway and REST."""

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._fake = await self._stack.enter_async_context(FaultyDiscord())
        self._anna = Room(self._fake).anna
        await self.start()
        return self

    def running(self) -> AbstractAsyncContextManager[Any]:
        return running(self._fake, self.folder, self.model, **self.settings)

    def labels(self) -> list[str]:
        return list(self._fake.bot_messages(self._anna)[-1].buttons)

    def shown(self) -> list[str]:
        return [one.content for one in self._fake.bot_messages(self._anna)]

    def write(self, text: str) -> None:
        self._anna.write(self._anna, text)

    async def press(self, label: str) -> list[str]:
        before = len(self._fake.bot_messages(self._anna))
        self._press(label)
        return await self.settled(before)

    async def use(self, command: str) -> list[str]:
        before = len(self._fake.bot_messages(self._anna))
        if command == "consent":
            self._press(BEGIN)
            await self.settled(before)
            self._press(ANYWHERE)
            await self._fake.wait_for(lambda: len(self._fake.bot_messages(self._anna)) > before + 1)
        elif command in BUTTONS:
            self._press(BUTTONS[command])
        else:
            self._anna.slash(self._anna, command)
        return await self.settled(before)

    def _press(self, label: str) -> None:
        shown = next(one for one in self._fake.bot_messages(self._anna)[::-1] if label in one.buttons)
        self._anna.press(shown, label)
