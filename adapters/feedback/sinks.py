"""Where feedback events go. The database keeps counts; a failing sink stops neither the others nor a chat."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

from sqlalchemy import Connection

from adapters.feedback.events import FeedbackEvent
from adapters.storage.database import Database
from adapters.storage.tables import events as table
from adapters.storage.upsert import upsert

SinkName = Literal["database", "webhook"]
_log = logging.getLogger("cafi.feedback")


class Sink(Protocol):
    """Takes events. One that works in the background is an asynchronous context manager as well."""

    async def add(self, events: Sequence[FeedbackEvent]) -> None:
        """Keep or pass on some events; may raise."""


@dataclass(frozen=True, kw_only=True)
class DatabaseSink:
    """Counts in the table `events`: one row for equal events, however many there were."""

    database: Database

    async def add(self, events: Sequence[FeedbackEvent]) -> None:
        """Count events in one transaction; raises StorageError."""
        counted = Counter(events)
        await self.database.run(lambda connection: _count(connection, counted))


@dataclass(frozen=True, kw_only=True)
class Forwarding:
    """Gives events to every sink and never raises into a chat; entering and leaving it starts and ends sinks."""

    sinks: Sequence[Sink] = ()
    _running: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def add(self, events: Sequence[FeedbackEvent]) -> None:
        """Pass events to all sinks; what goes wrong is logged by its kind alone."""
        if not events:
            return
        for sink in self.sinks:
            try:
                await sink.add(events)
            except Exception as error:
                _log.warning("feedback was not kept by %s: %s", type(sink).__name__, type(error).__name__)

    async def __aenter__(self) -> Self:
        for sink in self.sinks:
            if isinstance(sink, AbstractAsyncContextManager):
                await self._running.enter_async_context(sink)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._running.aclose()


def _count(connection: Connection, counted: Mapping[FeedbackEvent, int]) -> None:
    rows = [(_row(event), count) for event, count in counted.items()]
    # In one order for everybody, so that two transactions never wait for each other's rows.
    for row, count in sorted(rows, key=lambda one: tuple(one[0].values())):
        connection.execute(upsert(connection.dialect.name, table, {**row, "count": count}, adding=("count",)))


def _row(event: FeedbackEvent) -> dict[str, str]:
    return {
        "week": event.week,
        "platform": event.platform,
        "assistant": event.assistant,
        "question": event.question,
        "option": event.option,
        "sources": " ".join(event.sources),
        "decision": event.decision,
    }


def forwarding(
    database: Database,
    *,
    sinks: Sequence[SinkName],
    webhook_url: str | None = None,
    webhook_secret: str | None = None,
) -> Forwarding:
    """The configured sinks as one; enter it to start delivery. Without sinks nothing is kept.

    Raises ConfigurationError for an address that is not safe. The caller has checked that the webhook has both values.
    """
    built: list[Sink] = []
    for name in dict.fromkeys(sinks):
        if name == "database":
            built.append(DatabaseSink(database=database))
        else:
            # Only where it is used: httpx is slow to import.
            from adapters.feedback.webhook import WebhookSink

            # It logs the whole address of every request, and an address may hold a key.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            built.append(WebhookSink(database=database, address=webhook_url or "", secret=webhook_secret or ""))
    return Forwarding(sinks=tuple(built))
