"""Places that all processes with one database share: so many and no more, given back whoever dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.storage.database import Database
from adapters.storage.shared_places import SharedPlaces
from tests.killing import until
from tests.postgres import PostgresServer

HELD = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"


@pytest.fixture
async def two(postgresql: PostgresServer) -> AsyncIterator[list[SharedPlaces]]:
    """Two processes' places, three in all, and two at most in each."""
    databases = [Database(postgresql.url("postgres")) for _ in range(2)]
    found = [SharedPlaces(database=one, most=3, own=asyncio.Semaphore(2)) for one in databases]
    yield found
    for places, database in zip(found, databases, strict=True):
        await places.aclose()
        database.close()


async def test_all_processes_together_hold_so_many_and_each_its_own(
    two: list[SharedPlaces], postgresql: PostgresServer
) -> None:
    """Of three places a process takes two, another one the third, and its second waits until one is given back."""
    first, second = two
    await first.__aenter__()
    await first.__aenter__()
    assert first.own.locked()
    await second.__aenter__()
    assert postgresql.execute(HELD) == [(3,)]
    waiting = asyncio.create_task(second.__aenter__())
    await asyncio.sleep(1.0)
    assert not waiting.done()
    await first.__aexit__()
    await asyncio.wait_for(waiting, 60)
    for one in (first, second, second):
        await one.__aexit__()
    assert postgresql.execute(HELD) == [(0,)]
    assert not first.own.locked() and not second.own.locked()


async def test_a_process_that_is_gone_holds_no_place_and_without_a_server_nobody_waits(
    two: list[SharedPlaces], postgresql: PostgresServer
) -> None:
    """When a process's connection ends its places are free; one that cannot ask goes on within its own bound."""
    first, second = two
    await first.__aenter__()
    await first.__aenter__()
    ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2"
    postgresql.execute(ended)
    await until(lambda: postgresql.execute(HELD) == [(0,)])
    await second.__aenter__()
    await first.__aexit__()
    await first.__aenter__()
    for one in (first, first, second):
        await one.__aexit__()
    assert not first.own.locked()
    nowhere = SharedPlaces(
        database=Database("postgresql+psycopg://x@/x?host=/nowhere"), most=1, own=asyncio.Semaphore(2)
    )
    async with nowhere, nowhere:
        assert nowhere.own.locked()
    nowhere.database.close()
