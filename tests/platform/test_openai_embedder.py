"""Embeddings over HTTP against a server on the loopback address, with the real library in between."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import stamina.instrumentation
from pydantic import SecretStr

from bots.settings import CafiSettings
from engine.exceptions import (
    BudgetExceeded,
    ConfigurationError,
    ModelDeclined,
    ModelError,
    ModelMisconfigured,
    ModelOutputError,
    ModelUnavailable,
)
from engine.models.ledger import Ledger
from engine.models.openai_embeddings import BATCH, OpenAIEmbedder
from engine.settings import Budget, ModelSettings
from tests.fakes import openai_server as fake
from tests.team import knowledge_folder, shipped

KEY = "sk-very-secret-0123456789"
SAID = "Everybody on the bus knows my name."


@asynccontextmanager
async def connected(
    *behaviours: fake.Behaviour, **settings: Any
) -> AsyncIterator[tuple[OpenAIEmbedder, fake.OpenAIServer]]:
    async with fake.OpenAIServer(behaviours) as server:
        url = server.origin if settings.get("provider") == "azure" else server.url
        values = {"base_url": url, "api_key": SecretStr(KEY), "embeddings": "small-vectors", **settings}
        embedder = OpenAIEmbedder(ModelSettings(**values))
        try:
            yield embedder, server
        finally:
            await embedder.aclose()


async def test_vectors_come_in_the_order_of_the_texts() -> None:
    """The server's index decides which vector is whose, and the call is counted with its tokens."""
    ledger = Ledger()
    async with connected(fake.embeddings(backwards=True)) as (embedder, server):
        vectors = await embedder.embed(["aa", "b"], ledger)
    assert vectors == [[2.0, 2.0, 1.0], [1.0, 0.0, 1.0]]
    assert server.requests[0].path == "/v1/embeddings"
    assert server.bodies == [{"model": "small-vectors", "input": ["aa", "b"]}]
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    [call] = ledger.calls
    assert (call.role, call.model, call.prompt_tokens, call.outcome) == (
        "embeddings",
        "small-vectors",
        fake.PROMPT_TOKENS,
        "ok",
    )


async def test_many_texts_go_in_several_requests() -> None:
    """A request holds no more than a batch, and each one is a call of its own."""
    ledger = Ledger()
    async with connected(fake.embeddings(usage=False)) as (embedder, server):
        vectors = await embedder.embed(["x" * number for number in range(1, BATCH + 2)], ledger)
    assert [vector[0] for vector in vectors] == list(range(1, BATCH + 2))
    assert [len(body["input"]) for body in server.bodies] == [BATCH, 1]
    assert len(ledger.calls) == 2 and all(call.prompt_tokens > 0 for call in ledger.calls)


async def test_azure_has_the_deployment_in_the_address() -> None:
    """On Azure the embedding model is a deployment, and the key has a header of its own."""
    async with connected(fake.embeddings(), provider="azure") as (embedder, server):
        await embedder.embed(["a"], Ledger())
    assert server.requests[0].path == "/openai/deployments/small-vectors/embeddings"
    assert server.requests[0].headers["api-key"] == KEY


FAILURES = [
    (fake.status(401), ModelMisconfigured, "models.api_key"),
    (fake.status(404), ModelMisconfigured, "models.embeddings"),
    (fake.status(400), ModelMisconfigured, "models.embeddings"),
    (fake.failure(400, code="context_length_exceeded"), ModelMisconfigured, "longer"),
    (fake.azure_content_filter(), ModelDeclined, "filtered"),
    (fake.status(500), ModelUnavailable, "HTTP 500"),
    (fake.too_many(), ModelUnavailable, "HTTP 429"),
    (fake.html(), ModelOutputError, "models.embeddings"),
    (fake.half_body(), ModelOutputError, "models.embeddings"),
    (fake.answer(), ModelOutputError, "models.embeddings"),
    (fake.raw('{"data": [{"index": 0, "embedding": [NaN]}]}'), ModelOutputError, "models.embeddings"),
    (fake.embeddings(fewer=1), ModelOutputError, "models.embeddings"),
]


@pytest.mark.parametrize(("behaviour", "kind", "named"), FAILURES)
async def test_every_failure_is_one_of_the_model_s_errors(
    behaviour: fake.Behaviour, kind: type[ModelError], named: str
) -> None:
    """A failure names the setting at fault and repeats neither the key nor a text."""
    ledger = Ledger()
    async with connected(behaviour) as (embedder, _):
        with pytest.raises(ModelError) as caught:
            await embedder.embed([SAID], ledger)
    assert type(caught.value) is kind and named in str(caught.value)
    written = "".join(traceback.format_exception(caught.value))
    assert KEY not in written and SAID not in written
    assert [call.outcome == "ok" for call in ledger.calls] == [False]


async def test_a_passing_failure_is_tried_again(retries: None) -> None:
    """A server error is followed by another attempt within the same call."""
    ledger = Ledger()
    async with connected(fake.status(500), fake.embeddings()) as (embedder, server):
        assert len(await embedder.embed(["a"], ledger)) == 1
    assert len(server.requests) == 2 and len(ledger.calls) == 1


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    """An attempt takes no longer than the configured time."""
    async with connected(fake.stall(), timeout_seconds=0.1) as (embedder, _):
        with pytest.raises(ModelUnavailable):
            await embedder.embed(["a"], Ledger())


async def test_a_spent_budget_sends_nothing() -> None:
    """Where the turn has no call left, no request is made."""
    ledger = Ledger(budget=Budget(calls=1))
    ledger.reserve()
    async with connected(fake.embeddings()) as (embedder, server):
        with pytest.raises(BudgetExceeded):
            await embedder.embed(["a"], ledger)
    assert server.requests == []


def test_vectors_of_different_models_or_servers_are_told_apart() -> None:
    """The name under which vectors are kept depends on model and address, and shows neither."""
    here, there = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"
    chosen = [(here, "a"), (here, "b"), (there, "a"), (here, "a")]
    names = [OpenAIEmbedder(ModelSettings(base_url=url, embeddings=model)).name for url, model in chosen]
    assert len(set(names)) == 3 and names[0] == names[3] and "127" not in names[0]


def test_an_embedder_needs_a_model() -> None:
    """Without a model's name there is no embedder."""
    with pytest.raises(ConfigurationError, match=r"models\.embeddings"):
        OpenAIEmbedder(ModelSettings())


@pytest.fixture
def retry_hooks() -> Iterator[None]:
    """What an application switches off for the process is on again afterwards."""
    hooks = stamina.instrumentation.get_on_retry_hooks()
    yield
    stamina.instrumentation.set_on_retry_hooks(hooks)


async def test_the_configured_application_embeds_through_the_server(retry_hooks: None, tmp_path: Path) -> None:
    """Where `models.embeddings` is set, the assistant's sources are ranked by what the server says."""
    async with fake.OpenAIServer([fake.embeddings()]) as server:
        settings = CafiSettings(
            models={"base_url": server.url, "embeddings": "small-vectors"}, cache_folder=tmp_path / "cache"
        ).model_copy(update={"knowledge_base": knowledge_folder(tmp_path / "kb")})
        running = shipped(settings)
        async with running.closing:
            embedded = running.assistant("schizophrenia").embedded
            assert embedded is not None and server.requests == []
            ranked = await embedded.rank("Sleep", Ledger())
    assert {one.source for one in ranked} == {"sleep", "voices"}
    assert list((tmp_path / "cache" / "embeddings").glob("*.npy"))
