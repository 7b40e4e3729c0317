"""Ending tasks."""

from __future__ import annotations

import asyncio

from adapters.tasks import ended


async def test_a_task_that_loses_a_cancellation_is_ended_all_the_same() -> None:
    """Who waits for a task to be over does not wait for ever, even where the task passes over the first cancellation."""
    lost = asyncio.Event()

    async def loses_one() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            lost.set()
        await asyncio.sleep(3600)

    async def fails() -> None:
        raise ValueError

    tasks = [asyncio.create_task(loses_one()), asyncio.create_task(fails())]
    await asyncio.sleep(0)
    await ended(*tasks)
    assert lost.is_set()
    assert tasks[0].cancelled()
