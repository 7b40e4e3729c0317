"""How many messages wait, and for how long: where one process answers, as it sees it; the database keeps no time then."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import func, select

from adapters.storage.database import Database
from adapters.storage.tables import inbox

ROUNDS = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFigures:
    """The queue of many processes. `waiting`: messages without an answer; `oldest`: seconds that one has lacked a worker;
    `failed`: jobs that nobody will take up again; `workers`: those that live."""

    waiting: int
    oldest: float
    failed: int
    workers: int


@dataclass(kw_only=True)
class QueueAge:
    """Looks now and then. `clock` counts seconds and never jumps. `recent`: how many waited in the last rounds."""

    database: Database
    clock: Callable[[], float] = time.monotonic
    waiting: int = 0
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=ROUNDS))
    _first: int | None = None
    _since: float = 0.0

    async def look(self) -> None:
        """See what waits now; raises StorageError."""
        query = select(func.count(), func.min(inbox.c.id)).select_from(inbox)
        row = await self.database.run(lambda connection: connection.execute(query).one())
        self.waiting, first = int(row[0]), row[1]
        self.recent.append(self.waiting)
        if first != self._first:
            self._first, self._since = first, self.clock()

    @property
    def age(self) -> float:
        """Seconds that the oldest has been seen to wait, 0 where nothing does: it may have come before it was seen."""
        return 0.0 if self._first is None else self.clock() - self._since
