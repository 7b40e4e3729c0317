"""What holds for every ChatModel: the real client against a loopback server, and the shipped doubles."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import pytest
from pydantic import BaseModel

from engine.exceptions import (
    BudgetExceeded,
    ModelDeclined,
    ModelError,
    ModelMisconfigured,
    ModelOutputError,
    ModelUnavailable,
)
from engine.models.account import Account
from engine.models.endpoints import Endpoint, Endpoints
from engine.models.ledger import Ledger
from engine.models.openai_model import OpenAIModel
from engine.models.protocol import ChatModel, Completion, Finish, Prompt, PromptMessage
from engine.models.scripted import ScriptedModel, UnreachableModel
from engine.models.structured import ask, schema_of
from engine.settings import Budget, ModelSettings
from engine.types import Tier
from tests.fakes import openai_server as fake

Make: TypeAlias = Callable[[str], AbstractAsyncContextManager[ChatModel]]


class Verdict(BaseModel):
    decision: str
    explanation: str


ANSWER = json.dumps(fake.VERDICT)

PROMPT = Prompt(
    role="judge",
    tier=Tier.SMALL,
    messages=(PromptMessage(role="system", content="Judge."), PromptMessage(role="user", content="A draft.")),
    schema_name="verdict",
    schema=schema_of(Verdict),
)

SERVER = {
    "answers": fake.answer(),
    "unavailable": fake.status(500),
    "misconfigured": fake.status(401),
    "declines": fake.refusal(),
    "empty": fake.empty(),
    "cut off": fake.cut_off(),
    "stalls": fake.stall(),
}
SCRIPT: dict[str, Any] = {
    "answers": ANSWER,
    "unavailable": ModelUnavailable(),
    "misconfigured": ModelMisconfigured(),
    "declines": ModelDeclined(),
    "empty": "",
    "cut off": Completion(text=ANSWER, finish=Finish.LENGTH, model="scripted", prompt_tokens=120, completion_tokens=8),
    "stalls": ANSWER,
}


@asynccontextmanager
async def openai_model(behaviour: str) -> AsyncIterator[ChatModel]:
    async with fake.OpenAIServer([SERVER[behaviour]]) as server:
        model = OpenAIModel(ModelSettings(base_url=server.url))
        try:
            yield model
        finally:
            await model.aclose()


@asynccontextmanager
async def endpoints(behaviour: str) -> AsyncIterator[ChatModel]:
    async with fake.OpenAIServer([SERVER[behaviour]]) as server:
        account = Account(endpoint="first")
        model = OpenAIModel(ModelSettings(base_url=server.url), account=account)
        try:
            yield Endpoints([Endpoint(model=model, account=account)])
        finally:
            await model.aclose()


@asynccontextmanager
async def scripted_model(behaviour: str) -> AsyncIterator[ChatModel]:
    yield ScriptedModel(lambda prompt: SCRIPT[behaviour], latency=3600 if behaviour == "stalls" else 0)


@pytest.fixture(params=[openai_model, scripted_model, endpoints], ids=["openai", "scripted", "endpoints"])
def make(request: pytest.FixtureRequest) -> Make:
    return request.param


async def test_answer_is_returned_and_counted(make: Make) -> None:
    """A completion carries the text and the tokens that the ledger records for the call."""
    ledger = Ledger()
    async with make("answers") as model:
        completion = await model.complete(PROMPT, ledger)
    assert (json.loads(completion.text), completion.finish) == (fake.VERDICT, Finish.STOP)
    (call,) = ledger.calls
    assert (call.role, call.model, call.outcome) == ("judge", completion.model, "ok")
    assert call.prompt_tokens == completion.prompt_tokens > 0
    assert call.completion_tokens == completion.completion_tokens > 0
    assert 0 <= call.started <= call.ended


@pytest.mark.parametrize(
    ("behaviour", "error", "outcome"),
    [
        ("unavailable", ModelUnavailable, "unavailable"),
        ("misconfigured", ModelMisconfigured, "unavailable"),
        ("declines", ModelDeclined, "declined"),
        ("empty", ModelOutputError, "bad_output"),
    ],
)
async def test_failure_is_raised_and_recorded(
    make: Make, behaviour: str, error: type[ModelError], outcome: str
) -> None:
    """A call that fails raises the error of its kind and is in the ledger with that outcome."""
    ledger = Ledger()
    async with make(behaviour) as model:
        with pytest.raises(error) as caught:
            await model.complete(PROMPT, ledger)
    assert type(caught.value) is error
    assert [call.outcome for call in ledger.calls] == [outcome]


async def test_cut_off_answer_is_returned_as_such(make: Make) -> None:
    """A completion that reached its cap comes back marked, so that nobody takes it for whole."""
    async with make("cut off") as model:
        assert (await model.complete(PROMPT, Ledger())).finish is Finish.LENGTH


@pytest.mark.parametrize("budget", [Budget(calls=1), Budget(tokens=1)])
async def test_spent_budget_stops_the_call(make: Make, budget: Budget) -> None:
    """A turn that has used up its budget makes no further call and records none."""
    ledger = Ledger(budget=budget)
    async with make("answers") as model:
        await model.complete(PROMPT, ledger)
        with pytest.raises(BudgetExceeded):
            await model.complete(PROMPT, ledger)
    assert len(ledger.calls) == 1


async def test_cancelling_is_recorded_and_passed_on(make: Make) -> None:
    """A cancelled call stays cancelled, and the ledger knows of it."""
    ledger = Ledger()
    async with make("stalls") as model:
        task = asyncio.create_task(model.complete(PROMPT, ledger))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    (call,) = ledger.calls
    assert call.outcome == "cancelled"
    assert call.prompt_tokens > 0


async def test_calls_run_side_by_side(make: Make) -> None:
    """One model object serves the calls of several turns at once, each on its own account."""
    ledgers = [Ledger() for _ in range(10)]
    async with make("answers") as model:
        await asyncio.gather(*(model.complete(PROMPT, ledger) for ledger in ledgers))
    assert [len(ledger.calls) for ledger in ledgers] == [1] * 10


async def test_structured_answer_is_read(make: Make) -> None:
    """An answer of the form that was asked for comes back as an instance of its class."""
    async with make("answers") as model:
        verdict = await ask(model, Verdict, Ledger(), role="judge", tier=Tier.SMALL, messages=PROMPT.messages)
    assert verdict == Verdict(**fake.VERDICT)


async def test_structured_answer_that_is_cut_off_is_refused(make: Make) -> None:
    """A cut-off answer is no answer, even when it happens to be valid JSON."""
    async with make("cut off") as model:
        with pytest.raises(ModelOutputError, match="cut off"):
            await ask(model, Verdict, Ledger(), role="judge", tier=Tier.SMALL, messages=PROMPT.messages)


async def test_unreachable_model_is_always_unavailable() -> None:
    """The double of an outage raises ModelUnavailable and records the call."""
    ledger = Ledger()
    with pytest.raises(ModelUnavailable):
        await UnreachableModel().complete(PROMPT, ledger)
    assert [call.outcome for call in ledger.calls] == ["unavailable"]


async def test_script_is_followed_in_order() -> None:
    """A scripted model gives its answers in order, keeps the prompts, and is unavailable after the last."""
    model = ScriptedModel([{"decision": "REJECT"}, Verdict(**fake.VERDICT)])
    texts = [(await model.complete(PROMPT, Ledger())).text for _ in range(2)]
    assert [json.loads(text)["decision"] for text in texts] == ["REJECT", "ACCEPT"]
    assert model.prompts == [PROMPT, PROMPT]
    with pytest.raises(ModelUnavailable):
        await model.complete(PROMPT, Ledger())
