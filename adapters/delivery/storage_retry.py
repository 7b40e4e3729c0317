"""Waiting for the database: what was shown must not be forgotten because a disk is full for a while."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from engine import StaleState, StorageError

T = TypeVar("T")
MOST_SECONDS = 4.0
"""Who waited for the database is answered within five seconds once it is there; an attempt is one transaction."""
_log = logging.getLogger("cafi.dispatch")


def worth_a_word(failures: int) -> bool:
    """Whether an operator reads of a failure that goes on: at once, once more soon, and seldom from then on."""
    return failures in {1, 5} or failures % 50 == 0


def _nothing() -> None:
    return


@dataclass(kw_only=True)
class StorageRetry:
    """Tries until the database takes it. `seconds`: the first wait, doubled each time. `ended`: no more attempts."""

    seconds: float = 1.0
    ended: bool = False

    async def until_done(self, work: Callable[[], Awaitable[T]], *, on_wait: Callable[[], None] = _nothing) -> T:
        """What `work` gives; `on_wait` is called before every wait. Raises StaleState, and StorageError once ended."""
        wait, failures = self.seconds, 0
        while True:
            try:
                return await work()
            except StaleState:
                raise
            except StorageError as error:
                failures += 1
                if worth_a_word(failures):
                    _log.error("%s", error)
                if self.ended:
                    raise
            on_wait()
            await asyncio.sleep(wait)
            wait = min(wait * 2, MOST_SECONDS)
