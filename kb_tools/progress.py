"""How long work tells that it goes on: a title and a number of steps give what is called after each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int], AbstractContextManager[Callable[[], None]]]


@contextmanager
def unseen(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Progress that nobody is shown."""
    yield lambda: None
