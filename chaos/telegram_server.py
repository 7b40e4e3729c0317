"""The stand-in for Telegram behind a balancer: updates are pushed to several receivers, twice or out of order on request.

`POST /balance` with `{"receivers": [URL, …], "twice": bool, "shuffled": bool}` says how; the address that a bot gives to
setWebhook is where they are found from outside, and not asked.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from rehearsal.telegram_world.updates import Bell, PendingUpdate, Updates
from tests.fakes.faulty_telegram import PushedUpdates, Webhook
from tests.fakes.telegram_process import TelegramProcess
from tests.fakes.telegram_server import ControlledServer, main

HEADER = "X-Telegram-Bot-Api-Secret-Token"
RETRY_SECONDS, PUSH_SECONDS = 0.3, 10.0


@dataclass(kw_only=True)
class Balance:
    """Where updates go, and how. `taken`: the numbers of messages in the order in which a receiver acknowledged them."""

    receivers: list[str] = field(default_factory=list)
    twice: bool = False
    shuffled: bool = False


class BalancedUpdates(PushedUpdates):
    """Pushes to one receiver after the other; who refuses or is gone is not asked again for this update at once."""

    def __init__(self, *, bell: Bell) -> None:
        super().__init__(bell=bell, retry_seconds=RETRY_SECONDS)
        self.balance = Balance()
        self.taken: list[list[Any]] = []
        self._turn = itertools.count()

    def _start_pushes(self, session: aiohttp.ClientSession) -> None:
        if not self.balance.receivers:
            return
        if self.balance.shuffled:
            # Telegram keeps no order across a failed push: a later message of a chat may come before an earlier one.
            random.shuffle(self.pending)
        super()._start_pushes(session)

    async def _push_one(self, session: aiohttp.ClientSession, one: PendingUpdate, webhook: Webhook) -> None:
        at = next(self._turn)
        copies = 2 if self.balance.twice else 1
        answers = await asyncio.gather(*(self._brought(session, one, webhook, at + copy) for copy in range(copies)))
        if not any(answers):
            await asyncio.sleep(self.retry_seconds)
            self._busy.discard(one.id)
        elif one in self.pending:
            self.pending.remove(one)
            self._note(one)
            if self.balance.twice:
                # Once more when it has long been answered, as after a connection that broke before the 200 arrived.
                late = asyncio.create_task(self._later(session, one, webhook, at))
                self._pushes.add(late)
                late.add_done_callback(self._pushes.discard)
        self._pushes.discard(asyncio.current_task())  # so that the ring finds a free place
        self.bell.ring()

    async def _later(self, session: aiohttp.ClientSession, one: PendingUpdate, webhook: Webhook, at: int) -> None:
        await asyncio.sleep(random.uniform(0.1, 3.0))
        await self._brought(session, one, webhook, at + 1)

    async def _brought(self, session: aiohttp.ClientSession, one: PendingUpdate, webhook: Webhook, at: int) -> bool:
        receivers = self.balance.receivers
        url = receivers[at % len(receivers)]
        headers = {"Content-Type": "application/json", HEADER: webhook.secret}
        limit = aiohttp.ClientTimeout(total=PUSH_SECONDS)
        try:
            async with session.post(url, data=one.text().encode(), headers=headers, timeout=limit) as answer:
                return answer.ok
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    def _note(self, one: PendingUpdate) -> None:
        if isinstance(one.body, dict) and "text" in one.body.get("message", {}):
            self.taken.append([one.order, one.body["message"]["text"]])


class BalancedTelegram(ControlledServer):
    """The stand-in as `python -m chaos.telegram_server` runs it."""

    updates: BalancedUpdates

    def queue(self, bell: Bell) -> Updates:
        return BalancedUpdates(bell=bell)

    def more_routes(self) -> list[web.RouteDef]:
        return [*super().more_routes(), web.post("/balance", self._balance), web.get("/taken", self._taken)]

    async def __aenter__(self) -> BalancedTelegram:
        await super().__aenter__()
        self._pusher = asyncio.create_task(self.updates.push())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._pusher.cancel()
        await asyncio.gather(self._pusher, return_exceptions=True)
        await super().__aexit__(*exc)

    async def _balance(self, request: web.Request) -> web.StreamResponse:
        self.updates.balance = Balance(**await request.json())
        self.updates.bell.ring()
        return web.json_response({})

    async def _taken(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.updates.taken)


class BalancedProcess(TelegramProcess):
    """The same in a process of its own."""

    module = "chaos.telegram_server"

    async def balance(self, balance: Balance) -> None:
        """Where updates go from now on."""
        async with self._session.post(f"{self.origin}/balance", json=vars(balance)) as answer:
            answer.raise_for_status()

    async def taken(self) -> list[tuple[int, str]]:
        """Chat and text of each message, in the order in which receivers have taken them."""
        async with self._session.get(f"{self.origin}/taken") as answer:
            return [(chat, text) for chat, text in await answer.json()]


if __name__ == "__main__":
    main(BalancedTelegram)
