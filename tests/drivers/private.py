"""A private chat with a bot over a stand-in for its platform."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from tests.drivers.protocol import Driver, words


class PrivateDriver(Driver):
    """One person's private chat; `_fake` is the stand-in, `_bot` the real bot, both until the ends of `_stack` and `_running`."""

    _stack: AsyncExitStack
    _running: AsyncExitStack
    _fake: Any
    _bot: Any

    async def __aexit__(self, *exc: object) -> None:
        await self._running.aclose()
        await self._stack.aclose()

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[Any]:
        """The bot, from its start to the end of the block."""

    async def start(self) -> None:
        """Start the bot over the stand-in."""
        self._running = AsyncExitStack()
        self._bot = await self._running.enter_async_context(self.running())

    async def restart(self) -> None:
        await self._running.aclose()
        await self.start()

    @abstractmethod
    def shown(self) -> list[str]:
        """The texts of all that the bot has written to the person."""

    @abstractmethod
    def write(self, text: str) -> None:
        """Send a message as the person."""

    async def say(self, text: str) -> list[str]:
        return await self.flood([text])

    async def flood(self, texts: list[str]) -> list[str]:
        before = len(self.shown())
        for text in texts:
            self.write(text)
        return await self.settled(before)

    async def settled(self, before: int) -> list[str]:
        """What is new after so many texts, when the bot has nothing more to do."""
        await self._fake.wait_for(lambda: len(self.shown()) > before)
        await self._bot.dispatch.idle()
        return [words(one) for one in self.shown()[before:]]
