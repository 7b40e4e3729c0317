"""Both ways to ask Telegram do the same: by aiohttp, and by the library's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from telegram import InputMediaPhoto
from telegram.error import BadRequest, Forbidden, InvalidToken, NetworkError, RetryAfter, TimedOut
from telegram.ext import ExtBot
from telegram.request import BaseRequest, HTTPXRequest

from adapters.telegram_adapter import transport as ways
from adapters.telegram_adapter.aiohttp_transport import AiohttpRequest
from adapters.telegram_adapter.transport import transport

TOKEN = "123:secret-part"
Make = Callable[[], BaseRequest]


@pytest.fixture(params=["aiohttp", "httpx"])
def make(request: pytest.FixtureRequest) -> Make:
    """One of the two ways."""
    if request.param == "aiohttp":
        return lambda: AiohttpRequest(4, pool_seconds=1.0)
    return lambda: HTTPXRequest(connection_pool_size=4)


@asynccontextmanager
async def server(status: int, body: object, *, seconds: float = 0.0) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A server that gives one answer to everything; the address for a bot, and the forms that came."""
    seen: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        form = await request.post()
        seen.append({name: one if isinstance(one, str) else one.file.read() for name, one in form.items()})
        await asyncio.sleep(seconds)
        return web.Response(status=status, text=json.dumps(body), headers={"Location": "/again"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/bot", seen
    finally:
        await runner.cleanup()


@asynccontextmanager
async def bot(make: Make, address: str) -> AsyncIterator[ExtBot[Any]]:
    """A bot that asks this way; who it is is not asked."""
    request = make()
    await request.initialize()
    try:
        yield ExtBot(TOKEN, base_url=address, request=request)
    finally:
        await request.shutdown()


async def test_what_is_sent_arrives_whole(make: Make) -> None:
    """A text with signs that mean something in forms, and of several scripts, arrives as it was written."""
    text = "a & b = c + d % e\nå 🙂 “q” ‮x"
    async with server(200, {"ok": True, "result": True}) as (address, seen), bot(make, address) as asked:
        assert await asked.send_chat_action(chat_id=7, action="typing")
        assert await asked.answer_callback_query("9", text=text)
    assert seen == [{"chat_id": "7", "action": "typing"}, {"callback_query_id": "9", "text": text}]


async def test_a_picture_arrives_with_its_caption(make: Make) -> None:
    """Files go as parts of a form, beside the other fields."""
    picture = bytes(range(256))
    async with server(200, {"ok": True, "result": []}) as (address, seen), bot(make, address) as asked:
        await asked.send_media_group(chat_id=7, media=[InputMediaPhoto(picture, caption="c & d")])
    (form,) = seen
    assert form["chat_id"] == "7" and "c & d" in form["media"] and picture in form.values()


@pytest.mark.parametrize(
    ("status", "parameters", "error"),
    [
        (400, {}, BadRequest),
        (401, {}, InvalidToken),
        (403, {}, Forbidden),
        (429, {"retry_after": 3}, RetryAfter),
        (502, {}, NetworkError),
        (302, {}, NetworkError),
    ],
)
async def test_refusals_are_the_library_s_errors(
    make: Make, monkeypatch: pytest.MonkeyPatch, status: int, parameters: dict[str, int], error: type[Exception]
) -> None:
    """Each status is the same error either way; a redirection is followed nowhere."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")
    body = {"ok": False, "description": "said", "parameters": parameters}
    async with server(status, body) as (address, seen), bot(make, address) as asked:
        with pytest.raises(error):
            await asked.send_chat_action(chat_id=7, action="typing")
    assert len(seen) == 1


async def test_an_answer_that_does_not_come_is_waited_for_in_vain(make: Make) -> None:
    """A server that is silent for longer than a call allows: timed out."""
    async with server(200, {"ok": True, "result": True}, seconds=30) as (address, _), bot(make, address) as asked:
        with pytest.raises(TimedOut):
            await asked.send_chat_action(chat_id=7, action="typing", read_timeout=0.05)


async def test_nobody_at_the_address(make: Make) -> None:
    """A connection that cannot be made is an error of the network."""
    async with bot(make, "http://127.0.0.1:9/bot") as asked:
        with pytest.raises(NetworkError):
            await asked.send_chat_action(chat_id=7, action="typing")


async def test_no_error_tells_the_token() -> None:
    """The address has the token in it: neither an error nor what led to it repeats it."""
    for address in ("http://127.0.0.1:9/bot", "http://[/bot"):
        async with bot(lambda: AiohttpRequest(4, pool_seconds=1.0), address) as asked:
            with pytest.raises(NetworkError) as raised:
                await asked.send_chat_action(chat_id=7, action="typing")
        assert raised.value.__cause__ is None and "secret" not in str(raised.value)


async def test_it_may_be_begun_anew(make: Make) -> None:
    """After a shutdown, as after a failed start, it can be initialized and used again."""
    request = make()
    async with server(200, {"ok": True, "result": True}) as (address, seen):
        for _ in range(2):
            await request.initialize()
            await request.post(f"{address}{TOKEN}/getMe")
            await request.shutdown()
    assert len(seen) == 2


def test_the_library_s_own_way_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment, or no aiohttp: httpx asks; hosts that need no proxy are none."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("no_proxy", "localhost")
    assert isinstance(transport(1), AiohttpRequest)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert isinstance(transport(1), HTTPXRequest)
    monkeypatch.delenv("https_proxy")
    monkeypatch.setattr(ways, "find_spec", lambda name: None)
    assert isinstance(transport(1), HTTPXRequest)
