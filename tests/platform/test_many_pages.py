"""The web page on several processes over one PostgreSQL: whoever serves it, workers answer, and open pages are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.web_adapter.adapter import WebBot
from bots.chats import Chats
from bots.settings import StorageSettings
from bots.web import web
from engine.models.scripted import ScriptedModel
from tests.postgres import PostgresServer
from tests.web import Browser, chats_in, listening, serving

pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")
QUESTION, ANSWER = "what are the voices?", "Voices are sounds"
DATABASE = "pages"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, postgresql: PostgresServer) -> Path:
    """A folder with keys, named like the database that belongs to it."""
    from bots.workers import prepare

    folder = tmp_path_factory.mktemp("pages")
    postgresql.execute(f"CREATE DATABASE {folder.name}")

    async def made() -> None:
        chats = chats_in(folder, queue="workers", storage=StorageSettings(url=postgresql.url(folder.name)))
        async with chats.application.closing:
            await prepare(chats)

    asyncio.run(made())
    return folder


@pytest.fixture
def database(prepared: Path, postgresql: PostgresServer) -> Iterator[StorageSettings]:
    """A new database with tables, for the keys in the folder."""
    postgresql.execute(f"CREATE DATABASE {DATABASE} TEMPLATE {prepared.name}")
    yield StorageSettings(url=postgresql.url(DATABASE))
    postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@dataclass
class Deployment:
    """Servers of the page and workers, each with connections and memory of its own."""

    folder: Path
    storage: StorageSettings
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def _joined(self, **settings: Any) -> Chats:
        settings = {"queue": "workers", "storage": self.storage, **settings}
        chats = chats_in(self.folder, given={"feedback": None}, **settings)
        await self.stack.enter_async_context(chats.application.closing)
        await chats.begin()
        return chats

    async def server(self, **settings: Any) -> WebBot:
        """One more server of the page."""
        return await self.stack.enter_async_context(serving(web(await self._joined(**settings))))

    async def worker(self, model: ScriptedModel | None = None, **settings: Any) -> Any:
        """One more worker."""
        from bots.workers import worker

        [bot] = worker(await self._joined(model=model, **settings))
        running = asyncio.create_task(bot.run())

        async def end() -> None:
            bot.stopping.set()
            await running

        self.stack.push_async_callback(end)
        return bot

    async def browser(self, server: WebBot, like: Browser | None = None) -> Browser:
        """Somebody at a server, with the cookies of another browser window."""
        browser = await self.stack.enter_async_context(Browser(server.address))
        if like is not None:
            browser.client.cookies = like.client.cookies
        return browser


@pytest.fixture
async def deployment(prepared: Path, database: StorageSettings) -> AsyncIterator[Deployment]:
    made = Deployment(prepared, database)
    async with made.stack:
        yield made


async def test_a_chat_goes_on_at_any_server_and_every_open_page_is_told(deployment: Deployment) -> None:
    """Begun at one server, asked at another, answered by a worker; pages that are open at both see it come, once."""
    first, second = await deployment.server(), await deployment.server()
    await deployment.worker()
    anna = await deployment.browser(first)
    await anna.begin()
    elsewhere = await deployment.browser(second, anna)
    await elsewhere.get("/chat")
    async with listening(anna, anna.after) as here, listening(elsewhere, elsewhere.after) as there:
        await here.until("calm")
        await there.until("calm")
        assert ANSWER in await elsewhere.ask(QUESTION)
        for page in (here, there):
            assert QUESTION in (await page.until("shown"))["data"]
            assert ANSWER in (await page.until("shown", 2))["data"]
            await page.until("busy")
            await page.until("calm", 2)
            assert len(page.shown) == 2 and "anew" not in {one["event"] for one in page.events}
    await anna.get("/chat")
    assert QUESTION in anna.words and ANSWER in anna.words
    assert "Simpler" in anna.words
    await anna.press("Simpler")
    assert "Simpler" in anna.words


async def test_erasing_and_leaving_reach_pages_at_other_servers(deployment: Deployment) -> None:
    """Who erases a chat, or leaves quickly, at one server: pages that are open at another go to the first page."""
    first, second = await deployment.server(), await deployment.server()
    await deployment.worker()
    for leaving in ("/forget", "/leave"):
        anna = await deployment.browser(first)
        await anna.begin()
        await anna.ask(QUESTION)
        elsewhere = await deployment.browser(second, anna)
        await elsewhere.get("/chat")
        assert ANSWER in elsewhere.words
        async with listening(elsewhere, elsewhere.after) as there:
            await there.until("calm")
            await anna.post(leaving)
            await there.until("gone")
            await there.end()
        assert not len(second.site.boards)
