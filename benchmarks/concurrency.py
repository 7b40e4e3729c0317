"""Many conversations at a time in one process, against what there could be if none waited for another."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import BASE_MS, PER_TOKEN_MS, Meter, MockServer, Rig, Spent, rig, went_wrong
from engine import Turn

TURNS = 5
CHATS = (50, 200)
ROUNDS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What came of some chats: seconds of each, errors, model calls, and what they took together."""

    chats: tuple[float, ...]
    errors: int
    calls: int
    late: float
    spent: Spent
    collecting: float


def measure(server: MockServer) -> Section:
    """One chat alone, then the loads, each after a warm-up that opens its connections.

    Chats that begin all at once stay in step, and each waits for all of them in every turn. That is one
    measurement, of total wall time; in the other the beginnings are spread over the length of one turn, and the
    throughput is chats over the mean length of a chat.
    """
    rows: list[dict[str, Cell]] = []
    targets = []
    with rig(server) as bench:
        _load(bench, 1, turns=2)
        alone = statistics.median(_load(bench, 1).chats[0] for _ in range(ROUNDS))
        for chats in CHATS:
            _load(bench, chats, turns=1)
            for name, spread in (("at once", 0.0), ("spread", alone / TURNS)):
                rounds = [_row(name, _load(bench, chats, spread=spread), alone) for _ in range(ROUNDS)]
                rows += rounds
                targets += _targets(f"{chats} chats {name}", rounds)
    about = (
        f"accepted chats of {TURNS} turns without pauses, {BASE_MS:.0f} ms + {PER_TOKEN_MS:.0f} ms "
        f"a completion token; one chat alone takes {alone:.2f} s"
    )
    return Section(name="concurrency", about=about, tables={"chats": rows}, targets=targets)


def _load(bench: Rig, chats: int, *, turns: int = TURNS, spread: float = 0.0) -> Load:
    bench.server.reset(script="accepted", base_ms=BASE_MS, per_token_ms=PER_TOKEN_MS)
    collector = _Collector()
    with Meter(bench.server) as meter, collector:
        done = bench.run(_all(bench, chats, turns, spread))
    calls = bench.server.calls()
    return Load(
        chats=tuple(seconds for seconds, _ in done),
        errors=sum(_errors(found, turns) for _, found in done),
        calls=len(calls),
        late=statistics.mean(call.late for call in calls) if calls else 0.0,
        spent=meter.spent,
        collecting=collector.seconds,
    )


async def _all(bench: Rig, chats: int, turns: int, spread: float) -> list[tuple[float, Sequence[Turn] | Exception]]:
    async def one(place: int) -> tuple[float, Sequence[Turn] | Exception]:
        await asyncio.sleep(spread * place / chats)
        begun = time.perf_counter()
        found: Sequence[Turn] | Exception
        try:
            found = await bench.chat(turns)
        except Exception as error:  # counted, so that one broken chat does not end the measurement
            found = error
        return time.perf_counter() - begun, found

    return await asyncio.gather(*(one(place) for place in range(chats)))


def _errors(found: Sequence[Turn] | Exception, turns: int) -> int:
    if isinstance(found, Exception):
        return turns
    return sum(went_wrong(turn, "accepted") is not None for turn in found)


def _row(start: str, load: Load, alone: float) -> dict[str, Cell]:
    spent, chats = load.spent, len(load.chats)
    taken = spent.wall if start == "at once" else statistics.mean(load.chats)
    return {
        "chats": chats,
        "start": start,
        "turns / s": chats * TURNS / taken,
        "ideal": chats * TURNS / alone,
        "% of ideal": alone / taken * 100,
        "errors": load.errors,
        "CPU ms / call": spent.cpu * 1000 / max(1, load.calls),
        "engine CPU %": spent.cpu / spent.wall * 100,
        "of it collecting %": load.collecting / spent.cpu * 100,
        "waiting for a core %": spent.waited / spent.wall * 100,
        "server CPU %": spent.server_cpu / spent.wall * 100,
        "others CPU %": spent.others / spent.wall * 100,
        "server late ms": load.late * 1000,
        "new connections": spent.connections,
    }


def _targets(name: str, rounds: Sequence[dict[str, Cell]]) -> list[Target]:
    share = statistics.median(float(row["% of ideal"]) for row in rounds)
    errors = sum(int(row["errors"]) for row in rounds)
    return [
        Target(name=f"{name}: % of ideal throughput", value=share, bound=95, kind="at least"),
        Target(name=f"{name}: errors", value=errors, bound=0),
    ]


class _Collector:
    """Seconds that Python's garbage collector takes while the block runs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begun = 0.0

    def __enter__(self) -> _Collector:
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, details: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.perf_counter()
        else:
            self.seconds += time.perf_counter() - self._begun
