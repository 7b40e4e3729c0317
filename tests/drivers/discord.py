"""Discord in private, as the shared suite drives it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Self

from bots.rehearsing.discord_world import DiscordServer
from tests.discord import BEGIN, Room, running
from tests.drivers.protocol import Driver, words

BUTTONS = {"simpler": "Simpler", "shorter": "Shorter", "safe": "It was a question, I am safe", "consent": BEGIN}


class DiscordDriver(Driver):
    """Direct messages, over the stand-in for gateway and REST."""

    async def __aenter__(self) -> Self:
        self._stack = AsyncExitStack()
        self._fake = await self._stack.enter_async_context(DiscordServer())
        self._anna = Room(self._fake).anna
        self._bot = await self._stack.enter_async_context(running(self._fake, self.folder, self.model, **self.settings))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    async def say(self, text: str) -> list[str]:
        return await self.flood([text])

    async def use(self, command: str) -> list[str]:
        before = len(self._fake.bot_messages(self._anna))
        if command in BUTTONS:
            label = BUTTONS[command]
            shown = next(one for one in self._fake.bot_messages(self._anna)[::-1] if label in one.buttons)
            self._anna.press(shown, label)
        else:
            self._anna.slash(self._anna, command)
        return await self._settled(before)

    async def flood(self, texts: list[str]) -> list[str]:
        before = len(self._fake.bot_messages(self._anna))
        for text in texts:
            self._anna.write(self._anna, text)
        return await self._settled(before)

    async def _settled(self, before: int) -> list[str]:
        await self._fake.wait_for(lambda: len(self._fake.bot_messages(self._anna)) > before)
        await self._bot.dispatch.idle()
        return [words(one.content) for one in self._fake.bot_messages(self._anna)[before:]]
