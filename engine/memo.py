"""What is worked out once in a turn and forgotten with it, so that nothing people write outlives its turn.

The same sentence is folded, split and stemmed by one part after the other. A cache of the process would keep the words of
people long after they have asked for their chat to be erased; this one belongs to the turn. What is worked out of a source
belongs to the source: ours last as long as the program, those that somebody sends along as long as their request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
OwnerT = TypeVar("OwnerT")

_present: ContextVar[dict[Callable[..., Any], Callable[..., Any]] | None] = ContextVar("turn", default=None)


@contextmanager
def one_turn() -> Iterator[None]:
    """As long as this is open, functions `once_a_turn` remember; at its end all of it is forgotten.

    A turn within a turn is part of it.
    """
    if _present.get() is not None:
        yield
        return
    remembered: dict[Callable[..., Any], Callable[..., Any]] = {}
    token = _present.set(remembered)
    try:
        yield
    finally:
        _present.reset(token)
        remembered.clear()  # a task that was begun in the turn and is not over yet has the same one


@contextmanager
def outside_turns() -> Iterator[None]:
    """As long as this is open nothing is remembered: what is built once and lasts would fill a turn with a book's words."""
    token = _present.set(None)
    try:
        yield
    finally:
        _present.reset(token)


def once_a_turn(function: Callable[P, T]) -> Callable[P, T]:
    """A pure function that works each argument out once in a turn; outside a turn it remembers nothing."""

    def remembering(*args: P.args, **kwargs: P.kwargs) -> T:
        remembered = _present.get()
        if remembered is None:
            return function(*args, **kwargs)
        found = remembered.get(function)
        if found is None:
            found = remembered[function] = cache(function)
        result: T = found(*args, **kwargs)  # type: ignore[arg-type]  # pure functions take what can be hashed
        return result

    return update_wrapper(remembering, function)


def kept_with(function: Callable[[OwnerT], T]) -> Callable[[OwnerT], T]:
    """A pure function of one object, worked out once and kept with the object: it is gone when that is."""
    name = f"{function.__module__}.{function.__qualname__}"

    def keeping(owner: OwnerT) -> T:
        kept = vars(owner)  # where `cached_property` keeps things too; a frozen dataclass compares its fields alone
        if name not in kept:
            kept[name] = function(owner)
        result: T = kept[name]
        return result

    return update_wrapper(keeping, function)
