"""What a balancer or an orchestrator asks of a process that serves no page: whether it runs, and whether it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bots.settings import HealthSettings
from engine import ConfigurationError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from adapters.web_adapter.server import HttpServer

_CONNECTIONS = 20


def signs_of_life(settings: HealthSettings, ready: Callable[[], bool]) -> HttpServer | None:
    """`/healthz` and `/readyz` on a port of their own, None where none is set. Raises ConfigurationError."""
    if settings.port is None:
        return None
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route

        from adapters.web_adapter.server import Connections, HttpServer
    except ImportError as error:
        raise ConfigurationError(
            "The packages for signs of life are not installed.", key="health.port", remedy="Install cafi[web]."
        ) from error

    async def runs(request: Request) -> Response:
        return Response(status_code=200)

    async def works(request: Request) -> Response:
        return Response(status_code=200 if ready() and not server.stopping.is_set() else 503)

    server = HttpServer(
        app=Starlette(routes=[Route("/healthz", runs), Route("/readyz", works)]),
        host=settings.host,
        port=settings.port,
        key="health.port",
        connections=Connections(overall=_CONNECTIONS, an_address=_CONNECTIONS),
    )
    return server
