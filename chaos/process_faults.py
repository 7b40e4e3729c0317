"""Faults of our own processes: killed, frozen, out of memory, exchanged for new ones."""

from __future__ import annotations

import asyncio
import random
import resource
import signal
import time
from pathlib import Path

from chaos.deployment import Deployment, Member
from chaos.fault import Fault

FROZEN_SECONDS = 9.0
"""Longer than a silent worker (six seconds) and a silent owner of updates (five) are waited for."""
SHORT_SECONDS, ROOM_BYTES = 5.0, 2**22


async def _kill(member: Member) -> float:
    member.send(signal.SIGKILL)
    return time.monotonic()


async def _freeze(member: Member) -> float:
    struck = time.monotonic()
    member.send(signal.SIGSTOP)
    await asyncio.sleep(FROZEN_SECONDS)
    member.send(signal.SIGCONT)
    return struck


async def kill_worker(deployment: Deployment, dice: random.Random) -> float:
    """One of the workers."""
    return await _kill(dice.choice(deployment.workers))


async def kill_receiver(deployment: Deployment, dice: random.Random) -> float:
    """One of those that Telegram brings updates to."""
    return await _kill(dice.choice(deployment.receivers))


async def kill_leader(deployment: Deployment, dice: random.Random) -> float:
    """The one that asks Telegram."""
    return await _kill(deployment.leader or dice.choice(deployment.receivers))


async def freeze_worker(deployment: Deployment, dice: random.Random) -> float:
    """Until others have long taken over."""
    return await _freeze(dice.choice(deployment.workers))


async def freeze_leader(deployment: Deployment, dice: random.Random) -> float:
    """The same with the one that asks Telegram."""
    return await _freeze(deployment.leader or dice.choice(deployment.receivers))


async def deploy(deployment: Deployment, dice: random.Random) -> float:
    """One after the other is told to end, and started anew, as `systemctl restart` does."""
    struck = time.monotonic()
    for member in deployment.members:
        member.wanted = False
        await member.cafi.end(signal.SIGTERM)
        await member.cafi.start()
        member.wanted = True
        await deployment.ready()
    return struck


async def memory_limit(deployment: Deployment, dice: random.Random) -> float:
    """A worker gets no more memory than it has, for some seconds or until it ends."""
    member = dice.choice(deployment.workers)
    pages = int(Path(f"/proc/{member.pid}/statm").read_text(encoding="utf-8").split()[0])
    hard = resource.prlimit(member.pid, resource.RLIMIT_AS)[1]
    resource.prlimit(member.pid, resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM_BYTES, hard))
    pid, end = member.pid, time.monotonic() + SHORT_SECONDS
    while member.pid == pid and member.running and time.monotonic() < end:
        await asyncio.sleep(0.05)
    if member.pid == pid and member.running:
        resource.prlimit(pid, resource.RLIMIT_AS, (hard, hard))
    return time.monotonic()


PROCESS_FAULTS = (
    Fault(name="kill-worker", strike=kill_worker, kills=1),
    Fault(name="kill-receiver", strike=kill_receiver, kills=1, webhook=True),
    Fault(name="kill-leader", strike=kill_leader, kills=1),
    Fault(name="freeze-worker", strike=freeze_worker, kills=1),
    Fault(name="freeze-leader", strike=freeze_leader),
    Fault(name="deploy", strike=deploy, webhook=True),
    Fault(name="memory-limit", strike=memory_limit, kills=1),
)
