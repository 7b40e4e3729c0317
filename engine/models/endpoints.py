"""Several endpoints as one language model: the preferred one first, the next one where it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.exceptions import BudgetExceeded, ModelDeclined, ModelError, ModelUnavailable, PromptTooLong
from engine.models.account import Account
from engine.models.breaker import Breaker, BreakerState
from engine.models.ledger import Ledger
from engine.models.protocol import ChatModel, Completion, Prompt

_log = logging.getLogger("cafi.models")
# Commands that answer once set up no log; the answer says there that it is quoted.
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointFigures:
    """What one endpoint has been asked since the start, what that cost, and whether it is asked now.

    `calls` by outcome; `tokens` by prompt, cached and completion.
    """

    endpoint: str
    state: BreakerState
    exhausted: bool
    calls: Mapping[str, int]
    tokens: Mapping[str, int]
    cost: float


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One place where models are. `without_retries` stands in where a next endpoint can be asked."""

    model: ChatModel
    account: Account
    without_retries: ChatModel | None = None
    breaker: Breaker = field(default_factory=Breaker)

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return self.account.endpoint

    @property
    def usable(self) -> bool:
        """Whether it may be asked now."""
        return self.breaker.admits and not self.account.exhausted

    def figures(self) -> EndpointFigures:
        """What is to be told of it."""
        return EndpointFigures(
            endpoint=self.name,
            state=self.breaker.state,
            exhausted=self.account.exhausted,
            calls=dict(self.account.outcomes),
            tokens=dict(self.account.tokens),
            cost=self.account.cost,
        )

    async def ask(self, prompt: Prompt, ledger: Ledger, *, alternatives: int) -> Completion:
        """An answer that its asker can use; raises ModelError. `alternatives`: endpoints that can be asked after this one.

        Where there are some it has a share of the turn's time, so that they have theirs.
        """
        permit = self.breaker.admit()
        if permit is None:
            raise ModelUnavailable(f"The endpoint {self.name!r} is left alone for {self.breaker.remaining():.0f} s.")
        share = (ledger.budget.seconds - ledger.now()) / (alternatives + 2) if alternatives else None
        model = self.without_retries if alternatives and self.without_retries is not None else self.model
        try:
            completion = await self._within(share, model, prompt, ledger)
        except ModelDeclined:
            self._answered(permit)
            raise
        except (BudgetExceeded, PromptTooLong):
            self.breaker.released(permit)
            raise
        except ModelError as error:
            self._failed(permit, error)
            raise
        except BaseException:
            self.breaker.released(permit)
            raise
        self._answered(permit)
        return completion

    async def _within(self, seconds: float | None, model: ChatModel, prompt: Prompt, ledger: Ledger) -> Completion:
        try:
            async with asyncio.timeout(seconds):
                completion = await model.complete(prompt, ledger)
        except TimeoutError as error:
            raise ModelUnavailable("The language model did not answer in its share of the turn's time.") from error
        if prompt.accept is not None:
            prompt.accept(completion)
        return completion

    def _answered(self, permit: int) -> None:
        if self.breaker.succeeded(permit):
            _log.info("endpoint %s answers again", self.name)

    def _failed(self, permit: int, error: ModelError) -> None:
        wait, lasting = (error.retry_after, error.lasting) if isinstance(error, ModelUnavailable) else (None, False)
        if self.breaker.failed(permit, at_once=lasting, wait=wait or 0.0):
            _log.warning("endpoint %s is left alone for %.0f s: %s", self.name, self.breaker.remaining(), error)


class Endpoints:
    """Asks the first endpoint that may be asked, and the next one when it fails, within the turn's budget.

    A refusal is an answer: no other provider is asked for what one refuses to say.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Raises what the preferred one of those that were asked has raised; ModelUnavailable where none may be asked."""
        failure: ModelError | None = None
        for place, endpoint in enumerate(self._endpoints):
            if not endpoint.usable:
                continue
            after = sum(one.usable for one in self._endpoints[place + 1 :])
            try:
                return await endpoint.ask(prompt, ledger, alternatives=after)
            except (ModelDeclined, BudgetExceeded):
                raise
            except ModelError as error:
                failure = failure or error
        raise failure or ModelUnavailable("Every endpoint is left alone now or has used up its day's budget.")
