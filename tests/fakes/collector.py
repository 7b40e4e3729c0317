"""A collector of traces on the loopback address: OTLP over HTTP, read as the real ones read it.

async with Collector() as collector:
    ...
assert collector.named("turn")
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """Takes what comes. `status`: what it says to it; `hangs`: it says nothing."""

    status: int = 200
    hangs: bool = False
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    async def __aenter__(self) -> Collector:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        self.paths.append(request.path)
        if self.hangs:
            await asyncio.sleep(3600)
        return web.Response(status=self.status)

    @property
    def requests(self) -> Iterator[ExportTraceServiceRequest]:
        """What came, read."""
        return (ExportTraceServiceRequest.FromString(one) for one in self.bodies)

    @property
    def spans(self) -> list[Span]:
        """All spans that have come."""
        return [
            span
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def resources(self) -> list[dict[str, str | int]]:
        """Whose they are said to be."""
        return [values(one.resource.attributes) for request in self.requests for one in request.resource_spans]

    def named(self, name: str) -> list[Span]:
        """Those of one name."""
        return [one for one in self.spans if one.name == name]


def values(attributes: Iterable[KeyValue]) -> dict[str, str | int]:
    """Attributes as plain values; of any other kind than words and whole numbers there is none."""
    found: dict[str, str | int] = {}
    for one in attributes:
        kind = one.value.WhichOneof("value")
        assert kind in {"string_value", "int_value"}, kind
        found[one.key] = getattr(one.value, kind)
    return found
