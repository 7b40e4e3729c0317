"""What a balancer, an orchestrator and Prometheus ask of a process: whether it runs, works, and what it has counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bots.chats import Chats
from engine import ConfigurationError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from adapters.web_adapter.server import HttpServer

_CONNECTIONS = 20


def signs_of_life(chats: Chats, ready: Callable[[], bool]) -> HttpServer | None:
    """`/healthz`, `/readyz` and `/metrics` on a port of their own, None where none is set. Raises ConfigurationError."""
    settings, web = chats.application.settings.health, chats.application.settings.web
    if settings.port is None:
        return None
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response
        from starlette.routing import Route

        from adapters.web_adapter.guard import is_near
        from adapters.web_adapter.metrics import MEDIA_TYPE
        from adapters.web_adapter.operator_door import bears
        from adapters.web_adapter.server import Connections, HttpServer
    except ImportError as error:
        raise ConfigurationError(
            "The packages for signs of life are not installed.", key="health.port", remedy="Install cafi[web]."
        ) from error
    token = "" if web.operator_token is None else web.operator_token.get_secret_value()

    async def runs(request: Request) -> Response:
        return Response(status_code=200)

    async def works(request: Request) -> Response:
        return Response(status_code=200 if ready() and not server.stopping.is_set() else 503)

    async def counted(request: Request) -> Response:
        # The page's own rule: what one port keeps closed, another one must not tell.
        near = request.client is not None and is_near(web, request.client.host, request.headers)
        if not (near or bears(request.headers, token)):
            return Response(status_code=404)
        return Response(await chats.metrics.exposition(), media_type=MEDIA_TYPE)

    server = HttpServer(
        app=Starlette(routes=[Route("/healthz", runs), Route("/readyz", works), Route("/metrics", counted)]),
        host=settings.host,
        port=settings.port,
        key="health.port",
        connections=Connections(overall=_CONNECTIONS, an_address=_CONNECTIONS),
    )
    return server
