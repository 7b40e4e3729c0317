"""The web page under load: 200 open conversations, 50 requests a second, and somebody who opens streams without end."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import yaml

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS, ROOT

VISITORS = 200
A_SECOND = 50
SECONDS = 20
ATTEMPTS = 10_000
AT_A_TIME = 100
P95_MS = 150
MEMORY_MB = 300


@dataclass(kw_only=True)
class Visitor:
    """Somebody with an open conversation, at an address of their own behind a proxy."""

    number: int
    client: httpx.AsyncClient
    token: str = ""

    async def begin(self, language: str = "en") -> None:
        """Read the first page, agree, and leave the page open."""
        await self._page("/")
        answer = await self.client.post("/begin", data={"form": self.token, "language": language})
        assert answer.status_code == 303, answer.status_code
        await self._page("/chat")

    async def ask(self, question: str = "") -> int:
        """Ask, and wait until the answer is there, as a page without JavaScript does."""
        question = question or QUESTIONS[self.number % len(QUESTIONS)]
        answer = await self.client.post("/chat", data={"form": self.token, "text": question})
        return answer.status_code

    async def look(self) -> int:
        """Reload the conversation."""
        return (await self.client.get("/chat")).status_code

    async def read(self) -> int:
        """Read a source."""
        return (await self.client.get("/sources/schizophrenia/causes")).status_code

    async def listen(self) -> None:
        """Keep the stream open until it is cancelled."""
        async with self.client.stream("GET", "/events", timeout=None) as answer:
            assert answer.status_code == 200, answer.status_code
            async for _ in answer.aiter_raw():
                pass

    async def _page(self, path: str) -> None:
        found = re.search(r'name="form" value="([^"]*)"', (await self.client.get(path)).text)
        assert found is not None
        self.token = found[1]


@dataclass(kw_only=True)
class Times:
    """Milliseconds of requests by kind; `errors` counts statuses nobody wanted."""

    by_kind: dict[str, list[float]] = field(default_factory=dict)
    errors: int = 0

    def row(self, load: str, kind: str) -> dict[str, Cell]:
        """One row of the table."""
        times = self.by_kind[kind]
        return {
            "load": load,
            "request": kind,
            "requests": len(times),
            "p50 ms": statistics.median(times),
            "p95 ms": percentile(times, 0.95),
            "max ms": max(times),
        }


def measure() -> Section:
    """A server of its own process, with the built-in agents and everything on disk."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, process):
        calm, flooded, held, memory = asyncio.run(_load(address, process))
    rows = [calm.row("50 / s", kind) for kind in calm.by_kind]
    rows += [flooded.row(f"and {ATTEMPTS:,} streams tried", kind) for kind in flooded.by_kind]
    targets = [
        *(_p95(f"{load}: p95 ms of {kind}", times.by_kind[kind]) for load, times in
          (("50 a second", calm), ("beside the flood", flooded)) for kind in times.by_kind),
        Target(name="errors", value=calm.errors + flooded.errors, bound=0),
        Target(name="memory MB", value=memory, bound=MEMORY_MB),
        Target(name="streams held of those tried", value=held, bound=60),
    ]  # fmt: skip
    about = f"{VISITORS} open conversations with a stream each, {A_SECOND} requests a second for {SECONDS} s"
    return Section(name="web", about=about, tables={"requests": rows}, targets=targets)


def _p95(name: str, times: Sequence[float]) -> Target:
    return Target(name=name, value=percentile(times, 0.95), bound=P95_MS)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A server in a process of its own: its address, its number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "storage": {"url": f"sqlite:///{folder}/cafi.db"},
        "sessions": {"secret_file": f"{folder}/secret.json", "inbox_key_file": f"{folder}/inbox.key"},
        "web": {"port": port, "trusted_proxies": ["127.0.0.1"]},
    }
    (folder / "cafi.yaml").write_text(yaml.safe_dump(settings))
    options = ["--config", str(folder / "cafi.yaml"), "--agents", "builtin"]
    command = [sys.executable, "-c", "from bots.cli import app; app()", "run", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("CAFI is at")
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()


async def _load(address: str, process: int) -> tuple[Times, Times, int, float]:
    visitors = [Visitor(number=number, client=visiting(address, number)) for number in range(VISITORS)]
    for at in range(0, VISITORS, 10):
        await asyncio.gather(*(one.begin() for one in visitors[at : at + 10]))
    streams = [asyncio.create_task(one.listen()) for one in visitors]
    await asyncio.sleep(1)
    calm = await _requests(visitors)
    flood = asyncio.create_task(_flood(address))
    flooded = await _requests(visitors)
    held = await flood
    memory = resident_mb(process, "VmHWM")
    for task in streams:
        task.cancel()
    await asyncio.gather(*streams, return_exceptions=True)
    await asyncio.gather(*(one.client.aclose() for one in visitors))
    return calm, flooded, held, memory


def visiting(address: str, number: int) -> httpx.AsyncClient:
    """A visitor's browser, at an address of their own."""
    headers = {"X-Forwarded-For": f"198.51.{number // 250}.{number % 250 + 1}"}
    return httpx.AsyncClient(base_url=address, headers=headers, timeout=30)


async def _requests(visitors: Sequence[Visitor]) -> Times:
    """Requests at even intervals, whoever is still waiting: a third each asks, reloads, reads."""
    times, running = Times(), []
    turns = itertools.cycle(visitors)
    begun = time.perf_counter()
    for number in range(A_SECOND * SECONDS):
        await asyncio.sleep(max(0.0, begun + number / A_SECOND - time.perf_counter()))
        visitor = next(turns)
        kind = ("ask", "look", "read")[number % 3]
        running.append(asyncio.create_task(_timed(times, kind, getattr(visitor, kind))))
    await asyncio.gather(*running)
    return times


async def _timed(times: Times, kind: str, request: Callable[[], Awaitable[int]]) -> None:
    begun = time.perf_counter()
    status = await request()
    times.by_kind.setdefault(kind, []).append((time.perf_counter() - begun) * 1000)
    times.errors += status not in {200, 303}


async def _flood(address: str) -> int:
    """Open streams without end from one address and session, idle; how many are held at the same time."""
    host, port = address.removeprefix("http://").split(":")
    session = "A" * 43
    request = (
        f"GET /events HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-For: 203.0.113.5\r\nCookie: cafi-session={session}\r\n\r\n"
    ).encode()
    held: list[asyncio.StreamWriter] = []

    async def attempt() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        head = await reader.read(200)
        if b" 200 " in head and b"content-length" not in head:
            held.append(writer)
        else:
            writer.close()

    for _ in range(ATTEMPTS // AT_A_TIME):
        await asyncio.gather(*(attempt() for _ in range(AT_A_TIME)), return_exceptions=True)
        await asyncio.sleep(SECONDS / (ATTEMPTS / AT_A_TIME) / 2)
    for writer in held:
        writer.close()
    return len(held)


def resident_mb(process: int, which: str = "VmRSS") -> float:
    """The memory of a process as the system counts it: what it has now, or the most it has had so far (`VmHWM`)."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"{which}:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found and os.name == "posix" else 0.0
