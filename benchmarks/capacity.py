"""What so many chats a day need, calculated from what was measured: `python -m benchmarks.capacity --chats 1000000`.

Every input is an option, and its default stands in docs/scaling.md with where it comes from. Nothing is measured here.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass, fields

from benchmarks.report import Cell, Section

DAY_SECONDS = 86_400


@dataclass(frozen=True, kw_only=True)
class Load:
    """What people do, what a message costs, and what is paid. `peak`: the busiest hour over the mean of the day.

    `prompt_price`, `cached_price`, `completion_price`: for a million tokens, in any currency. `cached`: the share of prompt
    tokens that is static and stands first, and that a provider's cache may serve. `cpu_ms`: of a worker, `receiver_ms`, of
    the server: `server_ms`; for one message. `usable`: the share of a core that may be used at the peak.
    """

    chats: float = 1_000_000
    messages: float = 5
    peak: float = 3
    calls: float = 3
    prompt_tokens: float = 7_130
    completion_tokens: float = 152
    prompt_price: float = 0.15
    cached_price: float = 0.075
    completion_price: float = 0.60
    cached: float = 0.0
    turn_seconds: float = 4
    turns_at_once: float = 50
    cpu_ms: float = 60
    receiver_ms: float = 4
    server_ms: float = 7
    usable: float = 0.7
    transactions: float = 17
    wal_kb: float = 15
    chat_kb: float = 5.5
    bloat: float = 2
    connections: float = 16
    telegram_a_second: float = 30


def needed(load: Load) -> dict[str, Cell]:
    """What comes of it."""
    a_day = load.chats * load.messages
    mean = a_day / DAY_SECONDS
    peak = mean * load.peak
    prompts, completions = a_day * load.prompt_tokens / 1e6, a_day * load.completion_tokens / 1e6
    price = load.cached * load.cached_price + (1 - load.cached) * load.prompt_price
    cost = prompts * price + completions * load.completion_price
    by_cpu = peak * load.cpu_ms / 1000 / load.usable
    by_turns = peak * load.turn_seconds / load.turns_at_once
    workers = math.ceil(max(by_cpu, by_turns))
    return {
        "messages a day": a_day,
        "messages a second, mean": mean,
        "messages a second, peak": peak,
        "model calls a day": a_day * load.calls,
        "model calls a second, peak": peak * load.calls,
        "prompt tokens a day, million": prompts,
        "completion tokens a day, million": completions,
        "cost of models a day": cost,
        "cost of models for 1,000 chats": cost / load.chats * 1000,
        "turns at the same time, peak": peak * load.turn_seconds,
        "workers for processor time, one a core": by_cpu,
        "workers for turns at the same time": by_turns,
        "workers": workers,
        "receivers, cores": math.ceil(peak * load.receiver_ms / 1000 / load.usable),
        "PostgreSQL, cores": peak * load.server_ms / 1000 / load.usable,
        "transactions a second, peak": peak * load.transactions,
        "WAL a day, GB": a_day * load.wal_kb / 1024**2,
        "chats on disk, GB": load.chats * load.chat_kb * load.bloat / 1024**2,
        "connections to PostgreSQL": workers * load.connections,
        "Telegram bots": math.ceil(peak / load.telegram_a_second),
    }


def main() -> int:
    """Read the inputs, print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=(__doc__ or "").splitlines()[0])
    for field in fields(Load):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, default=field.default)
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = vars(parser.parse_args())
    as_json = given.pop("json")
    if min(given.values()) < 0 or not all(
        given[one] for one in ("chats", "usable", "turns_at_once", "telegram_a_second")
    ):
        parser.error("inputs are positive numbers")
    load = Load(**given)
    if as_json:
        print(json.dumps({"inputs": given, "calculated": needed(load)}, indent=2))
        return 0
    rows = [{"what": what, "calculated": value} for what, value in needed(load).items()]
    about = ", ".join(f"{name} {value:g}" for name, value in given.items())
    print("\n".join(Section(name="capacity", about=about, tables={"calculated, nothing measured": rows}).as_lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
