"""Telegram's webhook: the web server of `cafi run`, what it takes, what it turns away, and what is stored before 200."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from adapters.telegram_adapter.adapter import TelegramBot
from adapters.telegram_adapter.webhook import HEADER, MOST_BYTES
from adapters.web_adapter.server import HttpServer
from bots.runner import begun
from bots.settings import TelegramSettings
from bots.telegram import telegram, webhook_server
from engine.exceptions import ConfigurationError
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import scripted
from tests.telegram import agreed, asked, chats_in, quiet

SECRET = "only-telegram-knows-this"
PATH = "/hooks/telegram"


@dataclass(kw_only=True)
class Served:
    """The bot behind its web server."""

    bot: TelegramBot
    url: str

    async def post(self, body: bytes, secret: str | None = SECRET) -> int:
        """The status of one request."""
        headers = {} if secret is None else {HEADER: secret}
        async with aiohttp.ClientSession() as session, session.post(self.url, data=body, headers=headers) as answer:
            assert not await answer.read(), "nothing is said to whoever asks"
            return answer.status


@asynccontextmanager
async def served(fake: FaultyTelegram, folder: Path, model: Any = None, **given: Any) -> AsyncIterator[Served]:
    """The bot and its server, built as `cafi run` does, until the end of the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}{PATH}"  # plain, on the loopback address only: settings would not allow it
    chosen = TelegramSettings(token=fake.token, base_url=fake.base_url, webhook_secret=SECRET, webhook_port=port)  # type: ignore[arg-type]
    chats = chats_in(folder, model, telegram=chosen.model_copy(update={"webhook_url": url, **given}))
    async with chats.application.closing:
        await chats.begin()
        server, bot = begun(chats)
        assert isinstance(server, HttpServer) and isinstance(bot, TelegramBot)
        tasks = [asyncio.create_task(one.run()) for one in (server, bot)]
        try:
            await fake.wait_for(lambda: fake.updates.webhook.url)
            yield Served(bot=bot, url=url)
        finally:
            for one in (server, bot):
                one.stopping.set()
            await asyncio.gather(*tasks)


def update(number: int, text: str = "/help") -> bytes:
    """A message of somebody's, as Telegram brings it."""
    person = {"id": 5_000_000_001, "is_bot": False, "first_name": "Anna"}
    chat = {"id": 5_000_000_001, "type": "private", "first_name": "Anna"}
    message = {"message_id": number, "date": 1_900_000_000, "chat": chat, "from": person, "text": text}
    return json.dumps({"update_id": number, "message": message}).encode()


def waiting(folder: Path) -> int:
    """How many messages lie in the inbox."""
    with sqlite3.connect(folder / "cafi.db") as connection:
        return int(connection.execute("select count(*) from inbox").fetchone()[0])


async def test_updates_that_telegram_brings_are_answered(tmp_path: Path) -> None:
    """A whole conversation over the webhook; nothing is polled, and nothing left behind at Telegram."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        assert answer.text.startswith("Voices are sounds")
        await quiet(fake, there.bot)
        assert not fake.calls("getUpdates") and not fake.refusals()
        assert fake.updates.webhook.secret == SECRET and "edited_message" in fake.updates.allowed


@pytest.mark.parametrize("secret", ["wrong", "", None, SECRET + "x", "öäü"])
async def test_who_does_not_know_the_secret_is_turned_away(tmp_path: Path, secret: str | None) -> None:
    """A wrong secret, or none: 403, and nothing is read or stored."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        fake.person("Anna")
        assert await there.post(update(1), secret) == 403
        await there.bot.dispatch.idle()
        assert not fake.calls("sendMessage") and waiting(tmp_path) == 0


async def test_bodies_that_make_no_sense_are_done_with(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Broken JSON, brackets without end, other forms: 200, so that they do not come again; nothing of them is logged."""
    bodies = (
        b"{broken: Ottilie",
        b"[" * 100_000,
        b'"Ottilie"',
        b"[]",
        b"",
        b"\xff\xfe",
        b'{"message":{"text":"Ottilie"}}',
    )
    with caplog.at_level(logging.DEBUG):
        async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
            for body in bodies:
                assert await there.post(body) == 200
    assert "Ottilie" not in caplog.text and caplog.text.count("could not be read and was left out") == len(bodies)


async def test_a_body_that_is_too_long_is_turned_away(tmp_path: Path) -> None:
    """More than a megabyte is read no further."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        assert await there.post(b" " * (MOST_BYTES + 1)) == 413


async def test_only_the_one_address_answers(tmp_path: Path) -> None:
    """Another path is not there, and nothing but POST is taken."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there, aiohttp.ClientSession() as session:
        async with session.get(there.url) as answer:
            assert answer.status == 405
        async with session.post(there.url + "/other") as answer:
            assert answer.status == 404
            assert "server" not in answer.headers


async def test_an_update_is_on_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    """When 200 comes, the message lies in the inbox; it goes when it is answered."""
    async with FaultyTelegram() as fake, served(fake, tmp_path, scripted({}, latency=0.3)) as there:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await quiet(fake, there.bot)
        assert await there.post(update(1, "I cant sleep, what helps?")) == 200
        assert waiting(tmp_path) == 1
        await there.bot.dispatch.idle()
        assert waiting(tmp_path) == 0 and len(fake.replies(anna)) == 3


async def test_an_update_that_is_brought_twice_is_answered_once(tmp_path: Path) -> None:
    """Telegram repeats what it believes to be lost."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await quiet(fake, there.bot)
        for number in (7, 7, 8, 7):
            assert await there.post(update(number)) == 200
        await there.bot.dispatch.idle()
        assert len(fake.replies(anna)) == 4


async def test_an_update_that_comes_twice_at_once_is_answered_once(tmp_path: Path) -> None:
    """Also when the second arrives while the first is being stored."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await quiet(fake, there.bot)
        statuses = await asyncio.gather(*(there.post(update(9)) for _ in range(4)))
        assert set(statuses) <= {200, 503} and 200 in statuses
        await there.bot.dispatch.idle()
        assert len(fake.replies(anna)) == 3


async def test_an_update_that_comes_again_to_another_receiver_is_answered_once(tmp_path: Path) -> None:
    """Who took it has ended, or another one behind the balancer is asked: the chat knows what it has answered."""
    async with FaultyTelegram() as fake:
        async with served(fake, tmp_path) as there:
            anna = fake.person("Anna")
            await agreed(fake, anna)
            await quiet(fake, there.bot)
            assert await there.post(update(7)) == 200
            await there.bot.dispatch.idle()
        async with served(fake, tmp_path) as there:
            await fake.wait_for(lambda: fake.updates.webhook.url == there.url)
            assert [await there.post(update(number)) for number in (7, 8, 7)] == [200] * 3
            await there.bot.dispatch.idle()
            assert len(fake.replies(anna)) == 4 and waiting(tmp_path) == 0


async def test_while_the_database_is_away_telegram_keeps_the_update(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """503, a calm line for the person, and the answer when the database is there again."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as there:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await quiet(fake, there.bot)
        with _without_inbox(tmp_path):
            assert await there.post(update(1)) == 503
            await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
            assert fake.replies(anna)[-1].text.startswith("I cannot take messages at the moment.")
        assert await there.post(update(1)) == 200
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
    assert "Anna" not in caplog.text


async def test_a_webhook_that_telegram_does_not_take_ends_the_start(tmp_path: Path) -> None:
    """What Telegram says of the address is passed on to the operator."""
    async with FaultyTelegram() as fake:
        fake.fail("setWebhook", Fault.refused(400, "Bad Request: bad webhook: port is not allowed"), times=None)
        chosen = TelegramSettings(token=fake.token, base_url=fake.base_url, webhook_secret=SECRET)  # type: ignore[arg-type]
        settings = chosen.model_copy(update={"webhook_url": "http://127.0.0.1:9/x"})
        chats = chats_in(tmp_path, telegram=settings)
        async with chats.application.closing:
            await chats.begin()
            with pytest.raises(ConfigurationError, match=r"telegram.webhook_url: .*port is not allowed"):
                await telegram(chats).run()


def test_a_webhook_without_a_secret_is_refused(tmp_path: Path) -> None:
    """Anybody could pretend to be Telegram."""
    chats = chats_in(tmp_path, telegram=_settings({"webhook_url": "https://example.org/telegram"}))
    with pytest.raises(ConfigurationError, match="A webhook needs a secret"):
        telegram(chats)


def test_without_a_webhook_nothing_listens(tmp_path: Path) -> None:
    """Polling needs no open port."""
    chats = chats_in(tmp_path, telegram=_settings({}))
    (bot,) = begun(chats)
    assert isinstance(bot, TelegramBot) and not bot.routes


def test_the_path_is_that_of_the_public_address(tmp_path: Path) -> None:
    """Where Telegram is told to bring updates, the server answers."""
    for url, path in (("https://example.org", "/"), ("https://example.org/a/b", "/a/b")):
        chats = chats_in(tmp_path, telegram=_settings({"webhook_url": url, "webhook_secret": SECRET}))
        route, *_ = telegram(chats).routes
        assert route.path == path


def test_a_port_in_use_is_named() -> None:
    """The operator reads which address, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"Nothing can listen on 127.0.0.1, port {port}"):
            webhook_server([], "127.0.0.1", port=port)


async def test_the_server_ends_when_it_is_told_to() -> None:
    """It leaves signals alone, frees its port, and has an address while it runs."""
    server = webhook_server([], "127.0.0.1", port=0)
    task = asyncio.create_task(server.run())
    address = server.address
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        assert answer.status == 404
    server.stopping.set()
    await task
    with socket.socket() as again:
        assert again.connect_ex(("127.0.0.1", int(address.rsplit(":", 1)[1]))) != 0


async def test_whoever_stalls_is_cut_off() -> None:
    """A request that does not come whole in time ends, and so do headers without an end; others are answered."""
    server = webhook_server([], "127.0.0.1", port=0, patience=0.2)
    task = asyncio.create_task(server.run())
    port = int(server.address.rsplit(":", 1)[1])
    stalled = (
        b"",
        b"POST /telegram HTTP/1.1\r\nHost: x\r\n",
        b"POST /telegram HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n{",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000,
    )
    for sent in stalled:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        async with asyncio.timeout(10):
            with suppress(ConnectionError):
                await reader.read()
        writer.close()
    async with aiohttp.ClientSession() as session, session.get(server.address) as answer:
        assert answer.status == 404
    server.stopping.set()
    await task


def _settings(values: Mapping[str, Any]) -> TelegramSettings:
    return TelegramSettings.model_validate({"token": "1:a", **values})


class _without_inbox:  # noqa: N801 - reads as a sentence
    """The table of waiting messages is away, as after a failing disk."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "cafi.db"

    def __enter__(self) -> None:
        self._run("alter table inbox rename to away")

    def __exit__(self, *exc: object) -> None:
        self._run("alter table away rename to inbox")

    def _run(self, statement: str) -> None:
        with sqlite3.connect(self._file) as connection:
            connection.execute(statement)
        connection.close()


async def test_a_balancer_is_told_whether_it_takes_updates(tmp_path: Path) -> None:
    """`/healthz` answers while the process runs, `/readyz` while it takes updates and not once it is told to stop."""
    async with FaultyTelegram() as fake, served(fake, tmp_path) as it, aiohttp.ClientSession() as session:

        async def status(path: str) -> int:
            async with session.get(it.url.removesuffix(PATH) + path) as answer:
                return answer.status

        assert [await status(path) for path in ("/healthz", "/readyz")] == [200, 200]
        it.bot.stopping.set()
        assert [await status(path) for path in ("/healthz", "/readyz")] == [200, 503]
