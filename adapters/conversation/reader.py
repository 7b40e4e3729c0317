"""What people write is read for danger within a bound of time and place, so that nobody waits for a stranger.

Short texts are read where they arrive. Longer ones wait for one thread beside the event loop, the shortest first. Who will
not be answered and whose text finds no time is shown where help is, as if it had called for it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count

from engine import URGENCY_EARLIER, Conversation, Role, Urgency

AT_ONCE = 400
"""Characters, with those of the earlier messages that are read along; so few hold up nobody."""
SOON_SECONDS = 0.15
"""So long a text that will not be answered may wait."""
PLACES = 32
"""Texts that may wait for the thread. Beyond, nothing that will not be answered is read: its writer gets the contacts."""

Reading = Callable[[Conversation, str], Urgency]


def weight(conversation: Conversation, message: str) -> int:
    """How many characters are read for one message: its own, and those of the messages it may go on from."""
    said = [len(one.content) for one in conversation.messages if one.role is Role.USER]
    return len(message) + sum(said[-URGENCY_EARLIER:])


@dataclass(order=True)
class _Text:
    """One text in line; the shortest comes first, and of equals the one that came first."""

    weight: int
    number: int
    read: Callable[[], Urgency] = field(compare=False)
    result: asyncio.Future[Urgency] = field(compare=False)


@dataclass(kw_only=True)
class Reader:
    """Reads one text at a time beside the event loop. One thread is enough: two would only share one interpreter."""

    at_once: int = AT_ONCE
    places: int = PLACES
    soon_seconds: float = SOON_SECONDS
    _line: list[_Text] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)
    _working: asyncio.Task[None] | None = None
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=1, thread_name_prefix="reader")
    )

    @property
    def full(self) -> bool:
        """Whether no place is left in the line."""
        return len(self._line) >= self.places

    async def read(self, assess: Reading, conversation: Conversation, message: str) -> Urgency:
        """What a text calls for, as soon as its turn has come: for what will be answered, which waits in its chat's line."""
        size = weight(conversation, message)
        if size <= self.at_once:
            return assess(conversation, message)
        result: asyncio.Future[Urgency] = asyncio.get_running_loop().create_future()
        text = _Text(size, next(self._numbers), lambda: assess(conversation, message), result)
        heapq.heappush(self._line, text)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await result

    async def read_soon(self, assess: Reading, conversation: Conversation, message: str) -> Urgency | None:
        """The same at once or hardly later; None for a text that finds no place or no time, and is then not read."""
        if weight(conversation, message) > self.at_once and self.full:
            return None
        try:
            return await asyncio.wait_for(self.read(assess, conversation, message), self.soon_seconds)
        except TimeoutError:
            return None

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._line:
            text = heapq.heappop(self._line)
            if text.result.done():
                continue  # nobody waits for it any more
            try:
                found = await loop.run_in_executor(self._thread, text.read)
            except Exception as error:
                if not text.result.done():
                    text.result.set_exception(error)
            else:
                if not text.result.done():
                    text.result.set_result(found)
