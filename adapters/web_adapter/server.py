"""uvicorn in our process: bounded connections, no patience for clients that stall, no hold on our signals."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from adapters.web_adapter.buckets import household, is_within
from adapters.web_adapter.guard import HEADER_BYTES
from engine import ConfigurationError

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


class _Server(uvicorn.Server):
    """uvicorn's server; signals are the whole process's business. `ready` is set once it answers."""

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


@dataclass(kw_only=True)
class HttpServer:
    """Serves an application on one address. It listens from the moment it is made, so that nobody comes too early.

    Raises ConfigurationError for an address that cannot be used; `key` is the setting of its port. A `port` of 0 takes a
    free one; `address` tells which. `patience`: the seconds in which a request has to come whole, and within which a
    client has to read an answer. `grace`: seconds for requests that run when it is told to stop; `keep_alive`:
    seconds a connection may be idle between two. `started`: it answers.
    """

    app: ASGIApp
    host: str
    port: int
    key: str
    connections: Connections
    patience: float = PATIENCE_SECONDS
    grace: int = 10
    keep_alive: int = 5
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._socket = self._listening()

    def _listening(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
            listener.listen(socket.SOMAXCONN)
        except OSError as error:
            listener.close()
            raise ConfigurationError(
                f"Nothing can listen on {self.host}, port {self.port}: {error.strerror or error}.",
                key=self.key,
                remedy=f"Stop the program that uses the port, or set {self._variable} to another number.",
            ) from error
        return listener

    @property
    def _variable(self) -> str:
        return f"CAFI_{self.key.replace('.', '__').upper()}"

    @property
    def address(self) -> str:
        """Where it can be opened in a browser of this computer."""
        name: Any = self._socket.getsockname()
        host = f"[{name[0]}]" if ":" in name[0] else name[0]
        return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{name[1]}"  # noqa: S104 - it is told, not bound

    def sweep(self) -> None:
        """It holds nothing of anybody."""

    async def run(self) -> None:
        """Serve; requests that run when it is told to stop are answered first."""
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # a warning for each malformed request fills a disk
        config = uvicorn.Config(
            self.app,
            http=protocol(self.connections, self.patience),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,  # addresses of people are nobody's business
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=self.keep_alive,
            timeout_graceful_shutdown=self.grace,
            h11_max_incomplete_event_size=HEADER_BYTES,
        )
        server = _Server(config, self.started)
        serving = asyncio.create_task(server.serve(sockets=[self._socket]))
        stop = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stopping.set()
            server.should_exit = True
            await asyncio.gather(serving, stop, return_exceptions=True)
            self._socket.close()
