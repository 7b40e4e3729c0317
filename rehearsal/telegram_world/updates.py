"""What the bot is told: a queue that is polled, or pushed to a webhook, and forgets only what was acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from rehearsal.telegram_world.params import Method, Params
from rehearsal.telegram_world.refusal import bad, conflict

MOST_UPDATES, LONGEST_POLL = 100, 50
UNASKED = {"chat_member", "message_reaction", "message_reaction_count"}
"""Kinds that a bot gets only when it names them."""
_TWO_POLLERS = "terminated by other getUpdates request; make sure that only one bot instance is running"
_WEBHOOK_SET = "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


class Bell:
    """Wakes everybody who waits for a change."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Something has changed."""
        self._event.set()
        self._event = asyncio.Event()

    def wait(self) -> Coroutine[Any, Any, bool]:
        """Until the next change after this call, however much later it is awaited."""
        return self._event.wait()


@dataclass(kw_only=True, eq=False)
class Pending:
    """An update that was not acknowledged. `order`: updates with the same value are pushed one after the other."""

    id: int
    body: dict[str, Any] | str
    order: Any = None
    attempts: int = 0
    busy: bool = False

    def text(self) -> str:
        """The body as it goes over the wire."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


@dataclass(kw_only=True)
class Webhook:
    """Where updates are pushed to; `url` is empty while there is none."""

    url: str = ""
    secret: str = ""
    max_connections: int = 40


class Updates:
    """The queue with its two ways out, and the methods that choose between them. `retry_seconds`: between pushes."""

    def __init__(self, *, bell: Bell, retry_seconds: float = 0.1) -> None:
        self.bell, self.retry_seconds = bell, retry_seconds
        self.pending: list[Pending] = []
        self.webhook = Webhook()
        self.allowed: list[str] = []
        self._ids = itertools.count(300_000_001)
        self._poll: asyncio.Future[str] | None = None
        self._pushes: set[asyncio.Task[None]] = set()

    def tell(self, kind: str, content: dict[str, Any]) -> None:
        """Queues an update of a kind, if the bot wants that kind."""
        if kind in self.allowed or (not self.allowed and kind not in UNASKED):
            number = next(self._ids)
            chat = content.get("chat") or content.get("message", {}).get("chat") or {}
            self._queue(Pending(id=number, body={"update_id": number, kind: content}, order=chat.get("id", number)))

    def tell_raw(self, update: dict[str, Any] | str, *, as_is: bool = False) -> None:
        """Queues something that Telegram would not send. A dict gets an `update_id` unless `as_is`; text is sent as
        the whole body of the next answer, once."""
        number = next(self._ids)
        if isinstance(update, dict) and not as_is:
            update = {"update_id": number, **update}
        self._queue(Pending(id=number, body=update, order=number))

    def _queue(self, pending: Pending) -> None:
        self.pending.append(pending)
        self.bell.ring()

    # --- Polling -----------------------------------------------------------------------------------------------------

    def begin_poll(self, params: Params) -> list[int]:
        """The first half of getUpdates: the updates below `offset` are acknowledged; their ids.

        A poll that is still waiting ends. Raises Refused when a webhook is set.
        """
        if self.webhook.url:
            raise conflict(_WEBHOOK_SET)
        self._end_poll(_TWO_POLLERS)
        self._remember_allowed(params)
        before = [one.id for one in self.pending]
        self._acknowledge(params.get("offset") or 0)
        kept = {one.id for one in self.pending}
        acknowledged = [number for number in before if number not in kept]
        if acknowledged:
            self.bell.ring()
        return acknowledged

    async def poll(self, params: Params) -> list[Pending] | str:
        """The second half: what is pending, waiting up to `timeout` seconds for the first.

        A text is to be sent as the whole body. Raises Refused when a webhook or another poll takes over.
        """
        limit = params.get("limit") or MOST_UPDATES
        limit = limit if 1 <= limit <= MOST_UPDATES else MOST_UPDATES
        mine = self._poll = asyncio.get_running_loop().create_future()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(params.get("timeout") or 0, LONGEST_POLL)):
                    while not self.pending and not mine.done():
                        await self._change_or(mine)
            if mine.done():
                raise conflict(mine.result())
        finally:
            if self._poll is mine:
                self._poll = None
        return self._batch(limit)

    async def _change_or(self, ended: asyncio.Future[str]) -> None:
        change = asyncio.ensure_future(self.bell.wait())
        try:
            await asyncio.wait((change, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()

    def _batch(self, limit: int) -> list[Pending] | str:
        if self.pending and isinstance(broken := self.pending[0].body, str):
            del self.pending[0]
            return broken
        return list(itertools.takewhile(lambda one: not isinstance(one.body, str), self.pending[:limit]))

    def _acknowledge(self, offset: int) -> None:
        if offset < 0:
            self.pending = self.pending[offset:]
        else:
            self.pending = [one for one in self.pending if one.id >= offset or isinstance(one.body, str)]

    def _end_poll(self, why: str) -> None:
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(why)

    def _remember_allowed(self, params: Params) -> None:
        if params.get("allowed_updates") is not None:
            self.allowed = list(params.get("allowed_updates"))

    # --- Webhook -----------------------------------------------------------------------------------------------------

    def methods(self) -> dict[str, Method]:
        """What can be called, by the API's names."""
        return {
            "setWebhook": self.set_webhook,
            "deleteWebhook": self.delete_webhook,
        }

    def set_webhook(self, params: Params) -> Any:
        """Updates are pushed from now on. Plain HTTP is accepted on the loopback address only."""
        url, secret = params.text("url"), params.text("secret_token")
        parts = urlsplit(url)
        if not url:
            return self.delete_webhook(params)
        if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
            raise bad("bad webhook: An HTTPS URL must be provided for webhook")
        if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
            raise bad("secret token contains unallowed characters")
        self._end_poll("terminated by setWebhook request")
        self._remember_allowed(params)
        self._drop(params)
        self.webhook = Webhook(url=url, secret=secret, max_connections=params.get("max_connections") or 40)
        self.bell.ring()
        return True

    def delete_webhook(self, params: Params) -> Any:
        """Updates are polled from now on."""
        self._drop(params)
        self.webhook = Webhook()
        return True

    def _drop(self, params: Params) -> None:
        if params.get("drop_pending_updates"):
            self.pending.clear()

    async def push(self) -> None:
        """Pushes what waits, for as long as the server runs: in order within a chat, chats beside each other."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            try:
                while True:
                    self._start_pushes(session)
                    await self.bell.wait()
            finally:
                for task in self._pushes:
                    task.cancel()
                await asyncio.gather(*self._pushes, return_exceptions=True)

    def _start_pushes(self, session: aiohttp.ClientSession) -> None:
        if not self.webhook.url:
            return
        taken = {one.order for one in self.pending if one.busy}
        for one in self.pending:
            if len(self._pushes) >= self.webhook.max_connections:
                return
            if one.order not in taken:
                taken.add(one.order)
                one.busy = True
                task = asyncio.create_task(self._push_one(session, one, self.webhook))
                self._pushes.add(task)
                task.add_done_callback(self._pushes.discard)

    async def _push_one(self, session: aiohttp.ClientSession, one: Pending, webhook: Webhook) -> None:
        headers = {"Content-Type": "application/json"}
        if webhook.secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = webhook.secret
        one.attempts += 1
        try:
            async with session.post(webhook.url, data=one.text().encode(), headers=headers) as answer:
                taken = answer.ok
        except (aiohttp.ClientError, TimeoutError, OSError):
            taken = False
        if not taken:
            await asyncio.sleep(self.retry_seconds)
            one.busy = False
        elif one in self.pending:
            self.pending.remove(one)
        self._pushes.discard(asyncio.current_task())  # so that the ring below finds a free place
        self.bell.ring()
