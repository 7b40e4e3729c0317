"""`cafi run` that tells a test all it remembers: on SIGUSR1 every text of every living object goes into a file.

A living object is one that the interpreter can still reach: all that the garbage collector knows, and whatever those
refer to, in any depth; caches written in C and objects set aside for good at the start are among them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType


def told(file: Path) -> None:
    """Write the texts and bytes of all living objects, each on a line of its own."""
    gc.unfreeze()
    gc.collect()
    with file.with_suffix(".part").open("wb") as lines:
        for one in living():
            if isinstance(one, str):
                lines.write(one.encode(errors="surrogatepass") + b"\n")
            elif isinstance(one, bytes | bytearray):
                lines.write(bytes(one) + b"\n")
            elif isinstance(one, int) and one.bit_length() > 20:
                lines.write(str(one).encode() + b"\n")
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    file.with_suffix(".part").rename(file)


def living() -> Iterator[object]:
    """Every living object."""
    seen: set[int] = set()
    waiting = gc.get_objects()
    seen.update(map(id, waiting))
    # Held until the end, so that no two objects have the same place one after the other.
    held = [waiting]
    while waiting:
        found = []
        for one in gc.get_referents(*waiting):
            if id(one) not in seen:
                seen.add(id(one))
                found.append(one)
        yield from found
        held.append(found)
        waiting = found


def main() -> None:
    """Run `cafi` with its own arguments; CAFI_TEST_TOLD names the file, CAFI_TEST_TIDY seconds between two sweeps."""
    import bots.runner
    from bots.cli import app

    file = Path(os.environ.pop("CAFI_TEST_TOLD"))
    bots.runner.TIDY_SECONDS = float(os.environ.pop("CAFI_TEST_TIDY"))

    def tell(number: int, frame: FrameType | None) -> None:
        told(file)

    signal.signal(signal.SIGUSR1, tell)
    app()


if __name__ == "__main__":
    main()
