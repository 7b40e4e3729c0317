"""Help while one address does its worst: `/crisis`, and the referral on an open page, for everybody else."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import httpx

from benchmarks.attacker import WORST
from benchmarks.report import Cell, Section, Target
from benchmarks.rig import ROOT
from benchmarks.web import Visitor, percentile, served

SECONDS = 30
BEFORE = 5
VISITORS = 20
EVERY = 0.5
BOUND_MS = 200
SHORT = "I want to kill myself tonight"
LONG = "Work was fine and I fed the cat. " * 40 + SHORT + ". Then I cooked some soup. " * 40


class Open(Visitor):
    """A visitor who has the page open and waits for help."""

    _help: asyncio.Event | None = None

    async def listen(self) -> None:
        """Keep the stream open; what it shows of help is noticed."""
        async with self.client.stream("GET", "/events", timeout=None) as answer:
            async for line in answer.aiter_lines():
                if "referral" in line and self._help is not None:
                    self._help.set()

    async def helped(self, text: str) -> float:
        """Milliseconds from sending a text to the first help on the open page; a minute where none comes."""
        self._help = asyncio.Event()
        begun = time.perf_counter()
        data = {"form": self.token, "text": text}
        sending = asyncio.create_task(
            self.client.post("/chat", data=data, headers={"Accept": "application/json"}, timeout=60)
        )
        with suppress(TimeoutError):
            await asyncio.wait_for(self._help.wait(), 60)
        took = (time.perf_counter() - begun) * 1000
        answer = await sending
        assert answer.status_code == 202, answer.status_code
        return took


def measure() -> Section:
    """A server of its own process, the attacker another; built-in agents, everything on disk."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, _):
        calm, attacked, done = asyncio.run(_both(address))
    rows = [_row("nothing else", kind, times) for kind, times in calm.items()]
    rows += [_row("the attack", kind, times) for kind, times in attacked.items()]
    targets = [
        Target(name=f"{share} of {kind}", value=value, bound=BOUND_MS)
        for kind, times in attacked.items()
        for share, value in (("p95 ms", percentile(times, 0.95)), ("max ms", max(times)))
    ]
    about = (
        f"one address for {SECONDS} s: refused posts of {len(WORST[0]):,} characters, {45} at once, streams for made-up "
        "sessions, chats and long messages; another visitor's help meanwhile"
    )
    sent: list[dict[str, Cell]] = [
        {"of the attacker": kind, "requests": number} for kind, number in sorted(done.items())
    ]
    return Section(name="attack", about=about, tables={"help": rows, "attack": sent}, targets=targets)


def _row(beside: str, kind: str, times: Sequence[float]) -> dict[str, Cell]:
    return {
        "beside": beside,
        "help": kind,
        "requests": len(times),
        "p50 ms": statistics.median(times),
        "p95 ms": percentile(times, 0.95),
        "max ms": max(times),
    }


Times = dict[str, list[float]]


async def _both(address: str) -> tuple[Times, Times, dict[str, int]]:
    visitors = [Open(number=number, client=_client(address, number)) for number in range(2 * VISITORS)]
    for one in visitors:
        await one.begin()
    streams = [asyncio.create_task(one.listen()) for one in visitors]
    await asyncio.sleep(1)
    calm = await _help(address, visitors[:VISITORS], BEFORE)
    command = [sys.executable, "-m", "benchmarks.attacker", address, str(SECONDS)]
    attacking = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    await asyncio.sleep(1)  # until it has begun
    attacked = await _help(address, visitors[VISITORS:], SECONDS - 2)
    said, _ = await attacking.communicate()
    for task in streams:
        task.cancel()
    await asyncio.gather(*streams, return_exceptions=True)
    await asyncio.gather(*(one.client.aclose() for one in visitors))
    return calm, attacked, json.loads(said)


def _client(address: str, number: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=address, headers={"X-Forwarded-For": f"198.51.100.{number + 1}"}, timeout=60)


async def _help(address: str, visitors: Sequence[Open], seconds: float) -> Times:
    """`/crisis` ten times a second, and in turn short and long words of danger on an open page, each visitor's own."""
    times: Times = {"/crisis": [], "referral, short message": [], "help, long message": []}
    running: list[asyncio.Task[None]] = []
    begun = time.perf_counter()
    async with _client(address, 200) as client:
        for number in range(int(seconds * 10)):
            await asyncio.sleep(max(0.0, begun + number / 10 - time.perf_counter()))
            running.append(asyncio.create_task(_crisis(client, times["/crisis"])))
            if number % int(EVERY * 10) == 0:
                turn = number // int(EVERY * 10)
                running.append(asyncio.create_task(_asked(visitors[turn % len(visitors)], turn, times)))
        await asyncio.gather(*running)
    return times


async def _crisis(client: httpx.AsyncClient, times: list[float]) -> None:
    begun = time.perf_counter()
    answer = await client.get("/crisis")
    times.append((time.perf_counter() - begun) * 1000)
    assert answer.status_code == 200, answer.status_code


async def _asked(visitor: Open, turn: int, times: Times) -> None:
    short = turn % 3 != 2
    took = await visitor.helped(SHORT if short else LONG)
    times["referral, short message" if short else "help, long message"].append(took)
