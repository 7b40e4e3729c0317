"""Tells an operator once that something is wrong, and again when it stays so. What is sent is its kind and nothing else."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

_log = logging.getLogger("cafi.alerts")


class AlertKind(StrEnum):
    """What can be wrong."""

    STORAGE = "storage"
    QUEUE = "queue"
    ENDPOINT = "endpoint"
    SPENDING = "spending"
    SOURCES = "sources"
    CONTACTS = "contacts"
    REPORTS = "reports"


class AlertFailed(Exception):
    """An alert could not be sent; it is tried again with the next round."""


class AlertSender(Protocol):
    """One way to an operator."""

    async def send(self, kind: AlertKind) -> None:
        """Send one alert; raises AlertFailed."""
        ...


@dataclass(kw_only=True)
class Alerts:
    """What is on, and when it was last told. `again`: seconds. `clock` never jumps. Raises nothing."""

    senders: Sequence[AlertSender] = ()
    again: float = 86_400.0
    clock: Callable[[], float] = time.monotonic
    on: dict[AlertKind, float] = field(default_factory=dict)
    """What is wrong now, and when that was last told."""
    _telling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def hold(self, kinds: Collection[AlertKind]) -> None:
        """These hold now and no others: new ones are told, old ones again after a while."""
        async with self._telling:
            for gone in set(self.on) - set(kinds):
                del self.on[gone]
            for kind in AlertKind:
                if kind in kinds and self.clock() - self.on.get(kind, -self.again) >= self.again:
                    await self._tell(kind)

    async def _tell(self, kind: AlertKind) -> None:
        told = await asyncio.gather(*(one.send(kind) for one in self.senders), return_exceptions=True)
        failed = [one for one in told if isinstance(one, BaseException)]
        for one in failed:
            _log.warning("an alert was not sent: %s", type(one.__cause__ or one).__name__)
        if not failed or len(failed) < len(told):
            self.on[kind] = self.clock()
        else:
            self.on[kind] = self.clock() - self.again  # it holds, and is tried again with the next round
