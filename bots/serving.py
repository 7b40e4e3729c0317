"""The web server of `cafi run`: answers what platforms and people ask by HTTP, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from adapters.web_adapter.guard import HEADER_BYTES
from adapters.web_adapter.serving import PATIENCE_SECONDS, Connections, protocol
from engine.exceptions import ConfigurationError

_GRACE_SECONDS = 10
_CONNECTIONS = 200
"""Telegram opens a hundred at most, all of them from one address where a proxy stands between."""


@dataclass(kw_only=True)
class WebServer:
    """Serves routes on one address. It listens from the moment it is made, so that nobody comes too early.

    Raises ConfigurationError for an address that cannot be used. A `port` of 0 takes a free one; `address` tells which.
    `patience`: the seconds in which a request has to come whole, and within which a client has to read an answer.
    """

    routes: Sequence[BaseRoute]
    host: str
    port: int
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    patience: float = PATIENCE_SECONDS

    def __post_init__(self) -> None:
        self._socket = _listening(self.host, self.port)

    @property
    def address(self) -> str:
        """Where it is reached."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def sweep(self) -> None:
        """It holds nothing of anybody."""

    async def run(self) -> None:
        """Serve; requests that run when it is told to stop are answered first."""
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a warning for each malformed request fills a disk
        config = uvicorn.Config(
            Starlette(routes=list(self.routes)),
            http=protocol(Connections(overall=_CONNECTIONS, an_address=_CONNECTIONS), self.patience),
            ws="none",
            h11_max_incomplete_event_size=HEADER_BYTES,
            log_config=None,
            access_log=False,  # addresses of people are nobody's business
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        stop = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            server.should_exit = True
            stop.cancel()
            await serving
            self._socket.close()


class _Server(uvicorn.Server):
    """Leaves signals to `cafi run`, which ends everything in its order."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"Nothing can listen on {host}, port {port}: {error.strerror or error}.",
            key="telegram.webhook_port",
            remedy="Stop the program that uses the port, or choose another one (telegram.webhook_host, .webhook_port).",
        ) from error
    return listener
