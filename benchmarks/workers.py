"""Receivers and workers on PostgreSQL beside one process on SQLite, all real: `python -m benchmarks.workers`.

Everything shares the machine's cores: the server, the stand-in for Telegram, the mock model, and who measures. Figures of one
run are to be compared with each other, hardly with those of another machine or hour.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS, ROOT, MockServer, mock_server
from chaos.cluster import Cluster, cluster
from chaos.crowd import Crowd
from chaos.deployment import DATABASE, Deployment, deployed
from chaos.tally import tally
from chaos.telegram_server import BalancedProcess
from tests.killing import Cafi

CHATS, EACH, TURN_SECONDS = 200, 5, 2.0
CALLS_A_TURN = 2
RATE, RATE_MESSAGES = 20.0, 400
FLOOD, BESIDE_CHATS, BESIDE_EACH, BESIDE_RATE = 3000, 40, 3, 8.0
PATIENCE_SECONDS = 180.0
MODEL = "benchmarks.mock_server"
_MANY = {"CAFI_SPENDING__TURNS_AT_ONCE": "1000"}  # the processes are measured, not the bound
_TICKS = os.sysconf("SC_CLK_TCK")
_NOTED = """
CREATE TABLE noted (job bigint, kind text, at timestamptz);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN INSERT INTO noted VALUES (NEW.job_id, NEW.type::text, clock_timestamp()); RETURN NEW; END $$;
CREATE TRIGGER note AFTER INSERT ON procrastinate_events FOR EACH ROW EXECUTE FUNCTION note();
"""
_STARTS = """
SELECT extract(epoch FROM min(s.at) - min(d.at)) FROM noted d JOIN noted s USING (job)
 WHERE d.kind = 'deferred' AND s.kind = 'started' GROUP BY job
"""


@dataclass(kw_only=True)
class Setting:
    """Something that answers on Telegram. `parts`: the processes of each, by name."""

    name: str
    telegram: BalancedProcess
    model: MockServer
    parts: Mapping[str, Sequence[int]]
    database: Cluster | None = None
    spent: dict[str, float] = field(default_factory=dict)

    def begin(self) -> None:
        """Processor time counts from now on."""
        self.spent = self._seconds()

    def cpu(self) -> dict[str, float]:
        """Seconds of each part since then."""
        return {part: seconds - self.spent[part] for part, seconds in self._seconds().items()}

    def _seconds(self) -> dict[str, float]:
        found = {part: sum(map(_cpu, pids)) for part, pids in self.parts.items()}
        if self.database is not None:
            found["PostgreSQL"] = sum(map(_cpu, self.database.processes))
        return found | {"Telegram's stand-in": _cpu(self.telegram.pid), "mock model": self.model.load()[0]}


def _cpu(pid: int) -> float:
    """Seconds of a process, and of its children that have ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS
    return 0.0


@asynccontextmanager
async def one_process(folder: Path) -> AsyncIterator[Setting]:
    """`cafi run` on SQLite."""
    with mock_server() as model:
        async with BalancedProcess(folder / "calls.jsonl") as telegram:
            environment = {
                "CAFI_AGENTS": "llm",
                "CAFI_MODELS__BASE_URL": model.base_url,
                "CAFI_TELEGRAM__TOKEN": telegram.token,
                "CAFI_TELEGRAM__BASE_URL": telegram.base_url,
                "CAFI_SESSIONS__WAITING_MESSAGES": "10000",
                "CAFI_SESSIONS__MESSAGES_A_MINUTE": "100000",
                **_MANY,
            }
            cafi = Cafi(folder, environment, kb=ROOT / "knowledge_base" / "schizophrenia")
            pid = (await cafi.start()).pid
            try:
                parts = {"CAFI": [pid]}
                yield Setting(name="one process, SQLite", telegram=telegram, model=model, parts=parts)
            finally:
                await cafi.aclose()


@asynccontextmanager
async def two_workers(folder: Path) -> AsyncIterator[tuple[Setting, Deployment]]:
    """A receiver and two workers on PostgreSQL."""
    with cluster() as servers:
        kb = ROOT / "knowledge_base" / "schizophrenia"
        async with deployed(
            folder, servers, webhook=False, environment=_MANY, kb=kb, model_server=MODEL, receivers=1
        ) as made:
            servers.server.execute(_NOTED, DATABASE)
            parts = {"receiver": [one.pid for one in made.receivers], "workers": [one.pid for one in made.workers]}
            yield (
                Setting(
                    name="receiver and two workers, PostgreSQL",
                    telegram=made.telegram,
                    model=made.model,
                    parts=parts,
                    database=servers,
                ),
                made,
            )


async def burst(setting: Setting) -> dict[str, Cell]:
    """A thousand messages of two hundred chats at once; the ideal is a chat's turns one after the other."""
    crowd = await _crowd(setting, CHATS, 10_000)
    setting.begin()
    begun = time.monotonic()
    await crowd.write(EACH, 100_000.0, random.Random(1))
    written = time.monotonic()
    await _answered(crowd)
    wall, cpu = time.monotonic() - begun, setting.cpu()
    counts = tally(crowd.said, crowd.shown(), {})
    last: dict[int, float] = {}
    for one in crowd.shown():
        if one.number is not None:
            last[one.chat] = one.at - begun
    ideal, messages = EACH * TURN_SECONDS, CHATS * EACH
    ends = sorted(last.values()) or [0.0]
    ours = sum(seconds for part, seconds in cpu.items() if part in setting.parts)
    return {
        "": setting.name,
        "ideal s": ideal,
        "written in s": written - begun,
        "median s": statistics.median(ends),
        "last s": ends[-1],
        "median over ideal %": (statistics.median(ends) / ideal - 1) * 100,
        "% of the ideal": 100 * ideal / statistics.mean(ends),
        "lost": counts.lost,
        "doubled": counts.doubled,
        "out of order": counts.out_of_order,
        "ours, CPU ms / message": ours / messages * 1000,
        "PostgreSQL, CPU ms / message": cpu.get("PostgreSQL", 0.0) / messages * 1000,
        "stand-ins, CPU ms / message": (cpu["Telegram's stand-in"] + cpu["mock model"]) / messages * 1000,
        "of two cores %": sum(cpu.values()) / wall / 2 * 100,
    }


async def steady(setting: Setting, made: Deployment, rate: float) -> dict[str, Cell]:
    """So many messages a second: how long each waits until a worker has begun it, as the database's own clock sees it."""
    crowd = await _crowd(setting, RATE_MESSAGES, 20_000)
    made.asked("TRUNCATE noted")
    setting.begin()
    await crowd.write(1, rate, random.Random(2))
    await _answered(crowd)
    cpu = setting.cpu()
    waits = sorted(float(seconds) * 1000 for (seconds,) in made.asked(_STARTS) or ()) or [0.0]
    took = sorted(tally(crowd.said, crowd.shown(), {}).took.values())
    return {
        "messages": len(crowd.said),
        "enqueue to start ms, median": statistics.median(waits),
        "enqueue to start ms, p95": waits[int(len(waits) * 0.95) - 1],
        "slowest ms": waits[-1],
        "answer s, median": statistics.median(took),
        "answer s, p95": took[int(len(took) * 0.95) - 1],
        **{f"{part}, CPU ms / message": seconds / len(crowd.said) * 1000 for part, seconds in cpu.items()},
    }


async def beside_flood(setting: Setting, made: Deployment) -> list[dict[str, Cell]]:
    """Forty chats write; first alone, then beside a chat with three thousand messages in the queue."""
    rows: list[dict[str, Cell]] = []
    crowd = await _crowd(setting, BESIDE_CHATS + 1, 30_000)
    *people, flooder = crowd.people
    for flood in (0, FLOOD):
        if flood:
            other = Crowd(telegram=setting.telegram, questions=QUESTIONS, people=[flooder], first=100_000)
            await other.write(flood, 100_000.0, random.Random(3))
            end = time.monotonic() + PATIENCE_SECONDS
            while (made.waiting() or 0) < flood * 0.95 and time.monotonic() < end:
                await asyncio.sleep(0.2)
        made.asked("TRUNCATE noted")
        before = set(crowd.said)
        setting.begin()
        await crowd.write(BESIDE_EACH, BESIDE_RATE, random.Random(4), people)
        end = time.monotonic() + PATIENCE_SECONDS
        mine = set(crowd.said) - before
        while time.monotonic() < end and not mine <= set(_took(crowd)):
            await asyncio.sleep(0.1)
        cpu = setting.cpu()
        took = sorted(seconds for number, seconds in _took(crowd).items() if number in mine) or [0.0]
        rows.append(
            {
                "queued in one chat": (made.waiting() or 0) if flood else 0,
                "answered of others": len(took),
                "of": len(mine),
                "answer s, median": statistics.median(took),
                "answer s, p95": took[int(len(took) * 0.95) - 1],
                "PostgreSQL, CPU ms / message": cpu["PostgreSQL"] / len(mine) * 1000,
            }
        )
    return rows


def _took(crowd: Crowd) -> dict[int, float]:
    """Seconds to each answer."""
    return dict(tally(crowd.said, crowd.shown(), {}).took)


async def _crowd(setting: Setting, count: int, first: int) -> Crowd:
    setting.model.reset(base_ms=0.0, per_token_ms=0.0)
    crowd = Crowd(telegram=setting.telegram, questions=QUESTIONS, first=first)
    await crowd.agree(count)
    setting.model.reset(base_ms=TURN_SECONDS / CALLS_A_TURN * 1000, per_token_ms=0.0)
    return crowd


async def _answered(crowd: Crowd) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and len({one.number for one in crowd.shown()} & set(crowd.said)) < len(crowd.said):
        await asyncio.sleep(0.1)


async def bursts(folder: Path) -> Section:
    """The burst, on one process and on workers."""
    async with one_process(folder) as alone:
        rows = [await burst(alone)]
    workers = folder / "workers"
    workers.mkdir()
    async with two_workers(workers) as (setting, _):
        rows.append(await burst(setting))
    one, many = rows
    targets = [
        Target(name="on PostgreSQL: % of the ideal", value=float(many["% of the ideal"]), bound=85, kind="at least"),
        Target(name="on PostgreSQL: median over the ideal, %", value=float(many["median over ideal %"]), bound=20),
        Target(name="on PostgreSQL: out of order", value=float(many["out of order"]), bound=0),
        Target(name="ours on SQLite, CPU ms a message", value=float(one["ours, CPU ms / message"]), bound=9),
        Target(name="ours on PostgreSQL, CPU ms a message", value=float(many["ours, CPU ms / message"]), bound=12),
    ]
    about = f"{CHATS * EACH} messages of {CHATS} chats at once, turns of {TURN_SECONDS:.0f} s"
    return Section(name="burst", about=about, tables={"bursts": rows}, targets=targets)


async def steadily(folder: Path, rate: float = RATE) -> Section:
    """So many a second."""
    async with two_workers(folder) as (setting, made):
        row = await steady(setting, made, rate)
    target = Target(name="enqueue to start, p95, ms", value=float(row["enqueue to start ms, p95"]), bound=50)
    return Section(name="steady", about=f"{rate:.0f} messages a second", tables={"steady": [row]}, targets=[target])


async def flooded(folder: Path) -> Section:
    """One chat with thousands in the queue."""
    async with two_workers(folder) as (setting, made):
        rows = await beside_flood(setting, made)
    alone, beside = (float(row["answer s, median"]) for row in rows)
    target = Target(name="others: median slower by %", value=(beside / alone - 1) * 100, bound=10)
    return Section(name="flood", about=f"{FLOOD} queued in one chat", tables={"others": rows}, targets=[target])


PARTS = {"burst": bursts, "steady": steadily, "flood": flooded}


def main() -> int:
    """Measure and print; missed targets are shown and do not change the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--rate", type=float, default=RATE, help="messages a second of the steady part")
    options = parser.parse_args()
    parts = PARTS | {"steady": partial(steadily, rate=options.rate)}
    found = [asyncio.run(_measured(part)) for name, part in parts.items() if options.only in {None, name}]
    if options.json:
        print(json.dumps({one.name: one.as_document() for one in found}, indent=2))
    else:
        print("\n".join(line for one in found for line in one.as_lines()))
    return 0


async def _measured(part: Callable[[Path], Awaitable[Section]]) -> Section:
    with TemporaryDirectory(prefix="cafi-workers-") as folder:
        return await part(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
