"""What a run has spent on models, and where it ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from evaluation.transcripts import Spent


@dataclass(kw_only=True)
class RunBudget:
    """The running account of a run; `tokens` and `cost` are what it may spend, None where nothing is said.

    A turn that has begun is finished, so that a run may end one turn for each conversation at a time above its limit.
    """

    tokens: int | None = None
    cost: float | None = None
    spent: Spent = field(default_factory=Spent)

    def add(self, *parts: Spent) -> None:
        """Note what some calls cost; the cost is unknown as soon as one is."""
        every = (self.spent, *parts)
        costs = [one.cost or 0.0 if one.llm_calls == 0 else one.cost for one in every]
        self.spent = Spent(
            llm_calls=sum(one.llm_calls for one in every),
            prompt_tokens=sum(one.prompt_tokens for one in every),
            completion_tokens=sum(one.completion_tokens for one in every),
            cached_tokens=sum(one.cached_tokens for one in every),
            cost=None if None in costs else sum(one for one in costs if one is not None),
        )

    @property
    def used_up(self) -> str | None:
        """Which limit is reached: `tokens`, `cost`, or `unknown cost` where a limit cannot be kept; else None."""
        if self.tokens is not None and self.spent.prompt_tokens + self.spent.completion_tokens >= self.tokens:
            return "tokens"
        if self.cost is None or not self.spent.llm_calls:
            return None
        if self.spent.cost is None:
            return "unknown cost"
        return "cost" if self.spent.cost >= self.cost else None
