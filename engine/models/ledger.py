"""What one turn has spent on models, and what it still may."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from engine.exceptions import BudgetExceeded, ModelDeclined, ModelOutputError
from engine.settings import Budget, Price
from engine.steps import StepFact, count
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
    price: Price | None = None

    def cost(self, prices: Mapping[str, Price]) -> float | None:
        """In the currency of the price table, None without a price; the call's own counts before those by model name."""
        price = self.price or prices.get(self.model)
        if price is None:  # what nobody has answered or read costs nothing anywhere
            return None if self.prompt_tokens or self.completion_tokens else 0.0
        fresh = self.prompt_tokens - self.cached_tokens
        each = fresh * price.prompt + self.cached_tokens * price.cached + self.completion_tokens * price.completion
        return each / 1_000_000


class CallListener(Protocol):
    """Whoever keeps account of one endpoint's calls beyond a turn."""

    def price(self, model: str) -> Price | None:
        """What a model costs there, None where that is not known or the price table says it."""
        ...

    def record(self, call: ModelCall) -> None:
        """Write down a call that has ended."""
        ...


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
        costs = [call.cost(prices) for call in self.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None


class Booking:
    """One model call on the turn's account: booked on entering, recorded on leaving, however it ends.

    `seconds` is what the call may take. Outcomes: ok, declined, bad_output, cancelled, unavailable, and
    `unsupported` for a request that is sent again because the server does not know one of its parameters.
    `account` hears of it too. Raises BudgetExceeded on construction; nothing is recorded then, because nothing was sent.
    """

    def __init__(self, ledger: Ledger, *, role: str, model: str, account: CallListener | None = None) -> None:
        self.seconds = ledger.reserve()
        self.unsupported = False
        self._ledger, self._role, self._model, self._account = ledger, role, model, account
        self._started = ledger.now()
        self._tokens = (0, 0, 0)

    def count(self, *, prompt: int, completion: int, cached: int = 0) -> None:
        """Note the tokens of the call, whatever becomes of it; a later note replaces an earlier one."""
        self._tokens = (prompt, completion, cached)

    def __enter__(self) -> Booking:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        prompt, completion, cached = self._tokens
        call = ModelCall(
            role=self._role,
            model=self._model,
            started=self._started,
            ended=self._ledger.now(),
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=cached,
            outcome="unsupported" if self.unsupported else _outcome(kind),
            price=None if self._account is None else self._account.price(self._model),
        )
        self._ledger.record(call)
        _count(call)
        if self._account is not None:
            self._account.record(call)


def _count(call: ModelCall) -> None:
    count(StepFact.CALLS)
    count(StepFact.PROMPT_TOKENS, call.prompt_tokens)
    count(StepFact.COMPLETION_TOKENS, call.completion_tokens)
    count(StepFact.CACHED_TOKENS, call.cached_tokens)


def _outcome(kind: type[BaseException] | None) -> str:
    if kind is None:
        return "ok"
    if issubclass(kind, ModelDeclined):
        return "declined"
    if issubclass(kind, ModelOutputError):
        return "bad_output"
    # Only errors are failures of the model; what else ends a call (CancelledError) came from our side.
    return "unavailable" if issubclass(kind, Exception) else "cancelled"
