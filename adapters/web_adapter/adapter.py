"""The web page as a whole: built from its parts, served until it is told to stop."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from adapters.conversation.chat import Chat
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.inbox import Inbox
from adapters.delivery.limits import ChatLimits
from adapters.delivery.store import ChatStore
from adapters.editorial.desk import EditorialDesk
from adapters.editorial.staff import TOKEN_HOLDER, Staff
from adapters.storage.bells import BellListener
from adapters.web_adapter.boards import Boards
from adapters.web_adapter.buckets import AddressBuckets, Buckets, Places
from adapters.web_adapter.cookies import FormTokens
from adapters.web_adapter.editorial_pages import EditorialPages
from adapters.web_adapter.entries import Entries
from adapters.web_adapter.metrics import Alarms, Metrics, nothing
from adapters.web_adapter.operator_door import LOGINS_A_MINUTE, OperatorDoor
from adapters.web_adapter.operator_pages import OperatorPages, Problems
from adapters.web_adapter.operator_texts import OperatorTexts
from adapters.web_adapter.overview import Overviews, no_overview
from adapters.web_adapter.pause import Pause
from adapters.web_adapter.routes import application
from adapters.web_adapter.screen import WebScreen
from adapters.web_adapter.server import Connections, HttpServer
from adapters.web_adapter.settings import WebSettings
from adapters.web_adapter.texts import WebLanguages
from adapters.web_adapter.website import Results, Site
from engine import StepListener

DELIVERIES = 8
"""Showing costs nothing here, so several answers may be between shown and stored at the same time."""
_log = logging.getLogger("cafi.web")


def quiet_libraries() -> None:
    """Keep the libraries' own log quiet: at the level DEBUG it holds what is shown and what is sent."""
    for name in ("sse_starlette", "sse_starlette.sse", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)


@dataclass(kw_only=True)
class WebBot:
    """The web page. `pause` may be shared with other platforms; `address` is known once it runs.

    Where other processes serve the page, too, and answer: `boards` are theirs as well, `inbox` is where messages wait, and
    `bells` tell what is new.
    """

    settings: WebSettings
    languages: WebLanguages
    chat: Chat
    store: ChatStore
    limits: ChatLimits
    staff: Staff
    desk: EditorialDesk
    operator_texts: Mapping[str, OperatorTexts]
    crowded_after: float | None = None
    on_turn: StepListener | None = None
    slow_after: float = 8.0
    pause: Pause = field(default_factory=Pause)
    overview: Overviews = no_overview
    problems: Problems = nothing
    metrics: Metrics = field(default_factory=Metrics)
    boards: Boards | None = None
    inbox: Callable[[Entries], Inbox] | None = None
    bells: BellListener | None = None
    reports: Alarms = nothing
    results: Results | None = None
    clock: Callable[[], float] = time.monotonic
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    site: Site = field(init=False)
    app: ASGIApp = field(init=False)

    def __post_init__(self) -> None:
        quiet_libraries()
        settings, metrics = self.settings, self.metrics
        entries = Entries(chat=self.chat)
        boards = self.boards
        if boards is None:
            idle = self.store.idle_hours * 3600.0
            boards = Boards(most=settings.kept_pages, idle_seconds=idle, clock=self.clock)
        self.site = Site(
            settings=settings,
            languages=self.languages,
            chat=self.chat,
            store=self.store,
            dispatch=Dispatch(
                chat=self.chat,
                store=self.store,
                screen=WebScreen(boards=boards, entries=entries),
                limits=self.limits,
                crowded_after=self.crowded_after,
                deliveries=DELIVERIES,
                slow_after=self.slow_after,
                on_answer=metrics.answered,
                on_given_up=metrics.gave_up,
                on_turn=self.on_turn,
                inbox=None if self.inbox is None else self.inbox(entries),
            ),
            boards=boards,
            entries=entries,
            metrics=metrics,
            pause=self.pause,
            stopping=self.stopping.is_set,
            tokens=FormTokens(keyring=lambda: self.store.keyring),
            posts=Buckets(a_minute=settings.posts_a_minute, clock=self.clock),
            results=self.results,
            address=AddressBuckets(
                begun=Buckets(a_minute=settings.begun_a_minute, clock=self.clock),
                messages=Buckets(a_minute=settings.messages_a_minute, clock=self.clock),
                refused=Buckets(a_minute=settings.refused_a_minute, clock=self.clock),
            ),
            places=Places(
                overall=settings.streams, an_address=settings.streams_an_address, a_session=settings.streams_a_session
            ),
        )
        metrics.streams = lambda: self.site.places.open
        token = "" if settings.operator_token is None else settings.operator_token.get_secret_value()
        door = OperatorDoor(
            site=self.site,
            token=token,
            staff=self.staff,
            audit=self.desk.audit,
            texts=self.operator_texts,
            editing=self.desk.editing,
            logins=Buckets(a_minute=LOGINS_A_MINUTE, clock=self.clock),
        )
        operator = OperatorPages(
            door=door,
            overview=self.overview,
            problems=self.problems,
            reports=self.reports,
        )
        self.app = application(self.site, operator, EditorialPages(door=door, desk=self.desk))

        self.store.erased.append(boards.drop)

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        site = self.site
        site.dispatch.sweep()
        site.boards.sweep()
        site.posts.sweep()

    async def run(self) -> None:
        """Answer what is left from before, then whoever comes. Raises ConfigurationError where the port is taken."""
        server = self._server()
        self.address = server.address
        await self.staff.remove(TOKEN_HOLDER)  # the token may be another one now
        left = await self.site.dispatch.resume(self.site.take_up)
        if left:
            _log.info("%d messages had been left unanswered", left)
        serving = asyncio.create_task(server.run())
        beside = []
        if self.bells is not None:
            self.bells.stopping = self.stopping
            beside.append(asyncio.create_task(self.bells.run()))
        stop = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({serving, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.stopping.set()
            self.site.boards.close()
            await asyncio.gather(serving, stop, *beside, return_exceptions=True)
            await self.site.dispatch.aclose()

    def _server(self) -> HttpServer:
        settings = self.settings
        return HttpServer(
            app=self.app,
            host=settings.host,
            port=settings.port,
            key="web.port",
            connections=Connections(
                overall=settings.connections,
                an_address=settings.connections_an_address,
                proxies=[ipaddress.ip_network(one, strict=False) for one in settings.trusted_proxies],
            ),
            grace=5,
            keep_alive=10,
            stopping=self.stopping,
            started=self.started,
        )
