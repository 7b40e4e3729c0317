"""`python -m benchmarks`: what a turn costs. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial

from benchmarks import attack, burst, concurrency, cpu, guessing, memory, sections, startup, tokens, turns, web
from benchmarks.report import Section
from benchmarks.rig import MockServer, mock_server

Part = Callable[[MockServer], Section]


def main() -> int:
    """Read the options, measure, print. Missed targets are shown and do not change the exit code."""
    parts: dict[str, Part] = {
        "turns": turns.measure,
        "cpu": cpu.measure,
        "concurrency": concurrency.measure,
        "burst": burst.measure,
        "tokens": tokens.measure,
        "startup": lambda server: startup.measure(),
        "memory": lambda server: memory.measure(),
        "web": lambda server: web.measure(),
        "attack": lambda server: attack.measure(),
        "guessing": lambda server: guessing.measure(),
        "sections": lambda server: sections.measure(),
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default=",".join(parts), help=f"some of {', '.join(parts)}, with commas between")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on standard output")
    parser.add_argument("--profile", action="store_true", help="list the costliest functions in the part cpu")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := sorted(set(chosen) - set(parts)):
        parser.error(f"--only: no such part: {', '.join(unknown)}")
    if options.profile:
        parts["cpu"] = partial(cpu.measure, profile=True)
    # A developer's own settings must not change what is measured.
    for name in [name for name in os.environ if name.startswith("CAFI_")]:
        del os.environ[name]
    measured = _measured({name: parts[name] for name in chosen})
    if options.json:
        print(json.dumps({section.name: section.as_document() for section in measured}, indent=2))
    else:
        print("\n".join(line for section in measured for line in section.as_lines()))
    return 0


def _measured(parts: Mapping[str, Part]) -> list[Section]:
    measured = []
    for name, part in parts.items():
        begun = time.monotonic()
        print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
        with mock_server() as server:
            measured.append(part(server))
        print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr)
    return measured


if __name__ == "__main__":
    sys.exit(main())
