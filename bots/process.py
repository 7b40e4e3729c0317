"""Settings of the whole process, made once everything is built and before anybody is served."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import Engine

SWITCH_SECONDS = 0.001


def starting() -> None:
    """Leave the garbage collector off while everything is built: it would walk over half-built indexes in vain.

    Commands that answer once and end leave it off; `settle` turns it on for those that stay. At the end of the process, too,
    Python would walk over all of that once more, whose memory goes with the process.

    To be called before numpy is loaded: it starts a thread for each core, which wait busily for large products that are
    never asked for. Whoever wants them sets the variable.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    atexit.register(gc.freeze)


def without_core_dumps() -> None:
    """Keep what people wrote from the disk should the process crash, where the system lets us."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def settle(engine: Engine, language: str) -> None:
    """Build every assistant, so that faults show before anybody is served, and spare the garbage collector the rest.

    `language`: what most people here write in; the first message in another one waits half a second for its search.

    Indexes, rules and prompts live as long as the process. With hundreds of chats at a time it would otherwise walk
    over all of that again and again, for about a quarter of the process's time (`python -m benchmarks --only concurrency`).
    """
    for name in engine.assistants:
        engine.assistants[name].guide.prepare(language)
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 50, 100)
    # While a long text is read beside the event loop, the loop waits this long for its turn; by default 5 ms, each time.
    sys.setswitchinterval(SWITCH_SECONDS)


def privately() -> None:
    """Let whatever is written from here on be for this account alone."""
    os.umask(0o077)
