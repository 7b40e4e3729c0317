"""Ending tasks."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 1.0


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until all are over; their errors are not raised.

    A cancellation can be lost where it meets the end of what a task waits for (`asyncio.wait_for` up to Python 3.11 has such a
    moment, and libraries use it); whoever then waits for the task waits for ever. So it is said again.
    """
    left = {one for one in tasks if not one.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)
