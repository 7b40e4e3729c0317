"""The web page on several processes over one PostgreSQL: whoever serves it, workers answer, and open pages are told."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.storage.tables import metadata
from adapters.web_adapter.adapter import WebBot
from benchmarks.rig import mock_server
from bots.chats import Chats
from bots.settings import StorageSettings
from bots.web import web
from engine.models.scripted import ScriptedModel
from tests.chromium import free_port
from tests.killing import Cafi, served, until
from tests.platform.test_chat_privacy import found_in, traces
from tests.platform.test_killing_web import Person, people_at
from tests.postgres import PostgresServer
from tests.storage import Clock
from tests.web import TOKEN, Browser, chats_in, eventually, listening, serving

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
    running: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    joined: list[Chats] = field(default_factory=list)

    async def _joined(self, **settings: Any) -> Chats:
        chats = chats_in(self.folder, queue="workers", storage=self.storage, **settings)
        await self.stack.enter_async_context(chats.application.closing)
        await chats.begin()
        self.joined.append(chats)
        return chats

    async def server(self, **settings: Any) -> WebBot:
        """One more server of the page."""
        return await self.stack.enter_async_context(serving(web(await self._joined(**settings))))

    async def worker(self, model: ScriptedModel | None = None, **settings: Any) -> Any:
        """One more worker."""
        from bots.workers import worker

        bot, *_ = worker(await self._joined(model=model, **settings))
        running = asyncio.create_task(bot.run())

        self.running[id(bot)] = running
        self.stack.push_async_callback(self.end, bot)
        return bot

    async def end(self, bot: Any) -> None:
        """Tell a worker to stop, and wait for that."""
        bot.stopping.set()
        await self.running[id(bot)]

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


async def test_bells_carry_a_pseudonym_and_what_lies_in_the_database_names_nobody(
    deployment: Deployment, postgresql: PostgresServer
) -> None:
    """Whoever listens to the bells, or reads every table while a message waits, finds no word and no session."""
    import psycopg

    server = await deployment.server()
    worker = await deployment.worker()
    said = ["insomnia is haunting me"]
    parameters = {"host": str(postgresql.folder), "port": postgresql.port, "user": "postgres", "dbname": DATABASE}
    async with await psycopg.AsyncConnection.connect(**parameters, autocommit=True) as ears:
        await ears.execute("LISTEN cafi_boards")
        anna = await deployment.browser(server)
        await anna.begin()
        await anna.ask(said[0])
        await deployment.end(worker)
        accept = {"Accept": "application/json"}
        taken = await anna.client.post("/chat", data={"form": anna.token, "text": said[0]}, headers=accept)
        assert taken.status_code == 202
        rung = [one.payload async for one in ears.notifies(timeout=1.0)]
    assert len(rung) > 4 and all(re.fullmatch(r"[0-9a-f]{32}", one) for one in rung) and len(set(rung)) == 1
    tables = [*metadata.tables, "procrastinate_jobs", "procrastinate_events", "pg_stat_activity"]
    held = {one: repr(postgresql.execute(f"SELECT * FROM {one}", DATABASE)).encode() for one in tables}  # noqa: S608
    assert b"boards" not in held["boards"] and len(held["boards"]) > 100 and len(held["inbox"]) > 100
    session = anna.client.cookies["cafi-session"]
    looked_for = traces([], said)
    assert found_in(said[0].encode(), looked_for)
    assert all(found_in(content, looked_for) == [] and session.encode() not in content for content in held.values())


async def test_bells_that_were_not_heard_are_made_up_for(deployment: Deployment, postgresql: PostgresServer) -> None:
    """The connections that listen are ended while an answer is made: they come back, and the page is told of it."""
    server = await deployment.server()
    await deployment.worker()
    anna = await deployment.browser(server)
    await anna.begin()
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN cafi_boards' OR query = 'SELECT 1'"
    async with listening(anna, anna.after) as page:
        await page.until("calm")
        assert server.bells is not None and server.bells.listening
        assert (True,) in postgresql.execute(ended, DATABASE)
        await eventually(lambda: not server.bells.listening)
        accept = {"Accept": "application/json"}
        await anna.client.post("/chat", data={"form": anna.token, "text": QUESTION}, headers=accept)
        assert ANSWER in (await page.until("shown", 2))["data"]
        await eventually(lambda: server.bells.listening)


async def test_help_is_shown_while_nothing_can_be_stored(deployment: Deployment, postgresql: PostgresServer) -> None:
    """Words of danger that cannot be taken get the contacts on the open page at once; later the page is as before."""
    server = await deployment.server()
    await deployment.worker()
    anna = await deployment.browser(server)
    await anna.begin(country="uk")
    await anna.ask(QUESTION)
    async with listening(anna, anna.after) as page:
        await page.until("calm")
        for table in ("inbox", "boards"):
            postgresql.execute(f"ALTER TABLE {table} RENAME TO {table}_elsewhere", DATABASE)
        fields = {"form": anna.token, "text": "I want to kill myself tonight"}
        refused = await anna.client.post("/chat", data=fields, headers={"Accept": "application/json"})
        assert refused.status_code == 503
        await eventually(lambda: any("tel:116123" in one for one in page.shown))
        for table in ("inbox", "boards"):
            postgresql.execute(f"ALTER TABLE {table}_elsewhere RENAME TO {table}", DATABASE)
        await anna.post("/chat", text=fields["text"])
        await page.until("anew")
        assert anna.text.count("entry referral") == 1 and ANSWER in anna.words


async def test_a_chat_that_expires_ends_on_open_pages(deployment: Deployment, postgresql: PostgresServer) -> None:
    """When any process sweeps out what has expired, an open page looks anew and finds that the chat has ended."""
    clock = Clock(time.time())
    server = await deployment.server(given={"clock": clock})
    worker = await deployment.worker(given={"clock": clock})
    anna = await deployment.browser(server)
    await anna.begin()
    await anna.ask(QUESTION)
    async with listening(anna, anna.after) as page:
        await page.until("calm")
        clock.seconds += 26 * 3600
        await worker.jobs.queue.store.sweep(30)
        await page.until("anew")
        await anna.get("/chat")
        assert str(anna.page.url).endswith("/?ended=1")
    assert postgresql.execute("SELECT count(*) FROM boards", DATABASE) == [(0,)]


async def test_questions_and_the_pause_are_the_same_at_every_server(deployment: Deployment) -> None:
    """A question of feedback that one server asks is answered at another; who pauses one of them pauses the page."""
    first = await deployment.server(page={"operator_token": TOKEN})
    second = await deployment.server()
    await deployment.worker()
    anna = await deployment.browser(first)
    await anna.begin()
    await anna.ask(QUESTION)
    await anna.get("/feedback")
    form = re.search(r'name="poll" value="([^"]*)"', anna.text)
    option = re.search(r'name="option" value="([^"]+)"', anna.text)
    assert form is not None and option is not None
    elsewhere = await deployment.browser(second, anna)
    await elsewhere.get("/chat")
    await elsewhere.post("/feedback", poll=form[1], option=option[1])
    assert "Thank you" in elsewhere.words
    await elsewhere.get("/chat")
    operator = await deployment.browser(first)
    await operator.get("/operator")
    await operator.post("/operator/login", token=TOKEN)
    await operator.post("/operator/switch", do="pause")
    assert "have paused it" in await elsewhere.ask(QUESTION)
    await operator.post("/operator/switch", do="resume")
    await elsewhere.get("/chat")
    assert "have paused it" not in elsewhere.words.rpartition(QUESTION)[2] or ANSWER in await elsewhere.ask(QUESTION)


async def test_workers_count_the_pages_answers_and_the_operators_page_says_so(deployment: Deployment) -> None:
    """An answer and its time are counted by the worker that made it; the operator's page shows no zero in their place, and who
    works."""
    server = await deployment.server(page={"operator_token": TOKEN})
    await deployment.worker()
    serves, works = deployment.joined
    anna = await deployment.browser(server)
    await anna.begin()
    assert ANSWER in await anna.ask(QUESTION)
    await eventually(lambda: works.metrics.answers.total() == 1)
    assert len(works.metrics.answer_seconds()) == 1 and not serves.metrics.answers
    operator = await deployment.browser(server)
    await operator.get("/operator", headers={"Authorization": f"Bearer {TOKEN}"})
    assert operator.words.count("Counted by each worker for itself") == 3
    assert "Workers 1" in operator.words and "Answers None yet" not in operator.words


@pytest.mark.timeout(180)
async def test_a_killed_worker_and_a_killed_server_lose_nothing_and_show_nothing_twice(
    tmp_path: Path, prepared: Path, database: StorageSettings, postgresql: PostgresServer
) -> None:
    """Two servers, two workers, one of each killed over a burst: all that was taken is answered once, in order, at the other."""
    numbers = iter(range(1000, 9999))
    for key in ("secret.json", "inbox.key"):
        shutil.copy(prepared / key, tmp_path)

    async def write(person: Person, count: int) -> None:
        for _ in range(count):
            await person.write(next(numbers))
            await asyncio.sleep(0.05)

    async with AsyncExitStack() as stack:
        model = stack.enter_context(mock_server())
        model.reset(script="accepted", base_ms=150.0, per_token_ms=0.0)
        common = {
            "CAFI_STORAGE__URL": database.url,
            "CAFI_QUEUE": "workers",
            "CAFI_AGENTS": "llm",
            "CAFI_MODELS__BASE_URL": model.base_url,
            "CAFI_SESSIONS__WAITING_MESSAGES": "50",
            "CAFI_WEB__ENABLED": "true",
        }
        ports, health = [free_port(), free_port()], free_port()
        kinds = [("run", {"CAFI_WEB__PORT": str(port)}) for port in ports] + [
            ("worker", {}),
            ("worker", {"CAFI_HEALTH__PORT": str(health)}),
        ]
        cafis = [Cafi(tmp_path, common | more, kind, f"{at}.txt") for at, (kind, more) in enumerate(kinds)]
        for cafi in cafis:
            await cafi.start()
            stack.push_async_callback(cafi.aclose)
        here, there = (f"http://127.0.0.1:{port}" for port in ports)
        await served(here)
        await served(there)
        people = await stack.enter_async_context(people_at(here))
        for person in people[4:]:
            person.browser.client.base_url = httpx.URL(there)
        async with asyncio.TaskGroup() as beside:
            for person in people:
                beside.create_task(write(person, 4))
            holders = "SELECT count(DISTINCT worker_id) FROM procrastinate_jobs WHERE status = 'doing'"
            await until(lambda: postgresql.execute(holders, DATABASE) == [(2,)])
            for number in (0, 2):
                assert await cafis[number].end(signal.SIGKILL) == -signal.SIGKILL
        for person in people:
            person.browser.client.base_url = httpx.URL(there)
        await asyncio.gather(*(write(person, 1) for person in people))
        await until(lambda: postgresql.execute("SELECT count(*) FROM inbox", DATABASE) == [(0,)])
        for person in people:
            await person.look()
            assert set(person.sent) <= set(person.asked) <= {*person.sent, *person.unsure}
            assert person.asked == sorted(set(person.asked)) and person.answered == Counter(person.asked)
        async with httpx.AsyncClient() as client:
            for port in (ports[1], health):
                found = [await client.get(f"http://127.0.0.1:{port}/{one}") for one in ("healthz", "readyz")]
                assert [one.status_code for one in found] == [200, 200]
        for number in (1, 3):
            assert await cafis[number].end(signal.SIGTERM) == 0
    assert sum(len(one.sent) for one in people) > 20 and all("Traceback" not in one.log.read_text() for one in cafis)
