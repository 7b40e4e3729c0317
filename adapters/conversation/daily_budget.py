"""What the whole bot spends on language models a day; at the limit it goes on with the built-in agents."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine import Account, StorageError, Usage

_log = logging.getLogger("cafi.spending")


class SpendingStore(Protocol):
    """Keeps sums a day."""

    async def spent(self, day: int) -> tuple[int, float]:
        """Tokens and cost of a day so far; `day` is days since 1970, UTC."""
        ...

    async def spent_at(self, day: int) -> Mapping[str, tuple[int, float]]:
        """The same by the name of the endpoint."""
        ...

    async def spend(self, day: int, tokens: int, cost: float, at: Mapping[str, tuple[int, float]]) -> tuple[int, float]:
        """Add to a day; its sums then, those of other processes among them. `at`: to each endpoint's own sums, too."""
        ...


@dataclass(kw_only=True)
class DailyBudget:
    """Sums up; `tokens_a_day` and `cost_a_day` are limits, None for none. Raises nothing: a sum never stops a chat.

    `accounts` are those of the endpoints, which keep to their own limits; here their sums outlast the process.
    """

    store: SpendingStore | None = None
    tokens_a_day: int | None = None
    cost_a_day: float | None = None
    accounts: Sequence[Account] = ()
    today: Callable[[], int] = lambda: int(time.time() // 86_400)
    _day: int = -1
    _tokens: int = 0
    _cost: float = 0.0
    _unsaved: tuple[int, int, float] = (-1, 0, 0.0)
    _saving: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def exhausted(self) -> bool:
        """Whether today's limit is reached."""
        if self._day != self.today():
            return False
        over_tokens = self.tokens_a_day is not None and self._tokens >= self.tokens_a_day
        return over_tokens or (self.cost_a_day is not None and self._cost >= self.cost_a_day)

    async def load(self) -> None:
        """Take up the sums of today, as left by an earlier process."""
        self._day = self.today()
        if self.store is None:
            self._tokens, self._cost = 0, 0.0
            return
        self._tokens, self._cost = await self.store.spent(self._day)
        spent = await self.store.spent_at(self._day)
        for account in self.accounts:
            account.resume(*spent.get(account.endpoint, (0, 0.0)))

    async def add(self, usage: Usage) -> None:
        """Count what a turn has cost."""
        day, tokens = self.today(), usage.prompt_tokens + usage.completion_tokens
        if day != self._day:
            self._day, self._tokens, self._cost = day, 0, 0.0
        if not tokens:
            return
        cost = usage.cost or 0.0
        self._tokens += tokens
        self._cost += cost
        await self._save(day, tokens, cost)

    async def _save(self, day: int, tokens: int, cost: float) -> None:
        """Keep sums on disk, those of turns that end together as one; what cannot be kept now goes along the next time."""
        if self.store is None:
            return
        self._leave(day, tokens, cost)
        async with self._saving:
            if not self._unsaved[1]:
                return  # gone along with another turn's
            day, tokens, cost = self._unsaved
            self._unsaved = (-1, 0, 0.0)
            at = [(one, one.unsaved) for one in self.accounts if one.unsaved[0]]
            try:
                sums = await self.store.spend(day, tokens, cost, {one.endpoint: spent for one, spent in at})
            except StorageError as error:
                self._leave(day, tokens, cost)
                _log.error("%s", error)
                return
            for account, spent in at:
                account.saved(*spent)
            if day == self._day:
                _, unsaved, unpaid = self._unsaved if self._unsaved[0] == day else (day, 0, 0.0)
                self._tokens, self._cost = sums[0] + unsaved, sums[1] + unpaid

    def _leave(self, day: int, tokens: int, cost: float) -> None:
        left_day, left_tokens, left_cost = self._unsaved
        if left_day == day:
            tokens, cost = tokens + left_tokens, cost + left_cost
        if day >= left_day:
            self._unsaved = (day, tokens, cost)
