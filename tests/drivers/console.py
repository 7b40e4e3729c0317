"""The terminal, as the shared suite drives it."""

from __future__ import annotations

import asyncio
import re
from itertools import takewhile
from typing import Self

from bots.terminal import console
from tests.drivers.protocol import Driver, words
from tests.team import application


class _Lines:
    """A terminal whose lines come from a test; it is waiting for one when all is said."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.shown: list[str] = []
        self.waiting = asyncio.Event()

    async def read(self) -> str | None:
        self.waiting.set()
        line = await self.queue.get()
        self.waiting.clear()
        return line

    def write(self, text: str) -> None:
        self.shown.append(words(text))


class ConsoleDriver(Driver):
    """A talk in the terminal: whoever sits there has started it themselves."""

    asks_consent = False
    limits = False
    restarts = False

    async def __aenter__(self) -> Self:
        self._lines = _Lines()
        built = application(self.folder / "kb", self.model, **self.settings)
        self._running = asyncio.create_task(console(built, self._lines).run())
        await self._lines.waiting.wait()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._lines.queue.put_nowait(None)
        await self._running

    async def say(self, text: str) -> list[str]:
        before = len(self._lines.shown)
        self._lines.waiting.clear()
        self._lines.queue.put_nowait(text)
        await self._lines.waiting.wait()
        return self._lines.shown[before:]

    async def press(self, label: str) -> list[str]:
        """The terminal has no buttons: it numbers them, and takes the number."""
        numbered = next(one for one in reversed(self._lines.shown) if f": {label}" in one)
        return await self.say(numbered.split(f": {label}")[0].split()[-1])

    def labels(self) -> list[str]:
        numbered = self._lines.shown[::-1]
        rows = list(takewhile(lambda one: re.match(r"\d+: ", one), numbered))[::-1]
        return [label for row in rows for label in re.split(r"(?:^| )\d+: ", row)[1:]]

    async def use(self, command: str) -> list[str]:
        return await self.say(f"/{command}")
