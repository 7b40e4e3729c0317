"""Progress of long work, on standard error so that results stay clean."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error, and nothing where that is not a terminal; call what it gives once a step."""
    gc.enable()  # off since the start (bots/process.py); long work needs it
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
