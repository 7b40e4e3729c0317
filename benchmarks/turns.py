"""One turn of each kind, alone, against a model with a set latency: calls, tokens, wall and CPU time."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.mock_server import LoggedCall
from benchmarks.report import Cell, Section, Target
from benchmarks.rig import BASE_MS, OUTCOMES, PER_TOKEN_MS, Meter, MockServer, Rig, checked, rig

ROUNDS = 3
LABELS = {
    "accepted": "accepted, cited",
    "general": "accepted, general",
    "warning": "warning",
    "refined": "rejected, refined",
    "always_rejected": "always rejected",
    "invalid_citation": "invalid citation",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """One turn: its calls, and its times in seconds."""

    calls: tuple[LoggedCall, ...]
    wall: float
    cpu: float

    @property
    def ratio(self) -> float:
        """Wall time over the time of the first agent call, as the server saw it."""
        draft = next(call for call in self.calls if call.form == "draft")
        return self.wall / (draft.end - draft.start)


def depth(calls: Sequence[LoggedCall]) -> int:
    """The longest chain of calls each of which began after the one before had ended."""
    longest: list[tuple[float, int]] = []
    for call in sorted(calls, key=lambda call: call.start):
        before = max((length for end, length in longest if end <= call.start), default=0)
        longest.append((call.end, before + 1))
    return max((length for _, length in longest), default=0)


def measure(server: MockServer) -> Section:
    """Every kind of turn, the median of some rounds."""
    with rig(server) as bench:
        server.reset(script="accepted", base_ms=0, per_token_ms=0)
        for _ in range(3):
            checked(bench.run(bench.turn()), "accepted")
        found = {script: [_timed(bench, script) for _ in range(ROUNDS)] for script in OUTCOMES}
    rows = [_row(script, timed) for script, timed in found.items()]
    ratios = {script: statistics.median(one.ratio for one in timed) for script, timed in found.items()}
    accepting = [call for call in found["accepted"][0].calls if call.form == "verdict"]
    return Section(
        name="turns",
        about=f"{BASE_MS:.0f} ms + {PER_TOKEN_MS:.0f} ms a completion token, one at a time, median of {ROUNDS}",
        tables={
            "turns": rows,
            "accepted turn, call by call": [_call_row(one) for one in found["accepted"][0].calls],
        },
        targets=(
            Target(name="accepted: wall / agent call", value=ratios["accepted"], bound=1.6),
            Target(name="accepted, general: wall / agent call", value=ratios["general"], bound=1.6),
            Target(name="accepted: sequential calls", value=depth(found["accepted"][0].calls), bound=2),
            Target(name="refined: wall / agent call", value=ratios["refined"], bound=3.6),
            Target(
                name="always rejected: sequential calls",
                value=depth(found["always_rejected"][0].calls),
                bound=6,
            ),
            Target(
                name="accepting judge: completion tokens",
                value=max(call.completion_tokens for call in accepting),
                bound=30,
            ),
        ),
    )


def _timed(bench: Rig, script: str) -> Timed:
    bench.server.reset(script=script, base_ms=BASE_MS, per_token_ms=PER_TOKEN_MS)
    with Meter(bench.server) as meter:
        checked(bench.run(bench.turn()), script)
    return Timed(calls=tuple(bench.server.calls()), wall=meter.spent.wall, cpu=meter.spent.cpu)


def _row(script: str, timed: Sequence[Timed]) -> dict[str, Cell]:
    calls = timed[0].calls
    draft = next(call for call in calls if call.form == "draft")
    return {
        "turn": LABELS[script],
        "sequential": depth(calls),
        "calls": len(calls),
        "prompt tokens": sum(call.prompt_tokens for call in calls),
        "completion tokens": sum(call.completion_tokens for call in calls),
        "agent tokens": draft.completion_tokens,
        "wall s": statistics.median(one.wall for one in timed),
        "wall / agent call": statistics.median(one.ratio for one in timed),
        "CPU ms / call": statistics.median(one.cpu for one in timed) * 1000 / len(calls),
    }


def _call_row(call: LoggedCall) -> dict[str, Cell]:
    return {
        "role": call.model,
        "prompt tokens": call.prompt_tokens,
        "of these in the static first message": call.static_tokens,
        "completion tokens": call.completion_tokens,
        "ms": (call.end - call.start) * 1000,
    }
