"""One tiny question to an endpoint: does it answer, how fast, for how much, and in the form that was asked for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from engine.exceptions import ModelError
from engine.models.endpoints import Endpoint
from engine.models.ledger import Ledger
from engine.models.protocol import Completion, Prompt, PromptMessage
from engine.models.structured import ask
from engine.settings import Budget
from engine.types import Tier, Usage

ROLE = "check"
_BUDGET = Budget(calls=8)
_SAID = (
    PromptMessage(role="system", content="You answer in JSON."),
    PromptMessage(role="user", content="Is seven a number? And how many days has a week?"),
)


class _Answer(BaseModel):
    seven_is_a_number: Literal["yes", "no"]
    days_of_a_week: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointTrial:
    """How one model of an endpoint has answered.

    `form`: how structured output was had, one of json_schema, json_object, prompt; `problem`: None where it works.
    """

    endpoint: str
    tier: Tier
    model: str
    seconds: float
    usage: Usage
    form: str = ""
    problem: str | None = None


class _Heard:
    """A model that notes in which form its answer was had."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._model, self.form = endpoint.without_retries or endpoint.model, ""

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        completion = await self._model.complete(prompt, ledger)
        self.form = completion.form
        return completion


async def try_endpoint(endpoint: Endpoint, tier: Tier) -> EndpointTrial:
    """Ask the model of a tier once, whatever the breaker says. Raises nothing that a server can cause."""
    ledger, heard, problem = Ledger(budget=_BUDGET), _Heard(endpoint), None
    try:
        await ask(heard, _Answer, ledger, role=ROLE, tier=tier, messages=_SAID, schema_name=ROLE)
    except ModelError as error:
        problem = str(error)
    return EndpointTrial(
        endpoint=endpoint.name,
        tier=tier,
        model=ledger.calls[-1].model if ledger.calls else "",
        seconds=ledger.now(),
        usage=ledger.usage(),
        form=heard.form,
        problem=problem,
    )
