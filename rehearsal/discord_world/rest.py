"""The REST API over HTTP: finds the route, checks the token, applies faults, and keeps every call."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from aiohttp import BodyPartReader, web

from rehearsal.discord_world import (
    channel_routes,
    command_routes,
    guild_routes,
    interaction_routes,
    message_routes,
)
from rehearsal.discord_world.calls import Call, Fault, generous
from rehearsal.discord_world.errors import ApiError, no_such_route, unauthorized
from rehearsal.discord_world.posting import Posting
from rehearsal.discord_world.things import Attachment

Handler: TypeAlias = Callable[[Posting, Call], Any]
API = "/api/v10"
WITHOUT_TOKEN = re.compile(r"/interactions/|/webhooks/\d+/")


class Rest:
    """Answers requests; `faults` is what is to go wrong."""

    def __init__(self, fake: Posting) -> None:
        self._fake = fake
        self.faults: list[Fault] = []
        tables = (channel_routes, command_routes, guild_routes, interaction_routes, message_routes)
        self._routes: list[tuple[str, str, re.Pattern[str], Handler]] = [
            (method, template, _compiled(template), handler)
            for table in tables
            for method, template, handler in table.ROUTES
        ]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One request, from its arrival to its answer."""
        call = await self._read(request)
        self._fake.world.calls.append(call)
        handler = self._find(call)
        fault = next((one for one in self.faults if one.meets(call)), None)
        if fault is None:
            return self._answer(call, handler)
        fault.times -= 1
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.applied:
            self._answer(call, handler)
        return self._go_wrong(request, call, fault, handler)

    def _go_wrong(self, request: web.Request, call: Call, fault: Fault, handler: Handler | None) -> web.StreamResponse:
        if fault.drop:
            call.status = 0
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if fault.retry_after is not None:
            return self._too_many(call, fault.retry_after, everywhere=fault.everywhere)
        if fault.delay and fault.status == 0:
            return self._answer(call, handler)
        return self._respond(call, fault.status, {"message": fault.message, "code": fault.code})

    async def _read(self, request: web.Request) -> Call:
        call = Call(
            method=request.method,
            path=request.path.removeprefix(API),
            at=self._fake.world.clock.now(),
            query=dict(request.query),
            headers=dict(request.headers),
        )
        if request.content_type.startswith("multipart/"):
            await self._read_parts(request, call)
        elif request.can_read_body:
            text = await request.text()
            call.body = json.loads(text) if text else None
        return call

    async def _read_parts(self, request: web.Request, call: Call) -> None:
        async for part in await request.multipart():
            if not isinstance(part, BodyPartReader):
                continue
            if part.name == "payload_json":
                call.body = json.loads(await part.text())
            else:
                kind = part.headers.get("Content-Type", "application/octet-stream")
                content = bytes(await part.read())
                name = part.filename or "file"
                attachment = Attachment(
                    id=self._fake.world.ids.new(), filename=name, content=content, content_type=kind
                )
                call.files.append(attachment)

    def _find(self, call: Call) -> Handler | None:
        for method, template, pattern, handler in self._routes:
            found = pattern.fullmatch(call.path)
            if method == call.method and found:
                call.route, call.params = template, found.groupdict()
                return handler
        return None

    def _answer(self, call: Call, handler: Handler | None) -> web.Response:
        headers = generous(call, self._fake.world.clock.now())
        try:
            if (
                not WITHOUT_TOKEN.match(call.path)
                and call.headers.get("Authorization") != f"Bot {self._fake.world.token}"
            ):
                raise unauthorized()
            if handler is None:
                raise no_such_route()
            body = handler(self._fake, call)
        except ApiError as error:
            return self._respond(call, error.status, error.body(), headers)
        return self._respond(call, 204 if body is None else 200, body, headers)

    def _too_many(self, call: Call, wait: float, *, everywhere: bool) -> web.Response:
        body = {
            "message": "You are being rate limited.",
            "retry_after": round(wait, 3),
            "global": everywhere,
            "code": 0,
        }
        headers = {"X-RateLimit-Scope": "user", "Retry-After": str(int(wait) + 1), "Via": "1.1 google"}
        return self._respond(call, 429, body, headers)

    def _respond(self, call: Call, status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
        call.status, call.answer = status, body
        call.code = body.get("code", 0) if status >= 400 else 0
        self._fake.world.changed()
        if body is None:
            return web.Response(status=status, headers=headers)
        # Exactly this content type: the library compares it as text.
        headers = {**(headers or {}), "Content-Type": "application/json"}
        return web.Response(status=status, body=json.dumps(body).encode(), headers=headers)


def _compiled(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template))
