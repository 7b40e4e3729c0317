"""uvicorn in our process: bounded connections, no patience for clients that stall, no hold on our signals."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from adapters.web_adapter.guard import HEADER_BYTES
from adapters.web_adapter.limiting import household, is_within
from adapters.web_adapter.settings import WebSettings
from engine.exceptions import ConfigurationError

PATIENCE_SECONDS = 15.0
"""How long a request may take to arrive, and how long a client may read nothing of an answer."""


@dataclass(kw_only=True)
class Connections:
    """How many connections are open, overall and from one household. Our proxies hold many people's."""

    overall: int
    an_address: int
    proxies: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    open: int = 0
    _held: Counter[bytes] = field(default_factory=Counter)

    def take(self, address: str) -> bool:
        """Whether one more may be opened; it then counts."""
        home = household(address)
        crowded = self._held[home] >= self.an_address and not is_within(address, self.proxies)
        if crowded or self.open >= self.overall:
            return False
        self.open += 1
        self._held[home] += 1
        return True

    def give_back(self, address: str) -> None:
        """One is closed."""
        home = household(address)
        self.open -= 1
        self._held[home] -= 1
        if not self._held[home]:
            del self._held[home]


def protocol(connections: Connections, patience: float = PATIENCE_SECONDS) -> type[asyncio.Protocol]:
    """uvicorn's protocol with bounds it does not have itself."""

    class Bounded(H11Protocol):
        """One connection."""

        taken = False
        timer: asyncio.TimerHandle | None = None
        unread = -1
        answered = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.peer = self.client[0] if self.client else ""
            self.taken = connections.take(self.peer)
            if not self.taken:
                transport.abort()
                return
            self.timer = self.loop.call_later(patience, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.timer is not None:
                self.timer.cancel()
            if self.taken:
                self.taken = False
                connections.give_back(self.peer)
            super().connection_lost(exc)

        def _look(self) -> None:
            """End it where a request has not come whole, or nothing of the answer was read, since the last look."""
            waiting = self.transport.get_write_buffer_size()
            cycle: RequestResponseCycle | None = self.cycle
            arriving = cycle is None or (cycle.more_body and not cycle.response_complete)
            if arriving or (waiting and waiting == self.unread):
                self.transport.abort()
                return
            self.unread = waiting
            self.timer = self.loop.call_later(patience, self._look)

    return Bounded


class Server(uvicorn.Server):
    """uvicorn's server; signals are the whole process's business. `ready` is set once it listens."""

    def __init__(self, config: uvicorn.Config, ready: asyncio.Event) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def server(app: ASGIApp, settings: WebSettings, ready: asyncio.Event) -> tuple[Server, socket.socket]:
    """A server and the socket it will listen on, `ready` once it does; raises ConfigurationError where the port is taken."""
    networks = [ipaddress.ip_network(one, strict=False) for one in settings.trusted_proxies]
    connections = Connections(
        overall=settings.connections, an_address=settings.connections_an_address, proxies=networks
    )
    config = uvicorn.Config(
        app,
        http=protocol(connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    return Server(config, ready), _listening(settings)


def _listening(settings: WebSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"The address {settings.host}:{settings.port} cannot be used: {error.strerror}.",
            key="web.port",
            remedy="Stop the other program, or set CAFI_WEB__PORT to another number.",
        ) from error
    listener.setblocking(False)
    return listener


def address_of(listener: socket.socket) -> str:
    """Where it can be opened in a browser of this computer."""
    name: Any = listener.getsockname()
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{name[1]}"  # noqa: S104 - it is told, not bound
