"""The web page over a small knowledge base and a real database, and somebody who opens it in a plain browser."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from adapters.web_adapter.adapter import WebBot
from adapters.web_adapter.settings import WebSettings
from bots.chats import Chats
from bots.web import web
from engine.models.scripted import ScriptedModel
from tests import telegram

TOKEN = "a-token-of-the-operator-that-is-long"


def chats_in(
    folder: Path,
    model: ScriptedModel | None = None,
    sessions: Mapping[str, Any] | None = None,
    page: Mapping[str, Any] | None = None,
    given: Mapping[str, object] | None = None,
    **settings: Any,
) -> Chats:
    """Everything around turns, with its files in a folder. `given`: parts in place of what would be built."""
    return telegram.chats_in(folder, model, sessions, given, web=WebSettings(**{"port": 0, **(page or {})}), **settings)


@asynccontextmanager
async def running(
    folder: Path, model: ScriptedModel | None = None, *, real_feedback: bool = False, **settings: Any
) -> AsyncIterator[WebBot]:
    """The page, served until the end of the block; without feedback, unless it is asked for."""
    chats = chats_in(folder, model, given={} if real_feedback else {"feedback": None, "reports": None}, **settings)
    async with chats.application.closing:
        await chats.begin()
        bot = web(chats)
        async with serving(bot):
            yield bot


@asynccontextmanager
async def serving(bot: WebBot) -> AsyncIterator[WebBot]:
    """A page that is built, served until the end of the block."""
    task = asyncio.create_task(bot.run())
    try:
        await bot.started.wait()
        yield bot
    finally:
        bot.stopping.set()
        await task


def read(page: str) -> str:
    """The words of a page or a part of it, as a reader sees them."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


def pressed(page: str, label: str) -> str:
    """What the button of a conversation with this label sends."""
    found = re.search(rf'name="press" value="([^"]*)"[^>]*>{re.escape(html.escape(label))}</button>', page)
    assert found is not None, f"no button {label}"
    return html.unescape(found[1])


class Browser:
    """Somebody's browser without JavaScript: cookies, forms, redirects. `page` is what is on the screen."""

    def __init__(self, address: str, base: str = "", **headers: str) -> None:
        self.base = base
        self.client = httpx.AsyncClient(base_url=address, follow_redirects=True, headers=headers, timeout=20)
        self.page = httpx.Response(200, text="")

    async def __aenter__(self) -> Browser:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.aclose()

    @property
    def text(self) -> str:
        """The page's HTML."""
        return self.page.text

    @property
    def main(self) -> str:
        """What is between <main> and </main>."""
        return self.text.partition("<main")[2].partition("</main>")[0]

    @property
    def words(self) -> str:
        """The words of the main part, as a reader sees them."""
        return read(self.main)

    @property
    def token(self) -> str:
        """The token in the page's forms."""
        found = re.search(r'name="form" value="([^"]*)"', self.text)
        assert found is not None, self.text[:400]
        return found[1]

    @property
    def after(self) -> str:
        """What the page on the screen has last, as its script names it."""
        found = re.search(r'data-after="([^"]*)"', self.text)
        assert found is not None
        return found[1]

    @property
    def entries(self) -> list[str]:
        """The entries of the conversation."""
        return re.findall(r'<li class="entry.*?</li>(?=<li class="entry|\s*</ol>)', self.main, re.S)

    async def get(self, path: str, **kwargs: Any) -> httpx.Response:
        """Open a page."""
        self.page = await self.client.get(self.base + path, **kwargs)
        return self.page

    async def post(self, path: str, headers: Mapping[str, str] | None = None, **fields: str) -> httpx.Response:
        """Send a form that is on the screen; on an operator's page it carries the token of the sign-in too."""
        own = re.search(r'name="own" value="([^"]*)"', self.text)
        hidden = {"form": self.token} | ({} if own is None else {"own": own[1]})
        self.page = await self.client.post(self.base + path, data={**hidden, **fields}, headers=dict(headers or {}))
        return self.page

    async def begin(self, language: str = "en", country: str = "") -> None:
        """Read the first page and agree."""
        await self.get("" if self.base else "/")
        await self.post("/begin", language=language, country=country)
        assert self.page.status_code == 200 and self.page.url.path == f"{self.base}/chat"

    async def ask(self, text: str) -> str:
        """Ask; the words of the page with the answer."""
        await self.post("/chat", text=text)
        return self.words

    async def press(self, label: str) -> str:
        """Press the button of the conversation that has this label."""
        await self.post("/press", press=pressed(self.main, label))
        return self.words


class Listening:
    """An open page with its script: the events that have come so far (Server-Sent Events)."""

    def __init__(self) -> None:
        self.events: list[dict[str, str]] = []
        self.ended = False

    async def until(self, kind: str, number: int = 1) -> dict[str, str]:
        """The so-many-th event of a kind, as soon as it is there."""
        await eventually(lambda: len(self._of(kind)) >= number)
        return self._of(kind)[number - 1]

    @property
    def shown(self) -> list[str]:
        """The entries that have come, as HTML."""
        return [one["data"] for one in self._of("shown")]

    @property
    def last(self) -> str:
        """The name of the newest thing, empty before there is one."""
        return next((one["id"] for one in reversed(self.events) if "id" in one), "")

    def _of(self, kind: str) -> list[dict[str, str]]:
        return [one for one in self.events if one["event"] == kind]

    async def end(self) -> None:
        """Wait for the end of the stream."""
        await eventually(lambda: self.ended)


@asynccontextmanager
async def listening(browser: Browser, after: str = "", **headers: str) -> AsyncIterator[Listening]:
    """A page that listens until the end of the block."""
    found = Listening()
    opened = asyncio.Event()

    async def listen() -> None:
        path = f"{browser.base}/events?after={after}"
        try:
            async with browser.client.stream("GET", path, headers=headers) as answer:
                assert answer.status_code == 200
                opened.set()
                event: dict[str, str] = {}
                async for line in answer.aiter_lines():
                    if not line:
                        if "event" in event:
                            found.events.append(event)
                        event = {}
                    else:
                        name, _, value = line.partition(": ")
                        event[name] = f"{event[name]}\n{value}" if name in event else value
        finally:
            found.ended = True
            opened.set()

    task = asyncio.create_task(listen())
    await opened.wait()
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def eventually(check: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not check():  # noqa: ASYNC110 - what is checked belongs to other tasks, which ring no bell
            await asyncio.sleep(0.01)
