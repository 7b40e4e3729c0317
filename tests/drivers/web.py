"""The web page, as the shared suite drives it: with its script, told by the stream; and by forms and whole pages alone."""

from __future__ import annotations

import asyncio
import html
import re
from contextlib import AsyncExitStack
from typing import Self

from adapters.storage.identity import ChatIdentity
from tests.drivers.protocol import Driver, words
from tests.web import Browser, Listening, eventually, listening, pressed, read, running

BUTTONS = {"simpler": "Simpler", "shorter": "Shorter", "safe": "It was a question, I am safe"}


class PlainWebDriver(Driver):
    """The page without JavaScript.

    Words before consent come from a chat page that was open until its session was gone; agreeing is the first page's button.
    """

    async def __aenter__(self) -> Self:
        self._stack, self._running = AsyncExitStack(), AsyncExitStack()
        self._bot = await self._running.enter_async_context(running(self.folder, self.model, **self.settings))
        self._anna = await self._stack.enter_async_context(Browser(self._bot.address))
        self._seen = 0
        await self._anna.get("/")
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
        await self._running.aclose()

    async def restart(self) -> None:
        """The page that was open stays open; its entries are numbered anew."""
        page = {"port": int(self._bot.address.rpartition(":")[2])}
        await self._running.aclose()
        again = running(self.folder, self.model, page=page, **self.settings)
        self._bot = await self._running.enter_async_context(again)
        self._seen = 0

    def labels(self) -> list[str]:
        return _labels(self._anna.entries[-1])

    async def say(self, text: str) -> list[str]:
        await self._anna.post("/chat", text=text)
        return await self._settled()

    async def use(self, command: str) -> list[str]:
        if command == "crisis":
            await self._anna.get("/crisis")
            return [words(self._anna.words)]
        if command == "forget":
            return await self._forget()
        if command == "consent":
            await self._anna.get("/")
            await self._anna.post("/begin", language="en", country="")
        else:
            await self._anna.press(BUTTONS[command])
        return await self._settled()

    async def press(self, label: str) -> list[str]:
        await self._anna.press(label)
        return await self._settled()

    async def flood(self, texts: list[str]) -> list[str]:
        """All side by side: a page without a script waits for its answer."""
        form = self._anna.token
        posts = [self._anna.client.post("/chat", data={"form": form, "text": text}) for text in texts]
        await asyncio.gather(*posts)
        return await self._settled()

    async def _forget(self) -> list[str]:
        await self._anna.get("/forget")
        await self._anna.post("/forget")
        shown, self._seen = [words(self._anna.words)], 0
        await self._anna.get("/")
        return shown

    async def _settled(self) -> list[str]:
        await self._bot.site.dispatch.idle()
        await self._anna.get("/chat")
        numbered = {_number(one): one for one in self._anna.entries}
        new = [one for number, one in numbered.items() if number > self._seen]
        self._seen = max(self._seen, *numbered)
        return _theirs(new)


class WebDriver(Driver):
    """The page with its script: agreed on the first page, as everybody does, sent as JSON, told by the stream."""

    asks_consent = False
    _page: Listening

    async def __aenter__(self) -> Self:
        self._stack, self._tab, self._running = AsyncExitStack(), AsyncExitStack(), AsyncExitStack()
        self._bot = await self._running.enter_async_context(running(self.folder, self.model, **self.settings))
        self._anna = await self._stack.enter_async_context(Browser(self._bot.address))
        await self._begin()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._tab.aclose()
        await self._stack.aclose()
        await self._running.aclose()

    async def restart(self) -> None:
        """The tab connects anew; what it shows is still there for whoever presses before it has looked anew."""
        page = {"port": int(self._bot.address.rpartition(":")[2])}
        after, events = self._page.last, self._page.events
        await self._tab.aclose()
        await self._running.aclose()
        again = running(self.folder, self.model, page=page, **self.settings)
        self._bot = await self._running.enter_async_context(again)
        self._tab = AsyncExitStack()
        self._page = await self._tab.enter_async_context(listening(self._anna, after))
        self._page.events[:0] = events

    def labels(self) -> list[str]:
        return _labels(self._page.shown[-1])

    async def _begin(self) -> None:
        await self._anna.begin()
        self._form = self._anna.token
        self._page = await self._tab.enter_async_context(listening(self._anna, self._anna.after))

    async def say(self, text: str) -> list[str]:
        return await self.flood([text])

    async def use(self, command: str) -> list[str]:
        before = len(self._page.shown)
        if command == "forget":
            return await self._forget()
        if command in BUTTONS:
            return await self.press(BUTTONS[command])
        await self._post("/chat", text=f"/{command}")
        return await self._settled(before)

    async def press(self, label: str) -> list[str]:
        before = len(self._page.shown)
        entry = next(one for one in reversed(self._page.shown) if 'class="actions"' in one)
        await self._post("/press", press=pressed(entry, label))
        return await self._settled(before)

    async def flood(self, texts: list[str]) -> list[str]:
        before = len(self._page.shown)
        for text in texts:
            await self._post("/chat", text=text)
        return await self._settled(before)

    async def _post(self, path: str, **fields: str) -> dict[str, str]:
        answer = await self._anna.client.post(
            path, data={"form": self._form, **fields}, headers={"Accept": "application/json"}
        )
        assert answer.status_code == 202
        return dict(answer.json())

    async def _forget(self) -> list[str]:
        """The command leads to the page that asks; the open chat is told, and the first page comes."""
        assert await self._post("/chat", text="/forget") == {"go": "/forget"}
        await self._anna.get("/forget")
        await self._anna.post("/forget")
        shown = [words(self._anna.words)]
        await self._page.until("gone")
        await self._tab.aclose()
        await self._begin()
        return shown

    async def _settled(self, before: int) -> list[str]:
        await self._bot.site.dispatch.idle()
        board = self._bot.site.boards.get(ChatIdentity(platform="web", chat=self._anna.client.cookies["cafi-session"]))
        await eventually(lambda: self._page.last == f"{board.epoch}-{board.number}")
        return _theirs(self._page.shown[before:])


def _labels(entry: str) -> list[str]:
    found = re.findall(r'<(?:button|a) class="button[^>]*>(.*?)</(?:button|a)>', entry)
    return [html.unescape(one) for one in found]


def _number(entry: str) -> int:
    found = re.search(r'id="m(\d+)"', entry)
    assert found is not None
    return int(found[1])


def _theirs(entries: list[str]) -> list[str]:
    """The words of entries, but for the person's own."""
    return [words(read(one)) for one in entries if 'class="entry you"' not in one]
