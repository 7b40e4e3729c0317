"""A circuit breaker: what keeps failing, or asks to be left alone, is for a while, and then tried by one call at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from engine.settings import BreakerSettings

LONGEST_RETRY_AFTER = 6 * 3600.0
"""Seconds that a server's own `Retry-After` counts for at most: it may be wrong, and nobody would ask it again."""


class BreakerState(StrEnum):
    """Closed: calls go through. Open: none does. Half open: one may try."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(kw_only=True)
class Breaker:
    """Counts failures and says whether a call may go. `clock` gives seconds and never goes back.

    Whoever is admitted reports how it ended: `succeeded`, `failed`, or `released` where the call says nothing about the
    server. What was admitted before the last change of state is too old to change anything.
    """

    settings: BreakerSettings = field(default_factory=BreakerSettings)
    clock: Callable[[], float] = time.monotonic
    _phase: int = 0
    _failures: int = 0
    _openings: int = 0
    _until: float | None = None
    _trying: bool = False

    @property
    def state(self) -> BreakerState:
        """What holds now."""
        if self._until is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.clock() < self._until else BreakerState.HALF_OPEN

    @property
    def admits(self) -> bool:
        """Whether a call may go now."""
        return self.state is BreakerState.CLOSED or (self.state is BreakerState.HALF_OPEN and not self._trying)

    def admit(self) -> int | None:
        """A permit for one call, None where none may go."""
        if not self.admits:
            return None
        if self._until is not None:
            self._trying = True
            self._phase += 1
        return self._phase

    def succeeded(self, permit: int) -> bool:
        """The server has answered; whether that closes the breaker."""
        if permit != self._phase:
            return False
        closes, self._failures = self._trying, 0
        if closes:
            self._phase += 1
            self._openings, self._until, self._trying = 0, None, False
        return closes

    def failed(self, permit: int, *, at_once: bool = False, wait: float = 0.0) -> bool:
        """It has not; whether that opens the breaker, for `wait` seconds at least. `at_once`: one failure is enough."""
        if permit != self._phase or not self.settings.failures:
            return False
        self._failures += 1
        long = wait >= self.settings.seconds  # shorter ones are what ordinary traffic meets
        if not (self._trying or at_once or long or self._failures >= self.settings.failures):
            return False
        grown = min(self.settings.seconds * 2.0 ** min(self._openings, 30), self.settings.most_seconds)
        self._phase += 1
        self._failures, self._openings, self._trying = 0, self._openings + 1, False
        self._until = self.clock() + max(grown, min(wait, LONGEST_RETRY_AFTER))
        return True

    def released(self, permit: int) -> None:
        """The call has ended without a word on the server: it was given up, or its prompt was to blame."""
        if permit == self._phase:
            self._trying = False

    def remaining(self) -> float:
        """Seconds until a call may try; 0 where one may go."""
        return 0.0 if self._until is None else max(0.0, self._until - self.clock())
