"""The time of day, which is not believed at once when it has jumped: what it says decides what is erased."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

JUMP_SECONDS = 3600.0
DOUBT_SECONDS = 900.0
"""How long a jump is doubted; longer than a round of sweeping out."""
_log = logging.getLogger("cafi.clock")


def _steady() -> float:
    """Seconds that run on whatever is done to the clock, and while the computer sleeps where the system counts that."""
    asleep_too = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if asleep_too is None else time.clock_gettime(asleep_too)


@dataclass(kw_only=True)
class WallClock:
    """Seconds since 1970. After a jump of an hour or more, the time that would have been without it, for a while."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = _steady
    doubt_seconds: float = DOUBT_SECONDS
    _believed: tuple[float, float] = field(init=False)
    _jumped: float | None = None

    def __post_init__(self) -> None:
        self._believed = self.wall(), self.steady()

    def __call__(self) -> float:
        """The time now."""
        wall, steady = self.wall(), self.steady()
        before, since = self._believed
        expected = before + (steady - since)
        if abs(wall - expected) < JUMP_SECONDS:
            self._believed, self._jumped = (wall, steady), None
            return wall
        if self._jumped is None:
            self._jumped = steady
            _log.warning("The clock of this computer has jumped. Nothing is erased for a while; check the clock.")
        if steady - self._jumped < self.doubt_seconds:
            return expected
        self._believed, self._jumped = (wall, steady), None
        return wall
