"""`python -m chaos`: what goes wrong at night, done on purpose. See docs/howto/chaos.md."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence

from chaos.fault import Fault
from chaos.laboratory import tried
from chaos.outside_faults import OUTSIDE_FAULTS
from chaos.process_faults import PROCESS_FAULTS
from chaos.report import as_document, as_lines
from chaos.server_faults import SERVER_FAULTS

FAULTS: Sequence[Fault] = (*PROCESS_FAULTS, *SERVER_FAULTS, *OUTSIDE_FAULTS)


def main() -> int:
    """Try what is asked for; 1 when the law is broken, 2 for what cannot be asked."""
    names = [one.name for one in FAULTS]
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each fault (default: 3)")
    parser.add_argument("--fault", action="append", choices=names, metavar="NAME", help=f"some of {', '.join(names)}")
    parser.add_argument("--seed", type=int, default=1, help="of the dice: who is struck, and when (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on standard output")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    # A developer's own settings must not change what is tried.
    for name in [name for name in os.environ if name.startswith("CAFI_")]:
        del os.environ[name]
    for number in (signal.SIGINT, signal.SIGTERM):  # so that nothing is left running
        signal.signal(number, signal.default_int_handler)
    chosen = [one for one in FAULTS if one.name in (options.fault or names)]
    outcomes = [asyncio.run(tried(fault, options.rounds, options.seed, _say)) for fault in chosen]
    if options.json:
        print(json.dumps(as_document(outcomes), indent=2))
    else:
        print("\n".join(as_lines(outcomes)))
    return 0 if all(one.lawful for one in outcomes) else 1


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
