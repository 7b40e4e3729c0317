"""What one endpoint has been asked and has cost: since the process began, and today, up to its limits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.models.ledger import ModelCall
from engine.settings import Price


@dataclass(kw_only=True)
class Account:
    """Counts the calls of one endpoint; no text and no time of a call is kept. `today`: days since 1970, UTC.

    `cost` leaves out calls of models without a price. What another process spends today is known from the next start on.
    """

    endpoint: str
    prices: Mapping[str, Price] = field(default_factory=dict)
    tokens_a_day: int | None = None
    cost_a_day: float | None = None
    today: Callable[[], int] = lambda: int(time.time() // 86_400)
    outcomes: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    cost: float = 0.0
    _day: int = -1
    _day_tokens: int = 0
    _day_cost: float = 0.0
    _unsaved: tuple[int, float] = (0, 0.0)

    @property
    def exhausted(self) -> bool:
        """Whether today's limit is reached."""
        if self._day != self.today():
            return False
        over_tokens = self.tokens_a_day is not None and self._day_tokens >= self.tokens_a_day
        return over_tokens or (self.cost_a_day is not None and self._day_cost >= self.cost_a_day)

    @property
    def unsaved(self) -> tuple[int, float]:
        """Tokens and cost that nobody has kept yet."""
        return self._unsaved

    def price(self, model: str) -> Price | None:
        """What a model costs here."""
        return self.prices.get(model)

    def record(self, call: ModelCall) -> None:
        """Count a call that has ended."""
        spent, cost = call.prompt_tokens + call.completion_tokens, call.cost(self.prices) or 0.0
        self.outcomes[call.outcome] += 1
        self.tokens["prompt"] += call.prompt_tokens
        self.tokens["cached"] += call.cached_tokens
        self.tokens["completion"] += call.completion_tokens
        self.cost += cost
        self._turn_day()
        self._day_tokens, self._day_cost = self._day_tokens + spent, self._day_cost + cost
        self._unsaved = (self._unsaved[0] + spent, self._unsaved[1] + cost)

    def resume(self, tokens: int, cost: float) -> None:
        """Begin with what an earlier process has spent today."""
        self._day, self._day_tokens, self._day_cost = self.today(), tokens, cost

    def saved(self, tokens: int, cost: float) -> None:
        """So much of what was unsaved is kept now."""
        self._unsaved = (self._unsaved[0] - tokens, self._unsaved[1] - cost)

    def _turn_day(self) -> None:
        day = self.today()
        if day != self._day:
            self._day, self._day_tokens, self._day_cost = day, 0, 0.0
