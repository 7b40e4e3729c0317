"""Processor time of the engine's process for one model call, with a model that answers at once."""

from __future__ import annotations

import cProfile
import pstats
import statistics
import sys
from time import process_time

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import OUTCOMES, MockServer, Rig, checked, rig
from benchmarks.turns import LABELS

WARM_UP, TURNS, ROUNDS = 10, 20, 3
CHAT_TURNS = 5


def measure(server: MockServer, *, profile: bool = False) -> Section:
    """Every kind of turn in order, then a conversation; `profile` lists the costliest functions."""
    with rig(server) as bench:
        rows = [_row(LABELS[script], *_turns(bench, script)) for script in OUTCOMES]
        rows.append(_row(f"chat of {CHAT_TURNS} turns", *_chats(bench)))
        if profile:
            _profile(bench)
    worst = max(float(row["CPU ms / call"]) for row in rows)
    return Section(
        name="cpu",
        about=f"the model answers at once, median of {ROUNDS} rounds of {TURNS} turns",
        tables={"processor time of the engine's process": rows},
        targets=(Target(name="CPU ms / call, worst kind of turn", value=worst, bound=2.5),),
    )


def _turns(bench: Rig, script: str) -> tuple[float, list[float]]:
    """Calls a turn, and seconds a turn in each round."""
    bench.server.reset(script=script, base_ms=0, per_token_ms=0)
    bench.run(_repeat(bench, script, WARM_UP))
    bench.server.reset()
    seconds = [_cpu(bench, script, TURNS) / TURNS for _ in range(ROUNDS)]
    return len(bench.server.calls()) / TURNS / ROUNDS, seconds


def _chats(bench: Rig) -> tuple[float, list[float]]:
    bench.server.reset(script="accepted", base_ms=0, per_token_ms=0)
    chats = TURNS // CHAT_TURNS
    seconds = []
    for _ in range(ROUNDS):
        spent = 0.0
        for _ in range(chats):
            begun = process_time()
            turns = bench.run(bench.chat(CHAT_TURNS))
            spent += process_time() - begun
            for turn in turns:
                checked(turn, "accepted")
        seconds.append(spent / TURNS)
    return len(bench.server.calls()) / TURNS / ROUNDS, seconds


def _cpu(bench: Rig, script: str, turns: int) -> float:
    begun = process_time()
    bench.run(_repeat(bench, script, turns))
    return process_time() - begun


async def _repeat(bench: Rig, script: str, turns: int) -> None:
    for _ in range(turns):
        checked(await bench.turn(), script)


def _row(name: str, calls: float, seconds: list[float]) -> dict[str, Cell]:
    return {
        "turn": name,
        "calls / turn": calls,
        "CPU ms / turn": statistics.median(seconds) * 1000,
        "CPU ms / call": statistics.median(seconds) * 1000 / calls,
        "lowest": min(seconds) * 1000 / calls,
        "highest": max(seconds) * 1000 / calls,
    }


def _profile(bench: Rig) -> None:
    bench.server.reset(script="accepted", base_ms=0, per_token_ms=0)
    profiler = cProfile.Profile()
    profiler.enable()
    bench.run(_repeat(bench, "accepted", 100))
    profiler.disable()
    for order in ("tottime", "cumulative"):
        pstats.Stats(profiler, stream=sys.stderr).strip_dirs().sort_stats(order).print_stats(45)
