"""Faults of PostgreSQL: killed, restarted, frozen, without room on its disk, without a connection left."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import time
from contextlib import ExitStack, suppress

import psycopg

from chaos.deployment import Deployment
from chaos.fault import Fault

PAUSE_SECONDS, FULL_SECONDS, EXHAUSTED_SECONDS = 10.0, 6.0, 6.0
_OURS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE backend_type = 'client backend' AND application_name ~ '^(worker|receiver)'"
)


async def kill_postgres(deployment: Deployment, dice: random.Random) -> float:
    """Its first process, or one that serves somebody: both end all connections; the supervisor starts it anew."""
    first, *others = deployment.cluster.processes
    with suppress(ProcessLookupError):
        os.kill(dice.choice([first, others[-1]]), signal.SIGKILL)
    await asyncio.sleep(0.2)
    return await asyncio.to_thread(deployment.cluster.back)


async def restart_postgres(deployment: Deployment, dice: random.Random) -> float:
    """As its package's upgrade does."""
    cluster = deployment.cluster
    cluster.wanted = False
    try:
        await asyncio.to_thread(cluster.server.stop, "fast")
        await asyncio.to_thread(cluster.server.start)
    finally:
        cluster.wanted = True
    return await asyncio.to_thread(cluster.back)


async def pause_postgres(deployment: Deployment, dice: random.Random) -> float:
    """It says nothing for ten seconds, and connections stay open: a machine that is moved, a network that swallows all."""
    deployment.cluster.send(signal.SIGSTOP)
    try:
        await asyncio.sleep(PAUSE_SECONDS)
    finally:
        deployment.cluster.send(signal.SIGCONT)
    return await asyncio.to_thread(deployment.cluster.back)


async def full_disk(deployment: Deployment, dice: random.Random) -> float:
    """Not one byte is left, for some seconds."""
    disk = deployment.cluster.disk
    assert disk is not None
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 65_536)
        await asyncio.sleep(FULL_SECONDS)
    finally:
        filler.unlink(missing_ok=True)
    return await asyncio.to_thread(deployment.cluster.back)


async def exhaust_connections(deployment: Deployment, dice: random.Random) -> float:
    """Another program takes all connections as soon as ours are ended, and keeps them for some seconds."""
    server = deployment.cluster.server
    place = f"host={server.folder} port={server.port} user=postgres dbname=postgres"
    with ExitStack() as taken:
        ours = taken.enter_context(psycopg.connect(place, autocommit=True))

        def take() -> None:
            with suppress(psycopg.OperationalError):
                while True:
                    taken.enter_context(psycopg.connect(place))

        await asyncio.to_thread(take)
        end = time.monotonic() + EXHAUSTED_SECONDS
        while time.monotonic() < end:
            ours.execute(_OURS)
            await asyncio.to_thread(take)
    return await asyncio.to_thread(deployment.cluster.back)


def _no_disk() -> str:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return "a disk of its own needs root"
    return ""


SERVER_FAULTS = (
    Fault(name="kill-postgres", strike=kill_postgres, kills=1, back=True),
    Fault(name="restart-postgres", strike=restart_postgres, back=True),
    Fault(name="pause-postgres", strike=pause_postgres, back=True),
    Fault(name="full-disk", strike=full_disk, back=True, own_disk=True, missing=_no_disk),
    Fault(name="exhaust-connections", strike=exhaust_connections, back=True),
)
