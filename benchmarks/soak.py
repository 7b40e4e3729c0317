"""Hours of quiet service on PostgreSQL: what grows that should not. `python -m benchmarks.soak --minutes 60`.

Five messages a second of people who come and go: every few minutes those who wrote are gone, their chats are made a day older in
the database, so that the next sweep erases them, and as many others begin. The figures of each process are looked at once in a
while. The first fifth of the time counts as warming up: growth is that of the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS
from benchmarks.workers import two_workers
from chaos.crowd import Crowd
from chaos.deployment import Deployment
from chaos.tally import tally

RATE, CHATS, CALL_MS = 5.0, 60, 500.0
LOOKS = 40
STAY_MINUTES = 6.0
"""How long people stay; the sweep is each ten minutes."""
_AGED = "WITH aged AS (UPDATE chats SET seen_hour = seen_hour - 25 RETURNING 1) SELECT count(*) FROM aged"
_SIZES = (
    "SELECT pg_database_size(current_database()), (SELECT count(*) FROM inbox), "
    "(SELECT count(*) FROM procrastinate_jobs), (SELECT count(*) FROM pg_stat_activity), (SELECT count(*) FROM chats)"
)


_WRITES = (
    "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') FROM pg_stat_database "
    "WHERE datname = current_database()"
)


_LARGEST = (
    "SELECT relname, pg_total_relation_size(oid) / 1024.0 AS kb FROM pg_class "
    "WHERE relkind IN ('r', 'm') ORDER BY kb DESC LIMIT 12"
)


def largest(made: Deployment) -> dict[str, float]:
    """The largest tables with their indexes, in kB."""
    return {str(name): float(size) for name, size in made.asked(_LARGEST) or ()}


def looked_at(made: Deployment, seconds: float) -> dict[str, Cell]:
    """Memory, threads, files and connections of our processes; size and rows of the database."""
    size, waiting, jobs, connections, chats = (made.asked(_SIZES) or [(0, 0, 0, 0, 0)])[0]
    row: dict[str, Cell] = {"minute": seconds / 60}
    for member in made.members:
        status = Path(f"/proc/{member.pid}/status").read_text(encoding="utf-8")
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        row[f"{member.name} MB"] = int(fields["VmRSS"].split()[0]) / 1024
        row[f"{member.name} files"] = len(list(Path(f"/proc/{member.pid}/fd").iterdir()))
        row[f"{member.name} threads"] = int(fields["Threads"])
    return row | {
        "database MB": size / 2**20,
        "waiting": waiting,
        "jobs": jobs,
        "connections": connections,
        "chats": chats,
    }


def grown(rows: Sequence[Mapping[str, Cell]], column: str) -> float:
    """By how many per cent a figure is higher in the last fifth than in the second, at the median."""
    fifth = max(1, len(rows) // 5)
    then = statistics.median(float(row[column]) for row in rows[fifth : 2 * fifth])
    now = statistics.median(float(row[column]) for row in rows[-fifth:])
    return (now / then - 1) * 100 if then else 0.0


async def measure(minutes: float) -> Section:
    """Write for so long, look at everything, count what came of it."""
    with TemporaryDirectory(prefix="cafi-soak-") as folder:
        async with two_workers(Path(folder)) as (setting, made):
            setting.model.reset(base_ms=0.0, per_token_ms=0.0)
            crowd = Crowd(telegram=setting.telegram, questions=QUESTIONS, first=10_000)
            await crowd.agree(CHATS)
            setting.model.reset(base_ms=CALL_MS, per_token_ms=0.0)
            rows = [dict(looked_at(made, 0.0))]
            written = made.asked(_WRITES)
            setting.begin()
            tables_then: dict[str, float] = {}
            begun, dice = time.monotonic(), random.Random(5)
            came = begun
            for look in range(1, LOOKS + 1):
                due = begun + minutes * 60 * look / LOOKS
                while time.monotonic() < due:
                    await crowd.ask(dice.choice(crowd.people))
                    await asyncio.sleep(dice.expovariate(RATE))
                if time.monotonic() - came > STAY_MINUTES * 60:
                    await _others_come(crowd, made)
                    came = time.monotonic()
                made.model.reset()  # its record of calls would grow
                rows.append(looked_at(made, time.monotonic() - begun))
                if look == LOOKS * 2 // 5:
                    tables_then = largest(made)
            tables_now = largest(made)
            await _answered(made)
            await asyncio.sleep(1)
            counts, cpu = tally(crowd.said, crowd.shown(), {}), setting.cpu()
            a_message = _a_message(written, made.asked(_WRITES), cpu, counts.messages)
    names = [one.name for one in made.members]
    wrong = counts.lost + counts.doubled + counts.out_of_order
    about = f"{counts.messages} messages of {CHATS} chats in {minutes:.0f} minutes"
    tables: dict[str, Sequence[Mapping[str, Cell]]] = {
        "looks": rows[:: max(1, len(rows) // 10)],
        "a message": [a_message],
        "tables": _tables(tables_then, tables_now),
    }
    return Section(name="soak", about=about, tables=tables, targets=_targets(rows, names, wrong))


async def _others_come(crowd: Crowd, made: Deployment) -> None:
    """Everybody goes, and a day passes for their chats alone; as many others agree."""
    await _answered(made)
    made.asked(_AGED)
    await crowd.agree(CHATS)
    del crowd.people[:-CHATS]


async def _answered(made: Deployment) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end and made.waiting() != 0:
        await asyncio.sleep(0.5)


def _tables(then: Mapping[str, float], now: Mapping[str, float]) -> list[dict[str, Cell]]:
    """What takes the room, at two fifths of the time and at its end; the first ones grew the most."""
    grown = sorted(now, key=lambda name: then.get(name, 0.0) - now[name])
    return [{"table": name, "kB then": then.get(name, 0.0), "kB now": now[name]} for name in grown]


def _a_message(
    before: Sequence[Sequence[Any]] | None,
    after: Sequence[Sequence[Any]] | None,
    cpu: Mapping[str, float],
    messages: int,
) -> dict[str, Cell]:
    """What one message costs; the questions of whoever looks are among the transactions."""
    (transactions, wal), (transactions_then, wal_then) = (after or [(0, 0)])[0], (before or [(0, 0)])[0]
    row: dict[str, Cell] = {
        "transactions": (transactions - transactions_then) / messages,
        "WAL kB": float(wal - wal_then) / messages / 1024,
    }
    return row | {f"{part}, CPU ms": seconds / messages * 1000 for part, seconds in cpu.items()}


def _targets(rows: Sequence[Mapping[str, Cell]], names: Sequence[str], wrong: int) -> list[Target]:
    columns = [f"{name} {what}" for name in names for what in ("MB", "files", "threads")]
    grow = [
        Target(name=f"{column}: grown by %", value=grown(rows, column), bound=5)
        for column in (*columns, "connections", "database MB")
    ]
    return [Target(name="lost, doubled or out of order", value=wrong, bound=0), *grow]


def main() -> int:
    """Run for so long and print; missed targets are shown and do not change the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = asyncio.run(measure(options.minutes))
    print(json.dumps(found.as_document(), indent=2) if options.json else "\n".join(found.as_lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
