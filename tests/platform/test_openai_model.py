"""The OpenAI client against a server that does what real ones do, with the real library in between."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest
from pydantic import BaseModel, SecretStr

from engine.exceptions import (
    BudgetExceeded,
    ConfigurationError,
    ModelDeclined,
    ModelError,
    ModelMisconfigured,
    ModelOutputError,
    ModelUnavailable,
    PromptTooLong,
)
from engine.models.ledger import Ledger
from engine.models.openai_model import OpenAIModel
from engine.models.protocol import Completion, Finish, Prompt, PromptMessage
from engine.models.structured import schema_of
from engine.settings import Budget, ModelSettings
from engine.types import Tier
from tests.fakes import openai_server as fake

KEY = "sk-very-secret-0123456789"
SAID = "Everybody on the bus knows my name."


class Verdict(BaseModel):
    decision: str
    explanation: str = ""


PROMPT = Prompt(
    role="judge",
    tier=Tier.SMALL,
    messages=(PromptMessage(role="system", content="Judge."), PromptMessage(role="user", content=SAID)),
    schema_name="verdict",
    schema=schema_of(Verdict),
    max_tokens=300,
)


@asynccontextmanager
async def connected(
    *behaviours: fake.Behaviour, official: bool = False, **settings: Any
) -> AsyncIterator[tuple[OpenAIModel, fake.OpenAIServer]]:
    async with fake.OpenAIServer(behaviours) as server:
        url = server.origin if settings.get("provider") == "azure" else server.url
        values = {"base_url": url, "api_key": SecretStr(KEY), **settings}
        model = OpenAIModel(ModelSettings(**values), official_hosts={"127.0.0.1"} if official else ())
        try:
            yield model, server
        finally:
            await model.aclose()


async def failing(behaviour: fake.Behaviour, **settings: Any) -> ModelError:
    """The error a behaviour ends in."""
    async with connected(behaviour, **settings) as (model, _):
        with pytest.raises(ModelError) as caught:
            await model.complete(PROMPT, Ledger())
    return caught.value


def formats(server: fake.OpenAIServer) -> list[str]:
    return [body.get("response_format", {}).get("type", "none") for body in server.bodies]


# --- Outcomes -----------------------------------------------------------------------------------------------


async def test_usage_is_the_server_s() -> None:
    """Tokens, also those the provider had cached, are those the server counted."""
    async with connected(fake.answer()) as (model, _):
        completion = await model.complete(PROMPT, Ledger())
    assert completion == Completion(
        text=json.dumps(fake.VERDICT),
        finish=Finish.STOP,
        model="gpt-4.1-mini",
        prompt_tokens=fake.PROMPT_TOKENS,
        completion_tokens=fake.COMPLETION_TOKENS,
        cached_tokens=fake.CACHED_TOKENS,
        form="json_schema",
    )


async def test_missing_usage_is_estimated() -> None:
    """Where a server counts no tokens they are estimated, so that budgets hold."""
    ledger = Ledger()
    async with connected(fake.without_usage()) as (model, _):
        completion = await model.complete(PROMPT, ledger)
    assert completion.prompt_tokens >= len(SAID) // 4
    assert completion.completion_tokens >= len(completion.text) // 4
    assert ledger.usage().prompt_tokens == completion.prompt_tokens


OUTCOMES = [
    (fake.status(401), ModelMisconfigured, "models.api_key"),
    (fake.status(403), ModelMisconfigured, "models.api_key"),
    (fake.status(402), ModelMisconfigured, "models.api_key"),
    (fake.status(404), ModelMisconfigured, "models.small"),
    (fake.status(404), ModelMisconfigured, "models.base_url"),
    (fake.status(405), ModelMisconfigured, "models.base_url"),
    (fake.html(), ModelMisconfigured, "models.base_url"),
    (fake.raw('{"hello": "world"}'), ModelMisconfigured, "models.base_url"),
    (fake.raw("[]"), ModelMisconfigured, "models.base_url"),
    (fake.redirect("http://127.0.0.1:1/v1"), ModelMisconfigured, "models.base_url"),
    (fake.failure(400, param="model"), ModelMisconfigured, "models.small"),
    (fake.failure(400, code="context_length_exceeded"), PromptTooLong, "longer"),
    (fake.raw('{"error": {"message": "overloaded"}}'), ModelUnavailable, "server"),
    (fake.status(500), ModelUnavailable, "HTTP 500"),
    (fake.status(503), ModelUnavailable, "HTTP 503"),
    (fake.too_many(), ModelUnavailable, "HTTP 429"),
    (fake.failure(429, code="insufficient_quota"), ModelUnavailable, "quota"),
    (fake.refusal(), ModelDeclined, "refused"),
    (fake.content_filter(), ModelDeclined, "refused"),
    (fake.azure_content_filter(), ModelDeclined, "filtered"),
    (fake.empty(), ModelOutputError, "empty"),
    (fake.answer(None), ModelOutputError, "empty"),
    (fake.no_choices(), ModelOutputError, "empty"),
    (fake.raw(""), ModelOutputError, "cut off"),
    (fake.half_body(), ModelOutputError, "cut off"),
    (fake.half_stream(), ModelUnavailable, "connection"),
    (fake.garbage(), ModelMisconfigured, "models.base_url"),
]


@pytest.mark.parametrize(("behaviour", "error", "words"), OUTCOMES)
async def test_every_failure_has_its_error(behaviour: fake.Behaviour, error: type[ModelError], words: str) -> None:
    """Each way in which a server can fail becomes the house's error, with words an operator can act on."""
    caught = await failing(behaviour)
    assert type(caught) is error
    assert words in str(caught)


@pytest.mark.parametrize(("behaviour", "error", "words"), OUTCOMES)
async def test_no_error_shows_key_or_prompt(behaviour: fake.Behaviour, error: type[ModelError], words: str) -> None:
    """Neither the key nor what a person wrote is in an error or its causes, though servers repeat both."""
    shown = "".join(traceback.format_exception(await failing(behaviour)))
    assert KEY not in shown
    assert SAID not in shown


async def test_retries_are_logged_without_text(
    retries: None, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """The log of a retry holds neither the key nor what a person wrote."""
    with caplog.at_level(logging.INFO):
        async with connected(fake.status(500), fake.answer()) as (model, _):
            await model.complete(PROMPT, Ledger())
    written = capsys.readouterr().out + caplog.text
    assert "retry" in written
    assert KEY not in written
    assert SAID not in written


async def test_the_cause_is_chained() -> None:
    """The library's own error stays reachable as the cause."""
    caught = await failing(fake.status(401))
    assert isinstance(caught.__cause__, openai.AuthenticationError)


async def test_missing_key_is_told_from_a_wrong_one() -> None:
    """A server that wants a key where none is set says so in the error."""
    assert "none is set" in str(await failing(fake.status(401), api_key=None))


async def test_role_with_a_model_of_its_own_is_named() -> None:
    """An unknown model is reported with the setting that named it."""
    caught = await failing(fake.status(404), roles={"judge": "no-such-model"})
    assert "models.roles.judge" in str(caught)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://model.invalid/v1", "https://127.0.0.1:9/v1"])
async def test_unreachable_address_is_unavailable(url: str) -> None:
    """A refused connection and a name that does not resolve are an outage."""
    caught = await failing(fake.answer(), base_url=url)
    assert type(caught) is ModelUnavailable
    assert caught.__cause__ is not None


async def test_garbled_http_is_unavailable() -> None:
    """A server that does not speak HTTP raises no foreign exception."""

    async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(garble, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert type(await failing(fake.answer(), base_url=url)) is ModelUnavailable


async def test_library_s_own_transport_does_as_well(monkeypatch: pytest.MonkeyPatch, retries: None) -> None:
    """An install without aiohttp answers, retries and fails in the same way."""
    monkeypatch.setattr("engine.models.openai_model.find_spec", lambda name: None)
    async with connected(fake.status(500), fake.stall(), fake.answer(), timeout_seconds=1.0) as (model, _):
        assert (await model.complete(PROMPT, Ledger())).text == json.dumps(fake.VERDICT)
    assert type(await failing(fake.answer(), base_url="http://127.0.0.1:9/v1")) is ModelUnavailable


async def test_stall_ends_with_the_time_out() -> None:
    """A server that does not answer costs one time-out and is an outage."""
    async with asyncio.timeout(20):
        caught = await failing(fake.stall(), timeout_seconds=0.1)
    assert type(caught) is ModelUnavailable


async def test_stall_ends_with_the_turn() -> None:
    """A call ends when the seconds of the turn do, however long its own time-out is."""
    async with asyncio.timeout(20), connected(fake.stall()) as (model, _):
        ledger = Ledger(budget=Budget(seconds=0.5))  # its seconds begin now
        with pytest.raises(ModelUnavailable):
            await model.complete(PROMPT, ledger)
    assert [call.outcome for call in ledger.calls] == ["unavailable"]


# --- Retries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 529])
async def test_passing_failures_are_retried(retries: None, code: int) -> None:
    """A failure that may pass is tried again, and the call counts once."""
    ledger = Ledger()
    async with connected(fake.status(code), fake.status(code), fake.answer()) as (model, server):
        await model.complete(PROMPT, ledger)
    assert len(server.requests) == 3
    assert [call.outcome for call in ledger.calls] == ["ok"]


@pytest.mark.parametrize("code", [401, 403, 404])
async def test_lasting_failures_are_not_retried(retries: None, code: int) -> None:
    """A wrong key or name is wrong the second time, too."""
    async with connected(fake.status(code)) as (model, server):
        with pytest.raises(ModelMisconfigured):
            await model.complete(PROMPT, Ledger())
    assert len(server.requests) == 1


async def test_retries_end(retries: None) -> None:
    """A server that stays down is tried as often as configured and no more."""
    async with connected(fake.status(500), retries=3) as (model, server):
        with pytest.raises(ModelUnavailable):
            await model.complete(PROMPT, Ledger())
    assert len(server.requests) == 4


async def test_spent_quota_is_not_retried(retries: None) -> None:
    """A 429 for want of money does not pass by waiting."""
    async with connected(fake.failure(429, code="insufficient_quota")) as (model, server):
        with pytest.raises(ModelUnavailable):
            await model.complete(PROMPT, Ledger())
    assert len(server.requests) == 1


async def test_stalled_attempt_is_retried(retries: None) -> None:
    """An attempt that times out is tried again."""
    async with connected(fake.stall(), fake.answer(), timeout_seconds=1.0) as (model, server):
        await model.complete(PROMPT, Ledger())
    assert len(server.requests) == 2


async def test_retry_after_is_honoured(real_waits: None) -> None:
    """The wait a server asks for is kept."""
    ledger = Ledger()
    async with connected(fake.too_many(retry_after_ms="150"), fake.answer()) as (model, _):
        await model.complete(PROMPT, ledger)
    (call,) = ledger.calls
    assert call.ended - call.started >= 0.15


async def test_retry_after_beyond_the_turn_fails_at_once(real_waits: None) -> None:
    """A wait that is longer than the turn has left is not begun."""
    ledger = Ledger()
    async with asyncio.timeout(20), connected(fake.too_many(retry_after="3600")) as (model, server):
        with pytest.raises(ModelUnavailable):
            await model.complete(PROMPT, ledger)
    assert len(server.requests) == 1


# --- Requests -----------------------------------------------------------------------------------------------


async def test_official_host_is_told_not_to_store() -> None:
    """OpenAI itself is told to keep no log, and gets the newer name of the token cap."""
    async with connected(fake.answer(), official=True) as (model, server):
        await model.complete(PROMPT, Ledger())
    (body,) = server.bodies
    assert body["store"] is False
    assert body["max_completion_tokens"] == 300
    assert "max_tokens" not in body


async def test_operator_may_let_openai_store() -> None:
    """The setting `store` is passed on to OpenAI."""
    async with connected(fake.answer(), official=True, store=True) as (model, server):
        await model.complete(PROMPT, Ledger())
    assert server.bodies[0]["store"] is True


async def test_other_servers_get_only_what_all_know() -> None:
    """Compatible servers are sent neither `store` nor the newer name of the token cap."""
    async with connected(fake.answer(), store=True) as (model, server):
        await model.complete(PROMPT, Ledger())
    (body,) = server.bodies
    assert body.keys() == {"model", "messages", "response_format", "max_tokens"}


async def test_request_is_as_configured() -> None:
    """Model, temperature, key and messages are those of settings and prompt."""
    async with connected(fake.answer(), temperature=0.2) as (model, server):
        await model.complete(PROMPT, Ledger())
    (received,) = server.requests
    assert received.path == "/v1/chat/completions"
    assert received.headers["Authorization"] == f"Bearer {KEY}"
    assert (received.body["model"], received.body["temperature"]) == ("gpt-4.1-mini", 0.2)
    assert received.body["messages"][1] == {"role": "user", "content": SAID}


async def test_no_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server works without a key, and no key from the environment reaches it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    async with connected(fake.answer(), api_key=None) as (model, server):
        await model.complete(PROMPT, Ledger())
    headers = str(server.requests[0].headers)
    assert KEY not in headers
    assert "org-secret" not in headers


async def test_azure_is_addressed_by_deployment() -> None:
    """Azure gets the deployment in the path, the version in the query and the key in its own header."""
    async with connected(fake.answer(), provider="azure", small="my-deployment") as (model, server):
        await model.complete(PROMPT, Ledger())
    (received,) = server.requests
    assert received.path == "/openai/deployments/my-deployment/chat/completions"
    assert received.query == {"api-version": "2024-10-21"}
    assert received.headers["api-key"] == KEY
    assert "max_completion_tokens" in received.body
    assert "store" not in received.body


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"base_url": "localhost:8080"}, "models.base_url"),
        ({"base_url": "https://"}, "models.base_url"),
        ({"provider": "azure"}, "models.base_url"),
        ({"api_key": SecretStr("sk-\u2019quoted")}, "models.api_key"),
    ],
)
async def test_impossible_settings_are_refused(settings: dict[str, Any], key: str) -> None:
    """An address or key that cannot be one is an error at the start, which does not show the key."""
    with pytest.raises(ConfigurationError, match=key) as caught:
        OpenAIModel(ModelSettings(**settings))
    assert "quoted" not in str(caught.value)


# --- Structured output and parameters -----------------------------------------------------------------------


async def test_schema_is_sent_strict() -> None:
    """The schema allows no other properties and requires all, as strict structured output wants it."""
    async with connected(fake.answer()) as (model, server):
        await model.complete(PROMPT, Ledger())
    form = server.bodies[0]["response_format"]["json_schema"]
    assert (form["name"], form["strict"]) == ("verdict", True)
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["required"] == ["decision", "explanation"]


@pytest.mark.parametrize("code", [400, 422, 501])
@pytest.mark.parametrize("message", ["", "response_format: json_schema is not supported"])
async def test_schema_falls_back_to_json_object(code: int, message: str) -> None:
    """A server without schemas gets the schema in words; this is remembered, and each request is booked."""
    ledger = Ledger()
    behaviour = fake.rejects_format("json_schema", code=code, message=message)
    async with connected(behaviour) as (model, server):
        await model.complete(PROMPT, ledger)
        await model.complete(PROMPT, ledger)
    assert formats(server) == ["json_schema", "json_object", "json_object"]
    added = server.bodies[1]["messages"][-1]
    assert added["role"] == "system"
    assert "JSON schema" in added["content"]
    assert [call.outcome for call in ledger.calls] == ["unsupported", "ok", "ok"]


async def test_json_object_falls_back_to_the_prompt() -> None:
    """A server without any structured output gets plain prompts, and JSON is found in what it says."""
    talk = fake.answer('Here you are:\n```json\n{"decision": "ACCEPT"}\n```\nAnything else?')
    behaviour = fake.rejects_format("json_schema", "json_object", otherwise=talk)
    async with connected(behaviour) as (model, server):
        completion = await model.complete(PROMPT, Ledger())
    assert formats(server) == ["json_schema", "json_object", "none"]
    assert completion.text == '{"decision": "ACCEPT"}'
    first, last = server.bodies[-1]["messages"]
    assert "JSON schema" in first["content"]
    assert last["content"] == SAID


async def test_downgrade_is_remembered_by_model() -> None:
    """What one model cannot do says nothing about another."""
    large = Prompt(role="agent", tier=Tier.LARGE, messages=PROMPT.messages, schema_name="v", schema=PROMPT.schema)
    behaviours = [fake.rejects_format("json_schema"), fake.rejects_format("json_schema"), fake.answer()]
    async with connected(*behaviours) as (model, server):
        await model.complete(PROMPT, Ledger())
        await model.complete(large, Ledger())
    assert formats(server) == ["json_schema", "json_object", "json_schema"]


async def test_downgrade_is_not_learnt_from_a_failure() -> None:
    """A server that refuses every form is misconfigured, and the next call starts afresh."""
    async with connected(*[fake.status(400)] * 3, fake.answer()) as (model, server):
        with pytest.raises(ModelMisconfigured, match=r"models\.small"):
            await model.complete(PROMPT, Ledger())
        await model.complete(PROMPT, Ledger())
    assert formats(server) == ["json_schema", "json_object", "none", "json_schema"]


@pytest.mark.parametrize(
    ("mode", "sent"), [("json_schema", "json_schema"), ("json_object", "json_object"), ("prompt", "none")]
)
async def test_mode_can_be_forced(mode: str, sent: str) -> None:
    """A configured mode is used from the first call on."""
    async with connected(fake.answer(), structured_output=mode) as (model, server):
        await model.complete(PROMPT, Ledger())
    assert formats(server) == [sent]


async def test_forced_mode_is_not_left() -> None:
    """A forced mode that the server refuses is an error, not a downgrade."""
    async with connected(fake.rejects_format("json_schema"), structured_output="json_schema") as (
        model,
        server,
    ):
        with pytest.raises(ModelMisconfigured, match=r"models\.structured_output"):
            await model.complete(PROMPT, Ledger())
    assert formats(server) == ["json_schema"]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("code", [400, 422])
async def test_unknown_parameters_are_left_out(named: bool, code: int) -> None:
    """Parameters a server refuses are left out one by one, and not sent again."""
    behaviour = fake.rejects("temperature", "seed", "store", code=code, named=named)
    async with connected(behaviour, official=True, temperature=0.0, seed=7) as (model, server):
        await model.complete(PROMPT, Ledger())
        await model.complete(PROMPT, Ledger())
    sent: Sequence[set[str]] = [body.keys() & {"temperature", "seed", "store"} for body in server.bodies]
    assert sent == [{"temperature", "seed", "store"}, {"seed", "store"}, {"store"}, set(), set()]
    assert server.bodies[0]["seed"] == 7
    assert set(formats(server)) == {"json_schema"}


@pytest.mark.parametrize("official", [True, False])
async def test_token_cap_is_renamed(official: bool) -> None:
    """A server that knows the cap by its other name gets that one."""
    names = ["max_completion_tokens", "max_tokens"] if official else ["max_tokens", "max_completion_tokens"]
    async with connected(fake.rejects(names[0]), official=official) as (model, server):
        await model.complete(PROMPT, Ledger())
    assert [name for body in server.bodies for name in names if name in body] == names
    assert server.bodies[-1][names[1]] == 300


async def test_resending_keeps_to_the_budget() -> None:
    """A request that is sent again in a simpler form is a call like any other."""
    async with connected(fake.rejects_format("json_schema")) as (model, server):
        with pytest.raises(BudgetExceeded):
            await model.complete(PROMPT, Ledger(budget=Budget(calls=1)))
    assert len(server.requests) == 1
