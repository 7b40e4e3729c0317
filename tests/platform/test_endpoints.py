"""Several endpoints as one model: real clients against servers that fail in every way, by a clock that the tests move."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import BaseModel, SecretStr

from bots.compose import Application
from bots.endpoint_check import as_document, as_line, trials
from bots.settings import CafiSettings
from engine.exceptions import BudgetExceeded, ConfigurationError, ModelDeclined, ModelUnavailable
from engine.models.account import Account
from engine.models.breaker import Breaker, BreakerState
from engine.models.endpoints import Endpoint, Endpoints
from engine.models.ledger import Ledger
from engine.models.openai_model import OpenAIModel
from engine.models.protocol import PromptMessage
from engine.models.structured import ask
from engine.settings import BreakerSettings, Budget, ModelSettings, Price
from engine.types import Tier
from tests.fakes import openai_server as fake
from tests.storage import Clock
from tests.team import ACCEPT, CALM, CHIEF_ACCEPT, CITED, knowledge_folder, shipped

KEY = "sk-first-secret-0123456789"
PATIENCE = 20.0
SAID = "Everybody on the bus knows my name."
PRICE = Price(prompt=10.0, cached=1.0, completion=100.0)
CALL_COST = ((fake.PROMPT_TOKENS - fake.CACHED_TOKENS) * 10 + fake.CACHED_TOKENS + fake.COMPLETION_TOKENS * 100) / 1e6
CALL_TOKENS = fake.PROMPT_TOKENS + fake.COMPLETION_TOKENS


class Verdict(BaseModel):
    decision: str
    explanation: str


@dataclass
class Rig:
    """The model, its endpoints and their servers, and the clock of breakers and days."""

    model: Endpoints
    endpoints: list[Endpoint]
    servers: list[fake.OpenAIServer]
    clock: Clock

    async def ask(self, ledger: Ledger | None = None) -> Verdict:
        """One structured question."""
        messages = (PromptMessage(role="user", content=SAID),)
        return await ask(self.model, Verdict, ledger or Ledger(), role="judge", tier=Tier.SMALL, messages=messages)

    @property
    def asked(self) -> list[int]:
        """How many requests each server has had."""
        return [len(server.requests) for server in self.servers]

    @property
    def states(self) -> list[str]:
        """The breakers' states."""
        return [str(one.breaker.state) for one in self.endpoints]


@asynccontextmanager
async def rig(
    *behaviours: fake.Behaviour | Sequence[fake.Behaviour], hurried: bool = False, **limits: Any
) -> AsyncIterator[Rig]:
    """One endpoint for each behaviour, or list of them; `limits` are the first one's. `hurried`: it is waited for briefly."""
    clock, settings = Clock(0.0), BreakerSettings(failures=3, seconds=10.0)
    endpoints: list[Endpoint] = []
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(fake.OpenAIServer(one if isinstance(one, Sequence) else [one]))
            for one in behaviours
        ]
        for number, server in enumerate(servers):
            account = Account(
                endpoint=f"e{number}",
                today=lambda: int(clock() // 86_400),
                **(limits if number == 0 else {}),
            )
            key = SecretStr(KEY) if number == 0 else None
            seconds = 0.1 if hurried and number == 0 else PATIENCE
            chosen = ModelSettings(base_url=server.url, api_key=key, timeout_seconds=seconds)
            model = OpenAIModel(chosen, account=account)
            stack.push_async_callback(model.aclose)
            breaker = Breaker(settings=settings, clock=clock)
            endpoints.append(
                Endpoint(model=model, without_retries=model.without_retries(), account=account, breaker=breaker)
            )
        yield Rig(model=Endpoints(endpoints), endpoints=endpoints, servers=servers, clock=clock)


FAILURES = {
    "server error": fake.status(500),
    "too many": fake.too_many(),
    "garbage": fake.garbage(),
    "a web page": fake.html(),
    "hangs": fake.stall(),
    "half a stream": fake.half_stream(),
    "half a body": fake.half_body(),
    "nothing": fake.empty(),
    "half an answer": fake.half_answer(),
    "another form": fake.answer({"verdict": "fine"}),
    "cut off": fake.cut_off(),
    "an error with 200": fake.raw('{"error": {"message": "overloaded"}}'),
    "refuses every form": fake.status(400),
    "too long": fake.failure(400, code="context_length_exceeded"),
    "wrong key": fake.status(401),
    "forbidden": fake.status(403),
    "no such model": fake.status(404),
}


@pytest.mark.parametrize("name", FAILURES)
async def test_whatever_fails_the_next_endpoint_answers(name: str, retries: None) -> None:
    """Each way of failing is followed at once by the next endpoint, in the same turn; the first is not asked again."""
    async with rig(FAILURES[name], fake.answer(), hurried=name == "hangs") as one:
        assert await one.ask() == Verdict(**fake.VERDICT)
        assert one.asked == [3 if name == "refuses every form" else 1, 1]  # of a form it asks for a simpler one
        assert one.states[1] == "closed"


@pytest.mark.parametrize("status", [401, 402, 403, 404])
async def test_what_only_an_operator_mends_opens_the_breaker_at_once(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """After one wrong key or name the endpoint is left alone, and one line of the log names it, without key or message."""
    with caplog.at_level(logging.INFO, logger="cafi.models"):
        async with rig(fake.status(status), fake.answer()) as one:
            await one.ask()
            await one.ask()
            assert (one.asked, one.states) == ([1, 2], ["open", "closed"])
    (line,) = caplog.messages
    assert "e0 is left alone for 10 s" in line and f"HTTP {status}" in line
    assert KEY not in line and SAID not in line


async def test_an_hour_of_retry_after_is_kept_and_nobody_waits_for_it() -> None:
    """429 with an hour: the other endpoint answers now and for an hour, then one call tries the first."""
    async with rig([fake.too_many(retry_after="3600"), fake.answer()], fake.answer()) as one:
        await one.ask()
        one.clock.seconds = 3599.0
        await one.ask()
        assert one.asked == [1, 2]
        one.clock.seconds = 3600.0
        await one.ask()
        assert (one.asked, one.states) == ([2, 2], ["closed", "closed"])


async def test_a_breaker_opens_after_failures_and_closes_after_a_trial() -> None:
    """Three failures in a row end the asking for a while; the trial after it takes the endpoint back."""
    async with rig([fake.status(500)] * 3 + [fake.answer()], fake.answer()) as one:
        for _ in range(5):
            await one.ask()
        assert (one.asked, one.states[0]) == ([3, 5], "open")
        one.clock.seconds = 10.0
        assert one.states[0] == "half_open"
        await one.ask()
        assert (one.asked, one.states[0]) == ([4, 5], "closed")


async def test_half_open_one_call_tries_and_others_go_on() -> None:
    """While the trial waits for its answer everybody else is answered by the next endpoint; given up, it frees its place."""
    begun = asyncio.Event()

    async def hang(received: fake.Received) -> web.StreamResponse:
        begun.set()
        return await fake.stall()(received)

    async with rig([fake.status(401), hang, fake.answer()], fake.answer()) as one:
        await one.ask()
        one.clock.seconds = 10.0
        trial = asyncio.create_task(one.ask())
        await begun.wait()
        await one.ask()
        assert one.asked == [2, 2]
        trial.cancel()
        with pytest.raises(asyncio.CancelledError):
            await trial
        await one.ask()
        assert (one.asked, one.states[0]) == ([3, 2], "closed")


async def test_where_all_are_left_alone_nobody_is_asked() -> None:
    """With every breaker open a call fails without a request and without a word on anybody's account."""
    ledger = Ledger()
    async with rig(fake.status(401), fake.status(403)) as one:
        with pytest.raises(ModelUnavailable, match="key"):
            await one.ask()
        with pytest.raises(ModelUnavailable, match="Every endpoint"):
            await one.ask(ledger)
        assert (one.asked, ledger.calls) == ([1, 1], [])


async def test_the_last_one_that_is_left_is_tried_again(retries: None) -> None:
    """Where no other endpoint can be asked a passing failure is tried again, as with a single one."""
    async with rig(fake.status(401), [fake.status(500), fake.answer()]) as one:
        assert await one.ask() == Verdict(**fake.VERDICT)
        assert one.asked == [1, 2]


async def test_a_refusal_is_an_answer() -> None:
    """What one provider refuses to say no other is asked for, and it opens no breaker."""
    async with rig(fake.refusal(), fake.answer()) as one:
        for _ in range(4):
            with pytest.raises(ModelDeclined):
                await one.ask()
        assert (one.asked, one.states) == ([4, 0], ["closed", "closed"])


async def test_a_prompt_that_is_too_long_says_nothing_about_the_server() -> None:
    """Long messages go to the next endpoint and close the first one to nobody."""
    async with rig(fake.failure(400, code="context_length_exceeded"), fake.answer()) as one:
        for _ in range(4):
            await one.ask()
        assert (one.asked, one.states[0]) == ([4, 4], "closed")


async def test_a_hanging_endpoint_has_a_share_of_the_turns_time() -> None:
    """With a longer time-out than the turn has, the first endpoint is given up while there is time for the second."""
    async with rig(fake.stall(), fake.answer()) as one:
        patient = ModelSettings(base_url=one.servers[0].url, timeout_seconds=3600.0)
        slow = OpenAIModel(patient)
        first = Endpoint(model=slow, account=one.endpoints[0].account, breaker=one.endpoints[0].breaker)
        one.model = Endpoints([first, one.endpoints[1]])
        ledger = Ledger(budget=Budget(seconds=2.0))
        await one.ask(ledger)
        assert [call.outcome for call in ledger.calls] == ["cancelled", "ok"]
        await slow.aclose()


async def test_the_turns_budget_holds_over_all_endpoints() -> None:
    """Asking the next endpoint is a call like any other: with the turn's calls used up nobody is asked."""
    async with rig(fake.status(500), fake.answer()) as one:
        with pytest.raises(BudgetExceeded):
            await one.ask(Ledger(budget=Budget(calls=1)))
        assert (one.asked, one.states) == ([1, 0], ["closed", "closed"])


async def test_a_turn_that_has_used_up_its_budget_says_nothing_about_the_server() -> None:
    """However many turns run out of calls, the endpoint is open to the next one."""
    spent = Ledger(budget=Budget(calls=1))
    async with rig(fake.answer()) as one:
        await one.ask(spent)
        for _ in range(4):
            with pytest.raises(BudgetExceeded):
                await one.ask(spent)
        assert (one.asked, one.states) == ([1], ["closed"])


@pytest.mark.parametrize(
    "limit", [{"tokens_a_day": CALL_TOKENS + 1}, {"cost_a_day": CALL_COST * 1.5}], ids=["tokens", "money"]
)
async def test_a_days_budget_that_is_used_up_skips_the_endpoint_until_the_day_ends(limit: dict[str, Any]) -> None:
    """Two calls reach the limit; the third goes to the next endpoint, and tomorrow the first is asked again."""
    async with rig(fake.answer(), fake.answer(), prices={"gpt-4.1-mini": PRICE}, **limit) as one:
        for _ in range(3):
            await one.ask()
        assert one.asked == [2, 1] and one.endpoints[0].account.exhausted
        one.clock.seconds = 86_400.0
        await one.ask()
        assert one.asked == [3, 1]


async def test_each_endpoint_is_counted_by_itself() -> None:
    """Calls by outcome, tokens, cached ones among them, and cost by the endpoint's own price; the turn's cost too."""
    ledger = Ledger()
    async with rig([fake.answer(), fake.status(500)], fake.answer(), prices={"gpt-4.1-mini": PRICE}) as one:
        await one.ask(ledger)
        assert ledger.usage().cost == pytest.approx(CALL_COST)
        await one.ask(ledger)
        first, second = (each.figures() for each in one.endpoints)
    assert (first.calls, second.calls) == ({"ok": 1, "unavailable": 1}, {"ok": 1})
    assert first.tokens == {
        "prompt": fake.PROMPT_TOKENS,
        "cached": fake.CACHED_TOKENS,
        "completion": fake.COMPLETION_TOKENS,
    }
    assert first.cost == pytest.approx(CALL_COST) and second.cost == 0.0
    assert first.state is BreakerState.CLOSED and not first.exhausted
    assert ledger.usage().cost is None  # the second has no price


async def test_what_fails_without_a_token_costs_nothing() -> None:
    """A preferred endpoint without prices that is away does not make the turn's cost unknown."""
    ledger = Ledger()
    async with rig(fake.status(500), fake.answer()) as one:
        one.endpoints[1].account.prices = {"gpt-4.1-mini": PRICE}
        await one.ask(ledger)
    assert ledger.usage().cost == pytest.approx(CALL_COST)


async def test_a_key_goes_to_its_own_server_alone() -> None:
    """The next endpoint gets the same prompt and not the key of the first."""
    async with rig(fake.status(500), fake.answer()) as one:
        await one.ask()
        first, second = (server.requests[0] for server in one.servers)
    assert KEY in first.headers["Authorization"] and KEY not in str(dict(second.headers))
    assert first.body["messages"] == second.body["messages"]


# --- Whole turns ----------------------------------------------------------------------------------------------------


def team() -> fake.Behaviour:
    """A model that plays every role well."""
    answers = {"draft": CITED, "verdict": ACCEPT, "chief_verdict": CHIEF_ACCEPT, "urgency": CALM}

    async def behave(received: fake.Received) -> web.StreamResponse:
        name = received.body["response_format"]["json_schema"]["name"]
        return await fake.answer(json.dumps(answers[name]))(received)

    return behave


def application(folder: Path, *servers: fake.OpenAIServer, hanging: int = 0) -> Application:
    """The shipped configuration with these servers as endpoints; the first so many are waited for briefly."""
    listed = [
        {
            "name": f"e{number}",
            "base_url": one.url,
            "large": "big",
            "small": "little",
            "timeout_seconds": 0.2 if number < hanging else PATIENCE,
        }
        for number, one in enumerate(servers)
    ]
    models = ModelSettings.model_validate({"endpoints": listed, "retries": 0})
    settings = CafiSettings(agents="llm", models=models)
    return shipped(settings.model_copy(update={"knowledge_base": knowledge_folder(folder)}))


@pytest.mark.parametrize("name", ["garbage", "hangs", "half a stream", "server error", "an hour"])
async def test_a_turn_goes_on_with_the_next_endpoint_or_quotes(name: str, tmp_path: Path) -> None:
    """One endpoint that fails is not noticed in the answer; when all do, it is quoted, which one sentence says."""
    bad = fake.too_many(retry_after="3600") if name == "an hour" else FAILURES[name]
    async with fake.OpenAIServer([bad]) as first, fake.OpenAIServer([team()]) as second:
        running = application(tmp_path / "one", first, second, hanging=int(name == "hangs"))
        async with running.closing:
            turn = await running.engine.respond(running.engine.start(), "i cant sleep")
        assert turn.reply.text == CITED["reply"] and turn.review.outage is None and not turn.review.built_in
        assert {one.body["model"] for one in second.requests} == {"big", "little"}
        assert turn.review.stages and not turn.review.stages[-1].broken
    async with fake.OpenAIServer([bad]) as first, fake.OpenAIServer([bad]) as second:
        running = application(tmp_path / "none", first, second, hanging=2 * (name == "hangs"))
        async with running.closing:
            turn = await running.engine.respond(running.engine.start(), "i cant sleep")
        assert turn.review.built_in and turn.review.outage is not None
        outage = running.engine.assistants["schizophrenia"].texts.outage
        assert turn.reply.text.startswith(outage) and turn.reply.text.count(outage) == 1


async def test_each_model_of_each_endpoint_is_asked_one_question(tmp_path: Path) -> None:
    """`check --models` says whether it answers, how long, for how many tokens and money, and in which form, a line each."""
    right = fake.answer({"seven_is_a_number": "yes", "days_of_a_week": 7})
    plain = fake.rejects_format("json_schema", "json_object", otherwise=right)
    async with AsyncExitStack() as stack:
        behaviours = (right, plain, fake.status(404), fake.answer({"days": 7}))
        servers = [await stack.enter_async_context(fake.OpenAIServer([one])) for one in behaviours]
        running = application(tmp_path, *servers)
        running.endpoints[0].account.prices = {"big": PRICE}
        found = await trials(running)
    lines = [as_line(one, "EUR") for one in found]
    assert re.fullmatch(
        r"e0, large \(big\): answers in \d\.\d s, 128 tokens, 0\.001424 EUR; structured output works \(json_schema\)\.",
        lines[0],
    )
    assert "e0, small (little): answers" in lines[1] and "cost unknown (no price)" in lines[1]
    assert lines[2].endswith("no structured output there: the form is asked for in words alone (prompt).")
    assert lines[4].startswith(
        "e2, large (big): models.endpoints.e2.large or models.endpoints.e2.base_url: no such model"
    )
    assert (
        lines[7] == "e3, small (little): The answer 'check' does not fit its form: seven_is_a_number, days_of_a_week."
    )
    document = as_document(found[0])
    assert (document["works"], document["cached_tokens"], document["calls"]) == (True, fake.CACHED_TOKENS, 1)
    assert document["structured_output"] == "json_schema" and document["cost"] == pytest.approx(CALL_COST)
    assert [len(one.requests) for one in servers] == [2, 6, 2, 2]


async def test_without_a_model_there_is_none_to_ask(tmp_path: Path) -> None:
    """`check --models` with built-in agents alone says so, and where to read on."""
    with pytest.raises(ConfigurationError, match=r"docs/howto/models\.md"):
        await trials(shipped())
