"""Where the seconds of a turn go: its steps, with their times, for whoever measures. Nothing that anybody wrote.

Outside a measured turn a step is one look at a context variable. What a step may be called and what may stand in it are
closed lists, so that nothing else can get into what is told of a turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


class StepName(StrEnum):
    """What a step of a turn can be."""

    TURN = "turn"
    QUEUE = "queue"  # waiting for whoever answers it, and for the chat's earlier messages
    STORAGE = "storage"
    PLACE = "place"  # waiting for one of the turns that may ask a model at the same time
    URGENCY = "urgency"
    SEARCH = "search"
    REFLECT = "reflect"
    DRAFT = "draft"
    JUDGE = "judge"
    REFINE = "refine"
    CALL = "call"  # a language model's part of one of the others
    DELIVER = "deliver"


class StepFact(StrEnum):
    """What can be noted of a step: words from closed lists, and numbers."""

    PLATFORM = "platform"
    ASSISTANT = "assistant"
    DECISION = "decision"
    JUDGE = "judge"
    MODEL = "model"  # the tier, never the model's name
    ERROR = "error"  # the name of its type, never what it says
    CALLS = "calls"
    PROMPT_TOKENS = "prompt_tokens"
    COMPLETION_TOKENS = "completion_tokens"
    CACHED_TOKENS = "cached_tokens"
    RETRIES = "retries"
    PRIVATE = "private"  # nothing is to be told of this turn


@dataclass(kw_only=True, slots=True)
class Step:
    """One step, with those it consists of. Times are seconds of the monotonic clock; `ended` is None while it runs."""

    name: StepName
    begun: float
    ended: float | None = None
    facts: dict[StepFact, str | int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


StepListener: TypeAlias = Callable[[Step], None]
"""Told of each measured turn when it has ended."""
_here: ContextVar[Step | None] = ContextVar("step", default=None)


@contextmanager
def measured(listener: StepListener, *, since: float | None = None) -> Iterator[None]:
    """Measure a turn while this is open. `since`: from when on it has waited, where that is known."""
    begun = time.monotonic()
    turn = Step(name=StepName.TURN, begun=begun if since is None else since)
    if since is not None:
        turn.steps.append(Step(name=StepName.QUEUE, begun=since, ended=begun))
    token = _here.set(turn)
    try:
        yield
    finally:
        _here.reset(token)
        turn.ended = time.monotonic()
        listener(turn)


@contextmanager
def step(name: StepName) -> Iterator[None]:
    """A step of the measured turn, if there is one; whatever is raised in it leaves the name of its type."""
    above = _here.get()
    if above is None:
        yield
        return
    this = Step(name=name, begun=time.monotonic())
    above.steps.append(this)
    token = _here.set(this)
    try:
        yield
    except BaseException as error:
        this.facts[StepFact.ERROR] = type(error).__name__
        raise
    finally:
        this.ended = time.monotonic()
        _here.reset(token)


def note(fact: StepFact, value: str | int) -> None:
    """Note something of the step that runs."""
    here = _here.get()
    if here is not None:
        here.facts[fact] = value


def count(fact: StepFact, number: int = 1) -> None:
    """Add to a number of the step that runs."""
    here = _here.get()
    if here is not None:
        here.facts[fact] = int(here.facts.get(fact, 0)) + number
