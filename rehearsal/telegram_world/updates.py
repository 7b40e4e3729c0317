"""What the bot is told: a queue that is polled, and forgets only what was acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from rehearsal.telegram_world.params import Method, Params
from rehearsal.telegram_world.refusal import conflict

MOST_UPDATES, LONGEST_POLL = 100, 50
UNASKED = {"chat_member", "message_reaction", "message_reaction_count"}
"""Kinds that a bot gets only when it names them."""
_TWO_POLLERS = "terminated by other getUpdates request; make sure that only one bot instance is running"


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
class PendingUpdate:
    """An update that was not acknowledged; `order` is the same for updates of one chat."""

    id: int
    body: dict[str, Any] | str
    order: Any = None

    def text(self) -> str:
        """The body as it goes over the wire."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


class Updates:
    """The queue, and the methods on it."""

    def __init__(self, *, bell: Bell) -> None:
        self.bell = bell
        self.pending: list[PendingUpdate] = []
        self.allowed: list[str] = []
        self._ids = itertools.count(300_000_001)
        self._poll: asyncio.Future[str] | None = None

    def tell(self, kind: str, content: dict[str, Any]) -> None:
        """Queues an update of a kind, if the bot wants that kind."""
        if kind in self.allowed or (not self.allowed and kind not in UNASKED):
            number = next(self._ids)
            chat = content.get("chat") or content.get("message", {}).get("chat") or {}
            self._queue(
                PendingUpdate(id=number, body={"update_id": number, kind: content}, order=chat.get("id", number))
            )

    def tell_raw(self, update: dict[str, Any] | str, *, as_is: bool = False) -> None:
        """Queues something that Telegram would not send. A dict gets an `update_id` unless `as_is`; text is sent as
        the whole body of the next answer, once."""
        number = next(self._ids)
        if isinstance(update, dict) and not as_is:
            update = {"update_id": number, **update}
        self._queue(PendingUpdate(id=number, body=update, order=number))

    def _queue(self, pending: PendingUpdate) -> None:
        self.pending.append(pending)
        self.bell.ring()

    # --- Polling -----------------------------------------------------------------------------------------------------

    def begin_poll(self, params: Params) -> list[int]:
        """The first half of getUpdates: the updates below `offset` are acknowledged; their ids.

        A poll that is still waiting ends.
        """
        self.end_poll(_TWO_POLLERS)
        self.remember_allowed(params)
        before = [one.id for one in self.pending]
        self._acknowledge(params.get("offset") or 0)
        kept = {one.id for one in self.pending}
        acknowledged = [number for number in before if number not in kept]
        if acknowledged:
            self.bell.ring()
        return acknowledged

    async def poll(self, params: Params) -> list[PendingUpdate] | str:
        """The second half: what is pending, waiting up to `timeout` seconds for the first.

        A text is to be sent as the whole body. Raises Refused when another poll takes over.
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

    def _batch(self, limit: int) -> list[PendingUpdate] | str:
        if self.pending and isinstance(broken := self.pending[0].body, str):
            del self.pending[0]
            return broken
        return list(itertools.takewhile(lambda one: not isinstance(one.body, str), self.pending[:limit]))

    def _acknowledge(self, offset: int) -> None:
        if offset < 0:
            self.pending = self.pending[offset:]
        else:
            self.pending = [one for one in self.pending if one.id >= offset or isinstance(one.body, str)]

    def end_poll(self, why: str) -> None:
        """End the poll that waits, with a conflict."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(why)

    def remember_allowed(self, params: Params) -> None:
        """Keep which kinds the bot wants."""
        if params.get("allowed_updates") is not None:
            self.allowed = list(params.get("allowed_updates"))

    # --- Calls -------------------------------------------------------------------------------------------------------

    def methods(self) -> dict[str, Method]:
        """What can be called, by the API's names."""
        return {
            "deleteWebhook": self.delete_webhook,
        }

    def delete_webhook(self, params: Params) -> Any:
        """Updates are polled from now on."""
        self.drop(params)
        return True

    def drop(self, params: Params) -> None:
        """Forget what waits, where the call says so."""
        if params.get("drop_pending_updates"):
            self.pending.clear()
