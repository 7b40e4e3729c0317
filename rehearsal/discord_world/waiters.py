"""Waiting for something to be true of the fake or of the client, without a task that asks all the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

SOON, AGAIN = 0.002, 0.02


class Waiters:
    """Conditions that tests wait for; all are looked at together, soon after each change and now and then besides.

    `last` tells the last calls, for whoever waited in vain.
    """

    def __init__(self, last: Callable[[], object]) -> None:
        self._open: dict[asyncio.Future[Any], Callable[[], Any]] = {}
        self._look_at = float("inf")
        self._timer: asyncio.TimerHandle | None = None
        self._last = last

    def changed(self) -> None:
        """Something happened: the conditions are looked at soon."""
        if self._open:
            self._plan(SOON)

    async def until(self, predicate: Callable[[], Any], seconds: float) -> Any:
        """What a predicate gives when that is true at last; AssertionError when it takes too long."""
        found = predicate()
        if found:
            return found
        future = asyncio.get_running_loop().create_future()
        self._open[future] = predicate
        self._plan(AGAIN)
        try:
            return await asyncio.wait_for(future, seconds)
        except TimeoutError:
            raise AssertionError(f"Nothing came in {seconds} s; the last calls were {self._last()}") from None
        finally:
            del self._open[future]

    def _plan(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() + seconds >= self._look_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._look_at = loop.time() + seconds
        self._timer = loop.call_at(self._look_at, self._look)

    def _look(self) -> None:
        self._look_at, self._timer = float("inf"), None
        for future, predicate in self._open.items():
            if future.done():
                continue
            try:
                found = predicate()
            except Exception as error:  # the test that waits is told of its own mistake
                future.set_exception(error)
            else:
                if found:
                    future.set_result(found)
        # What is only in the client, such as its cache, announces nothing.
        if self._open:
            self._plan(AGAIN)
