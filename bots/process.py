"""Settings of the whole process, made once everything is built and before anybody is served."""

from __future__ import annotations

import gc


def settle() -> None:
    """Spare the garbage collector what lives as long as the process: indexes, rules and prompts.

    With hundreds of chats at a time it would otherwise walk over all of that again and again, for about a
    quarter of the process's time (`python -m benchmarks --only concurrency`).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
