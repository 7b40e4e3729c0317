"""The server: routes and records around the methods."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web

from rehearsal.telegram_world.methods import MessageMethods
from rehearsal.telegram_world.params import Params, read
from rehearsal.telegram_world.people import People
from rehearsal.telegram_world.profile import ProfileMethods
from rehearsal.telegram_world.refusal import BotApiRefusal
from rehearsal.telegram_world.shown import Shown, shown
from rehearsal.telegram_world.updates import Bell, Updates
from rehearsal.telegram_world.world import TelegramWorld

TOKEN = "7000000001:AAfake-token-of-the-loopback-server"
MOST_BYTES = 50 * 1024 * 1024
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class BotApiCall:
    """One call of the bot. `at`: time.monotonic(), in seconds; `result`: what was answered, or the refusal."""

    number: int
    at: float
    method: str
    params: dict[str, Any]
    files: dict[str, int]
    ok: bool
    result: Any


class TelegramServer(People):
    """The Bot API on a port of the loopback address, with the people who use it.

    `base_url` and `token` are for the library. A port of 0 takes a free one.
    """

    def __init__(self, *, token: str = TOKEN, port: int = 0) -> None:
        self.token, self._port = token, port
        self._bell = Bell()
        self.updates = self.queue(self._bell)
        super().__init__(TelegramWorld(), self.updates.tell)
        self.profile = ProfileMethods(self.world)
        messages = MessageMethods(self.world, self.updates.tell)
        methods = messages.methods() | self.profile.methods() | self.updates.methods()
        # The API does not mind how a method's name is written.
        self._methods = {name.lower(): (name, method) for name, method in methods.items()}
        self._made: list[BotApiCall] = []

    def queue(self, bell: Bell) -> Updates:
        """The queue of what the bot is told."""
        return Updates(bell=bell)

    async def __aenter__(self) -> TelegramServer:
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_route("*", "/bot{token}/{method}", self._handle)
        app.router.add_routes(self.more_routes())
        app.router.add_route("*", "/{other:.*}", self._lost)
        # A poll ends when its bot is gone, as a real one does; otherwise it would swallow the next update.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.base_url = f"{self.origin}/bot"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    # --- What a test asks --------------------------------------------------------------------------------------------

    def calls(self, method: str | None = None) -> list[BotApiCall]:
        """The accepted calls in order; polls that brought and acknowledged nothing are left out."""
        return [call for call in self._made if call.ok and method in {None, call.method}]

    def refusals(self, method: str | None = None) -> list[BotApiCall]:
        """The calls that were turned down, by the API's rules or by a fault."""
        return [call for call in self._made if not call.ok and method in {None, call.method}]

    def messages(self, chat: Any) -> list[Shown]:
        """What a person sees in a chat now, oldest first. `chat`: an id, a chat, or a person for the private chat."""
        kept = self.world.chats[chat if isinstance(chat, int) else chat.id].messages
        return [shown(message) for message in kept.values()]

    def replies(self, chat: Any) -> list[Shown]:
        """What the bot has written in a chat and still stands there."""
        return [message for message in self.messages(chat) if message.by_bot and message.kind != "service"]

    def pending(self) -> int:
        """How many updates were not acknowledged."""
        return len(self.updates.pending)

    async def wait_for(self, predicate: Callable[[], T], seconds: float = 60) -> T:
        """The first true value of the predicate, asked after every change.

        Raises AssertionError with the last calls when it stays false.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (found := predicate()):
                    await self._bell.wait()
                return found
        except TimeoutError:
            last = "\n".join(f"  {call.method} {call.params} -> {call.result}" for call in self._made[-5:])
            raise AssertionError(f"Nothing of the kind within {seconds} s. The last calls:\n{last}") from None

    def push_raw(self, update: dict[str, Any] | str, *, as_is: bool = False) -> None:
        """Tells the bot something malformed; see Updates.tell_raw."""
        self.updates.tell_raw(update, as_is=as_is)

    # --- Answering ---------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if request.match_info["token"] != self.token:
            well_formed = re.fullmatch(r"\d+:[\w-]+", request.match_info["token"])
            return _refusal(BotApiRefusal(401, "Unauthorized") if well_formed else BotApiRefusal(404, "Not Found"))
        params = Params(values={})
        try:
            params = await read(request)
            return await self.answer(request, method, params)
        except BotApiRefusal as refusal:
            self.note(method, params, ok=False, result=refusal.body())
            return _refusal(refusal)

    async def answer(self, request: web.Request, method: str, params: Params) -> web.StreamResponse:
        """Carry out a call; raises Refused."""
        if method.lower() == "getupdates":
            return await self._get_updates(params)
        if method.lower() not in self._methods:
            raise BotApiRefusal(404, "Not Found: method not found")
        name, carry_out = self._methods[method.lower()]
        result = carry_out(params)
        self.note(name, params, ok=True, result=result)
        return web.json_response({"ok": True, "result": result})

    async def _get_updates(self, params: Params) -> web.Response:
        if acknowledged := self.updates.begin_poll(params):
            self.note("getUpdates", params, ok=True, result={"acknowledged": acknowledged})
        batch = await self.updates.poll(params)
        if isinstance(batch, str):
            self.note("getUpdates", params, ok=True, result={"body": batch})
            return web.Response(text=batch, content_type="application/json")
        if batch:
            self.note("getUpdates", params, ok=True, result={"delivered": [one.id for one in batch]})
        body = '{"ok":true,"result":[' + ",".join(one.text() for one in batch) + "]}"
        return web.Response(text=body, content_type="application/json")

    def note(self, method: str, params: Params, *, ok: bool, result: Any) -> None:
        """Keep a call with its answer."""
        call = BotApiCall(
            number=len(self._made) + 1,
            at=time.monotonic(),
            method=method,
            params=params.values,
            files={name: len(file.content) for name, file in params.files.items()},
            ok=ok,
            result=result,
        )
        self.keep(call)
        self._bell.ring()

    def keep(self, call: BotApiCall) -> None:
        """Keep a call, before its answer leaves."""
        self._made.append(call)

    def more_routes(self) -> list[web.RouteDef]:
        """Routes besides those of the API."""
        return []

    async def _lost(self, request: web.Request) -> web.StreamResponse:
        return _refusal(BotApiRefusal(404, "Not Found"))


def _refusal(refusal: BotApiRefusal) -> web.Response:
    return web.json_response(refusal.body(), status=refusal.status)
