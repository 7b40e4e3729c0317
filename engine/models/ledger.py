"""What one turn has spent on models, and what it still may."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.exceptions import BudgetExceeded
from engine.settings import Budget, Price
from engine.types import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    """One model call as it went. Times are seconds since the turn began; no text is kept."""

    role: str
    model: str
    started: float
    ended: float
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    outcome: str = "ok"


@dataclass(kw_only=True)
class Ledger:
    """The running account of one turn; not shared between turns."""

    budget: Budget = field(default_factory=Budget)
    calls: list[ModelCall] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)
    _reserved: int = 0

    def now(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self._begun

    def reserve(self) -> float:
        """Book one call and return the seconds it may take; raises BudgetExceeded when nothing is left."""
        remaining = self.budget.seconds - self.now()
        if remaining <= 0:
            raise BudgetExceeded("The turn has used up its seconds.")
        if self._reserved >= self.budget.calls:
            raise BudgetExceeded("The turn has used up its model calls.")
        if sum(call.prompt_tokens + call.completion_tokens for call in self.calls) >= self.budget.tokens:
            raise BudgetExceeded("The turn has used up its tokens.")
        self._reserved += 1
        return remaining

    def leave(self, calls: int) -> None:
        """Raise BudgetExceeded unless so many calls are left after one more; for what a turn can do without."""
        if self.budget.calls - self._reserved - 1 < calls:
            raise BudgetExceeded("The turn has no calls to spare.")

    def record(self, call: ModelCall) -> None:
        """Write down a call that has ended."""
        self.calls.append(call)

    def usage(self, prices: Mapping[str, Price] | None = None) -> Usage:
        """The sums so far; `cost` is None as soon as one model has no price."""
        return Usage(
            llm_calls=len(self.calls),
            prompt_tokens=sum(call.prompt_tokens for call in self.calls),
            completion_tokens=sum(call.completion_tokens for call in self.calls),
            cached_tokens=sum(call.cached_tokens for call in self.calls),
            cost=self._cost(prices or {}),
        )

    def _cost(self, prices: Mapping[str, Price]) -> float | None:
        total = 0.0
        for call in self.calls:
            price = prices.get(call.model)
            if price is None:
                return None
            fresh = call.prompt_tokens - call.cached_tokens
            total += (
                fresh * price.prompt + call.cached_tokens * price.cached + call.completion_tokens * price.completion
            )
        return total / 1_000_000
