"""What a message costs in the database: whole transactions in threads against SQLAlchemy's asynchronous drivers.

`python -m benchmarks.storage [--postgres URL]`. aiosqlite is no dependency of CAFI: where it is not installed, its rows are
left out. Each message is taken, its chat loaded and finished: three transactions through `ChatStore`, sealing included.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import statistics
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, delete, event
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from adapters.conversation.incoming import Incoming
from adapters.conversation.state import ChatState
from adapters.delivery.store import ChatStore
from adapters.storage import sqlite_file
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import chats, inbox
from benchmarks.report import Cell, Section
from engine import Conversation

T = TypeVar("T")
MESSAGES = 1_500
_STATE = ChatState(conversation=Conversation(assistant="schizophrenia"))


@dataclass(frozen=True, kw_only=True)
class AsynchronousDatabase:
    """The same transactions on an asynchronous engine; every statement is handed over by itself."""

    engine: AsyncEngine

    async def run(self, work: Callable[[Connection], T], *, in_order: bool = False) -> T:
        """One transaction."""
        async with self.engine.begin() as connection:
            return await connection.run_sync(work)


@dataclass(kw_only=True)
class _Measured:
    waits: list[float] = field(default_factory=list)

    async def timed(self, work: Coroutine[Any, Any, T]) -> T:
        begun = time.perf_counter()
        found = await work
        self.waits.append(time.perf_counter() - begun)
        return found


def measure(postgres: str | None = None) -> Section:
    """Each driver with one chat after another, and with fifty at a time."""
    rows: list[dict[str, Cell]] = []
    with TemporaryDirectory() as folder:
        urls = [f"sqlite:///{folder}/cafi.db", *([postgres] if postgres else [])]
        for url in urls:
            for at_once in (1, 50):
                rows += asyncio.run(_compared(url, at_once))
    return Section(name="storage", about=f"{MESSAGES} messages, three transactions each", tables={"drivers": rows})


async def _compared(url: str, at_once: int) -> list[dict[str, Cell]]:
    database = Database(url)
    migrate(database)
    place = "SQLite" if database.sqlite else "PostgreSQL"
    rows = [await _row(f"{place}, threads (present)", database, at_once)]
    if not database.sqlite or importlib.util.find_spec("aiosqlite"):
        engine = _asynchronous(url, sqlite=database.sqlite)
        driver = cast("Database", AsynchronousDatabase(engine=engine))
        rows.append(await _row(f"{place}, {engine.driver}, asynchronous", driver, at_once))
        await engine.dispose()
    await database.run(lambda connection: [connection.execute(delete(table)) for table in (chats, inbox)])
    await database.aclose()
    return rows


def _asynchronous(url: str, *, sqlite: bool) -> AsyncEngine:
    if not sqlite:
        return create_async_engine(url, pool_size=8, hide_parameters=True)
    engine = create_async_engine(make_url(url).set(drivername="sqlite+aiosqlite"), pool_size=1, max_overflow=0)
    event.listen(engine.sync_engine, "connect", sqlite_file._pragmas)
    event.listen(engine.sync_engine, "begin", sqlite_file._begin)
    return engine


async def _row(name: str, database: Database, at_once: int) -> dict[str, Cell]:
    store = ChatStore(database=database, naming=Naming(Keyring(current=Secret.random())), inbox_secret=Secret.random())
    measured = _Measured()
    await asyncio.gather(*(_chat(store, number, 4, _Measured()) for number in range(at_once)))  # warm
    cpu, begun = time.process_time(), time.perf_counter()
    await asyncio.gather(*(_chat(store, number, MESSAGES // at_once, measured) for number in range(at_once)))
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - begun
    waits = sorted(measured.waits)
    return {
        "driver": name,
        "chats at once": at_once,
        "processor ms / message": cpu / (len(waits) / 3) * 1000,
        "median ms / transaction": statistics.median(waits) * 1000,
        "p95 ms / transaction": waits[int(len(waits) * 0.95)] * 1000,
        "messages / s": len(waits) / 3 / seconds,
    }


async def _chat(store: ChatStore, number: int, messages: int, measured: _Measured) -> None:
    identity = ChatIdentity(platform="web", chat=f"{id(measured)}-{number}")
    incoming = Incoming(identity=identity, text="What are early signs of a relapse?", at=0.0)
    for _ in range(messages):
        (waiting,) = await measured.timed(store.take([incoming]))
        kept = await measured.timed(store.load(identity))
        await measured.timed(store.finish(waiting.row, identity, kept.state or _STATE, kept.version))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__)
    parser.add_argument("--postgres", metavar="URL", help="an empty database of its own: what is in it is erased")
    print("\n".join(measure(parser.parse_args().postgres).as_lines()))
