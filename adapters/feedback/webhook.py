"""Feedback events to an address of the operator's: signed, in batches, retried, from a bounded outbox on disk.

Events wait until the next delivery, so that the moment a batch arrives says nothing about the moment somebody answered.
How a receiver checks the signature is in docs/howto/feedback.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from random import Random
from typing import Self

import httpx
from sqlalchemy import Connection, delete, func, insert, select

from adapters.feedback.events import FeedbackEvent
from adapters.storage.database import Database
from adapters.storage.tables import outbox
from engine import ConfigurationError, StorageError

BATCH = 100
"""Events in one request at most."""
MOST_EVENTS_WAITING = 10_000
"""Events that wait at most; beyond that the oldest are dropped."""
DAY = 86_400.0
"""The longest wait in seconds that a receiver can ask for."""
_log = logging.getLogger("cafi.feedback")


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """Seconds: between deliveries, before a first retry, at most before a retry, and for one attempt."""

    between_deliveries: float = 3600.0
    first: float = 5.0
    most: float = 3600.0
    attempt: float = 15.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Batch:
    ids: tuple[int, ...]
    body: bytes


class WebhookSink(AbstractAsyncContextManager["WebhookSink"]):
    """Keeps events in the table `outbox` and delivers them while it is entered; what is left waits for the next start."""

    def __init__(
        self,
        *,
        database: Database,
        address: str,
        secret: str,
        waits: Waits | None = None,
        limit: int = MOST_EVENTS_WAITING,
        random: Random | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.database, self.address, self.limit = database, checked_address(address), limit
        self._secret, self._waits, self._now = secret.encode(), waits or Waits(), now
        self._random = random or secrets.SystemRandom()
        self._task: asyncio.Task[None] | None = None

    async def add(self, events: Sequence[FeedbackEvent]) -> None:
        """Put events into the outbox; raises StorageError."""
        rows = [{"event": json.dumps(event.as_document())} for event in events]
        dropped = await self.database.run(lambda connection: _put(connection, rows, self.limit))
        if dropped:
            _log.warning("the feedback outbox is full: the oldest %d events were dropped", dropped)

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._deliver_always(), name="feedback webhook")
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _deliver_always(self) -> None:
        async with httpx.AsyncClient(timeout=self._waits.attempt, follow_redirects=False) as client:
            while True:
                try:
                    await self.deliver(client)
                except StorageError as error:
                    _log.warning("the feedback outbox cannot be read: %s", type(error).__name__)
                except Exception as error:  # the task must outlive whatever a server or a library does
                    _log.warning("feedback was not delivered: %s", type(error).__name__)
                await asyncio.sleep(self._waits.between_deliveries)

    async def deliver(self, client: httpx.AsyncClient) -> None:
        """Deliver everything that waits now, and nothing that comes meanwhile; raises StorageError."""
        last = await self.database.run(lambda connection: connection.execute(select(func.max(outbox.c.id))).scalar())
        while last is not None and (batch := await self.database.run(partial(self._next, last=last))) is not None:
            await self._send(client, batch)
            await self.database.run(partial(_take_out, ids=batch.ids))
            if last in batch.ids:  # SQLite gives the number of a row that is gone to the next one that comes
                break

    def _next(self, connection: Connection, last: int) -> _Batch | None:
        waiting = select(outbox).where(outbox.c.id <= last).order_by(outbox.c.id).limit(BATCH)
        rows = connection.execute(waiting).all()
        if not rows:
            return None
        events = [json.loads(row.event) for row in rows]
        self._random.shuffle(events)  # so that their order tells nothing
        # The batch keeps its name while it is retried, so that a receiver can leave out what came twice.
        document = {"batch": secrets.token_hex(8), "events": events}
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return _Batch(ids=tuple(row.id for row in rows), body=body)

    async def _send(self, client: httpx.AsyncClient, batch: _Batch) -> None:
        """Post until the batch is taken or refused for good."""
        wait = self._waits.first
        while True:
            asked = 0.0
            try:
                # A stream, so that whatever a server answers at length is never read.
                headers = self._headers(batch.body)
                async with client.stream("POST", self.address, content=batch.body, headers=headers) as response:
                    status, asked = response.status_code, retry_after(response.headers.get("Retry-After"), self._now())
            except httpx.RequestError as error:
                _log.warning("the feedback webhook cannot be reached: %s", type(error).__name__)
            else:
                if 200 <= status < 300:
                    return
                if status != 429 and status < 500:
                    count = len(batch.ids)
                    _log.warning(
                        "the feedback webhook refused %d events with status %d; they are dropped", count, status
                    )
                    return
                _log.warning("the feedback webhook answered with status %d; tried again later", status)
            await asyncio.sleep(max(min(asked, DAY), wait * self._random.uniform(0.75, 1.25)))
            wait = min(wait * 2, self._waits.most)

    def _headers(self, body: bytes) -> dict[str, str]:
        timestamp = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
        return {
            "Content-Type": "application/json",
            "X-Cafi-Timestamp": timestamp,
            "X-Cafi-Signature": signature(self._secret, timestamp, body),
        }


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """What `X-Cafi-Signature` holds: HMAC-SHA256 (RFC 2104) of timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def retry_after(value: str | None, now: datetime) -> float:
    """Seconds that a `Retry-After` header asks for (RFC 9110: seconds or a date); 0 where it says nothing usable."""
    if value is None:
        return 0.0
    if value.strip().isdecimal():
        return float(value[:9])
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds())


def checked_address(address: str, key: str = "feedback.webhook_url") -> str:
    """An https address, or http on this very machine; raises ConfigurationError."""
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL()
    if url.host and (url.scheme == "https" or (url.scheme == "http" and _is_loopback(url.host))):
        return address
    raise ConfigurationError(
        "The address of the webhook does not begin with https:// and a host.",
        key=key,
        remedy="It leaves this machine encrypted only; http is for 127.0.0.1 and localhost.",
    )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _put(connection: Connection, rows: Sequence[dict[str, str]], limit: int) -> int:
    connection.execute(insert(outbox), list(rows))
    too_many = connection.execute(select(func.count()).select_from(outbox)).scalar_one() - limit
    if too_many <= 0:
        return 0
    oldest = select(outbox.c.id).order_by(outbox.c.id).limit(too_many)
    return connection.execute(delete(outbox).where(outbox.c.id.in_(oldest))).rowcount


def _take_out(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(delete(outbox).where(outbox.c.id.in_(ids)))
