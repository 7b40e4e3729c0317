"""A receiver of feedback events on the loopback address that answers as it is told, request by request.

    async with WebhookReceiver([500, 200], secret=b"...") as receiver:
        ...
    assert receiver.batches[0]["events"]

The answers are used up in order; the last one is repeated. Every signature is checked as docs/howto/feedback.md says.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A status with headers; `never` keeps the caller waiting until it gives up."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    never: bool = False


@dataclass
class WebhookReceiver:
    """The receiver; `batches` are the bodies it got in order, `refused` how many had no right signature."""

    answers: Sequence[int | Answer]
    secret: bytes
    batches: list[dict[str, Any]] = field(default_factory=list)
    timestamps: list[str] = field(default_factory=list)
    refused: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> WebhookReceiver:
        app = web.Application()
        app.router.add_post("/feedback", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/feedback"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def until(self, requests: int) -> None:
        """Wait until so many requests have come."""
        while len(self.batches) < requests:
            self.came.clear()
            await self.came.wait()

    async def _take(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        timestamp = request.headers["X-Cafi-Timestamp"]
        wanted = hmac.new(self.secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(request.headers["X-Cafi-Signature"], f"sha256={wanted}"):
            self.refused += 1
            return web.Response(status=401)
        answer = self.answers[min(len(self.batches), len(self.answers) - 1)]
        answer = Answer(status=answer) if isinstance(answer, int) else answer
        self.batches.append(json.loads(body))
        self.timestamps.append(timestamp)
        self.came.set()
        if answer.never:
            await asyncio.sleep(60)
        return web.Response(status=answer.status, headers=answer.headers)
