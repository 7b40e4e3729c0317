"""The fake's time, which a test may move forward, and the numbers that Discord makes of it."""

from __future__ import annotations

import datetime as dt
import itertools
import time

DISCORD_EPOCH_MS = 1_420_070_400_000


class Clock:
    """Real time plus what a test added to it."""

    def __init__(self) -> None:
        self._added = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + self._added

    def advance(self, seconds: float) -> None:
        """Let time pass at once, without waiting."""
        self._added += seconds


class Snowflakes:
    """Discord's ids: milliseconds since 2015 above 22 bits of a counter; later ones are larger."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counter = itertools.count(1)
        self._last = 0

    def new(self, *, shard: int | None = None, shards: int = 1) -> int:
        """A new id; with `shard`, one that Discord gives to that shard out of `shards`."""
        moment = max(self._last, int(self._clock.now() * 1000) - DISCORD_EPOCH_MS)
        while shard is not None and moment % shards != shard:
            moment += 1
        self._last = moment
        return (moment << 22) | (next(self._counter) & 0x3FFFFF)


def written(seconds: float | None) -> str | None:
    """A moment as Discord writes it; None stays None."""
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat()
