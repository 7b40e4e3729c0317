"""The stand-in for Telegram with what goes wrong on purpose, and with a webhook.

Laxer than the real API: a webhook on the loopback address may be plain HTTP, on any port. Methods called in the answer to
a webhook are not modelled.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from rehearsal.telegram_world.params import Method, Params
from rehearsal.telegram_world.refusal import bad, conflict
from rehearsal.telegram_world.server import TelegramServer
from rehearsal.telegram_world.updates import Bell, PendingUpdate, Updates
from tests.fakes.telegram_faults import Fault, FaultScript

__all__ = ["Fault", "FaultyTelegram"]
_WEBHOOK_SET = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


@dataclass(kw_only=True)
class Webhook:
    """Where updates are pushed to; `url` is empty while there is none."""

    url: str = ""
    secret: str = ""
    max_connections: int = 40


class PushedUpdates(Updates):
    """The queue with both ways out. `retry_seconds`: between pushes."""

    def __init__(self, *, bell: Bell, retry_seconds: float) -> None:
        super().__init__(bell=bell)
        self.retry_seconds = retry_seconds
        self.webhook = Webhook()
        self._busy: set[int] = set()
        self._pushes: set[asyncio.Task[None]] = set()

    def methods(self) -> dict[str, Method]:
        return super().methods() | {"setWebhook": self.set_webhook}

    def begin_poll(self, params: Params) -> list[int]:
        if self.webhook.url:
            raise conflict(_WEBHOOK_SET)
        return super().begin_poll(params)

    def set_webhook(self, params: Params) -> Any:
        """Updates are pushed from now on. Plain HTTP is accepted on the loopback address only."""
        url, secret = params.text("url"), params.text("secret_token")
        parts = urlsplit(url)
        if not url:
            return self.delete_webhook(params)
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise bad("secret token contains unallowed characters")
        self.end_poll("terminated by setWebhook request")
        self.remember_allowed(params)
        self.drop(params)
        self.webhook = Webhook(url=url, secret=secret, max_connections=params.get("max_connections") or 40)
        self.bell.ring()
        return True

    def delete_webhook(self, params: Params) -> Any:
        self.webhook = Webhook()
        return super().delete_webhook(params)

    async def push(self) -> None:
        """Pushes what waits, for as long as the server runs: in order within a chat, chats beside each other."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            try:
                while True:
                    self._start_pushes(session)
                    await self.bell.wait()
            finally:
                for task in self._pushes:
                    task.cancel()
                await asyncio.gather(*self._pushes, return_exceptions=True)

    def _start_pushes(self, session: aiohttp.ClientSession) -> None:
        if not self.webhook.url:
            return
        taken = {one.order for one in self.pending if one.id in self._busy}
        for one in self.pending:
            if len(self._pushes) >= self.webhook.max_connections:
                return
            if one.order not in taken:
                taken.add(one.order)
                self._busy.add(one.id)
                task = asyncio.create_task(self._push_one(session, one, self.webhook))
                self._pushes.add(task)
                task.add_done_callback(self._pushes.discard)

    async def _push_one(self, session: aiohttp.ClientSession, one: PendingUpdate, webhook: Webhook) -> None:
        headers = {"Content-Type": "application/json"}
        if webhook.secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret
        try:
            async with session.post(webhook.url, data=one.text().encode(), headers=headers) as answer:
                taken = answer.ok
        except (aiohttp.ClientError, TimeoutError, OSError):
            taken = False
        if not taken:
            await asyncio.sleep(self.retry_seconds)
            self._busy.discard(one.id)
        elif one in self.pending:
            self.pending.remove(one)
        self._pushes.discard(asyncio.current_task())  # so that the ring below finds a free place
        self.bell.ring()


class FaultyTelegram(TelegramServer):
    """The stand-in with faults. `retry_seconds` passes before a push to the webhook is tried again."""

    updates: PushedUpdates

    def __init__(self, *, retry_seconds: float = 0.1, **how: Any) -> None:
        self._retry_seconds = retry_seconds
        super().__init__(**how)
        self.faults = FaultScript()

    def queue(self, bell: Bell) -> Updates:
        return PushedUpdates(bell=bell, retry_seconds=self._retry_seconds)

    async def __aenter__(self) -> FaultyTelegram:
        await super().__aenter__()
        self._pusher = asyncio.create_task(self.updates.push())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._pusher.cancel()
        await asyncio.gather(self._pusher, return_exceptions=True)
        await super().__aexit__(*exc)

    def fail(self, method: str, fault: Fault, *, chat: Any = None, times: int | None = 1) -> None:
        """The next calls of a method ("*": any), to one chat or to all, meet a fault; `times=None`: all of them."""
        place = chat if chat is None or isinstance(chat, int) else chat.id
        self.faults.plan(method, fault, chat=place, times=times)

    async def answer(self, request: web.Request, method: str, params: Params) -> web.StreamResponse:
        fault = self.faults.next(method, params.get("chat_id")) or Fault()
        if fault.drop == "before":
            self.note(method, params, ok=False, result="connection dropped")
            return await self._cut(request)
        if fault.page:
            self.note(method, params, ok=False, result=fault.page)
            return web.Response(status=fault.status, text=fault.page, content_type="text/html")
        if fault.refusal is not None:
            raise fault.refusal
        response = await super().answer(request, method, params)
        return await self._cut(request) if fault.drop == "after" else response

    async def _cut(self, request: web.Request) -> web.StreamResponse:
        if request.transport is not None:
            request.transport.abort()
        await asyncio.sleep(60)  # cancelled as soon as the server sees that the connection is gone
        return web.Response()
