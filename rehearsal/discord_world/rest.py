"""The REST API over HTTP: finds the route, checks the token, and keeps every call."""

from __future__ import annotations

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
from rehearsal.discord_world.calls import RestCall, generous
from rehearsal.discord_world.errors import ApiError, no_such_route, unauthorized
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.things import Attachment

Handler: TypeAlias = Callable[[Postings, RestCall], Any]
API = "/api/v10"
WITHOUT_TOKEN = re.compile(r"/interactions/|/webhooks/\d+/")


class Rest:
    """Answers requests."""

    def __init__(self, fake: Postings) -> None:
        self._fake = fake
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
        return await self.answer(request, call, handler)

    async def answer(self, request: web.Request, call: RestCall, handler: Handler | None) -> web.StreamResponse:
        """Carry out a request."""
        return self.carried_out(call, handler)

    async def _read(self, request: web.Request) -> RestCall:
        call = RestCall(
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

    async def _read_parts(self, request: web.Request, call: RestCall) -> None:
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

    def _find(self, call: RestCall) -> Handler | None:
        for method, template, pattern, handler in self._routes:
            found = pattern.fullmatch(call.path)
            if method == call.method and found:
                call.route, call.params = template, found.groupdict()
                return handler
        return None

    def carried_out(self, call: RestCall, handler: Handler | None) -> web.Response:
        """What a route gives, or the refusal."""
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
            return self.respond(call, error.status, error.body(), headers)
        return self.respond(call, 204 if body is None else 200, body, headers)

    def respond(self, call: RestCall, status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
        """Keep the answer of a call, and send it."""
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
