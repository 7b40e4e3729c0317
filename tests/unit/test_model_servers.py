"""Model servers on this computer: found by a list of models alone, told of in one line, never used unasked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from bots.model_servers import LARGEST, USUAL_PORTS, ModelServer, local_servers, unused_servers
from bots.settings import CafiSettings
from engine import ModelSettings
from tests.fakes.openai_server import Behaviour, OpenAIServer, Received

MODELS = {
    "object": "list",
    "data": [{"id": "llama3.1:8b", "object": "model"}, {"id": "org/tiny@q4", "object": "model"}],
}
LONG = 5.0
"""Seconds nobody waits for: a server that answers is there long before."""


def gives(answer: Any, *, status: int = 200) -> Behaviour:
    """Answer a question for the list of models."""

    async def behave(received: Received) -> web.StreamResponse:
        if isinstance(answer, str):
            return web.Response(text=answer, status=status)
        return web.json_response(answer, status=status)

    return behave


def port_of(server: OpenAIServer) -> int:
    """Where a stand-in listens."""
    return urlsplit(server.url).port or 0


def settings(**changes: Any) -> CafiSettings:
    """Settings with nothing configured, but for changes."""
    return CafiSettings().model_copy(update={"agents": "auto", "models": ModelSettings(), **changes})


async def test_a_server_with_models_is_found(unused_tcp_port: int) -> None:
    """The server that lists models is found with their names, and a port where nobody listens is passed over."""
    async with OpenAIServer([gives(MODELS)]) as server:
        port = port_of(server)
        found = await local_servers({unused_tcp_port: "Nobody", port: "Ollama"}, seconds=LONG)
    assert found == (ModelServer(port=port, usual="Ollama", models=("llama3.1:8b", "org/tiny@q4")),)


async def test_what_is_asked_says_nothing_of_anybody() -> None:
    """One GET of the list, without a body and without a key, is all that is sent."""
    async with OpenAIServer([gives(MODELS)]) as server:
        await local_servers({port_of(server): "Ollama"}, seconds=LONG)
    (asked,) = server.requests
    assert (asked.path, dict(asked.query), asked.body) == ("/v1/models", {}, {})
    assert {name.casefold() for name in asked.headers} <= {
        "host",
        "accept",
        "accept-encoding",
        "connection",
        "user-agent",
    }


@pytest.mark.parametrize(
    "answer",
    [
        gives("<html>A page</html>"),
        gives({"data": []}),
        gives({"data": [{"name": "no id"}]}),
        gives({"data": [{"id": "\x1b[2Jboo"}]}),
        gives({"data": [{"id": "a b"}]}),
        gives(["llama"]),
        gives(MODELS, status=401),
        gives({**MODELS, "padding": "x" * LARGEST}),
    ],
    ids=["a page", "no model", "no id", "a control sign", "a blank", "a list alone", "refused", "too long"],
)
async def test_anything_else_is_ignored(answer: Behaviour) -> None:
    """What is no short list of models with plain names is no model server."""
    async with OpenAIServer([answer]) as server:
        assert await local_servers({port_of(server): "vLLM"}, seconds=LONG) == ()
        assert len(server.requests) == 1


async def test_a_server_that_leads_elsewhere_is_not_followed() -> None:
    """An address to go on to is not asked, so that nothing but the usual ports of this computer is."""
    async with OpenAIServer([gives(MODELS)]) as other:

        async def leads(received: Received) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"{other.url}/models"})

        async with OpenAIServer([leads]) as server:
            assert await local_servers({port_of(server): "vLLM"}, seconds=LONG) == ()
    assert other.requests == []


async def test_a_server_that_says_nothing_does_not_hide_another() -> None:
    """All are asked at once: when the time is over, who has answered is found and who has not is left."""

    async def silent(received: Received) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with OpenAIServer([silent]) as slow, OpenAIServer([gives(MODELS)]) as quick:
        ports: Mapping[int, str] = {port_of(slow): "vLLM", port_of(quick): "Ollama"}
        found = await local_servers(ports, seconds=1.0)
    assert [one.usual for one in found] == ["Ollama"]


@pytest.mark.parametrize(
    "changes",
    [
        {"agents": "builtin"},
        {"agents": "llm"},
        {"models": ModelSettings(base_url="http://127.0.0.1:9/v1")},
        {"models": ModelSettings.model_validate({"api_key": "k"})},
    ],
    ids=["built-in wanted", "model wanted", "an address", "a key"],
)
async def test_nobody_is_asked_where_something_is_configured(changes: dict[str, Any]) -> None:
    """With a key, an address or a choice of agents, no port is looked at."""
    async with OpenAIServer([gives(MODELS)]) as server:
        assert await unused_servers(settings(**changes), {port_of(server): "Ollama"}) == ()
    assert server.requests == []


async def test_the_page_itself_is_not_asked() -> None:
    """CAFI's own page may have one of the usual ports; it does not ask itself."""
    async with OpenAIServer([gives(MODELS)]) as server:
        port = port_of(server)
        page = settings().web.model_copy(update={"port": port, "enabled": True})
        assert await unused_servers(settings(web=page), {port: "llama.cpp"}) == ()
    assert server.requests == []
    assert await unused_servers(settings(), {}) == ()


def test_one_line_says_that_it_is_there_and_how_to_use_it() -> None:
    """The line names address, models and the settings, and that it is not used; of many models it names three."""
    line = ModelServer(port=11434, usual="Ollama", models=("a:1", "b", "c", "d", "e")).as_line()
    assert "\n" not in line
    assert "models: a:1, b, c and 2 more" in line
    assert "not used" in line
    url = "http://127.0.0.1:11434/v1"
    assert line.endswith(f"CAFI_MODELS__BASE_URL={url} CAFI_MODELS__LARGE=a:1 CAFI_MODELS__SMALL=a:1")


def test_the_usual_ports() -> None:
    """Looked at are the ports that Ollama, LM Studio, llama.cpp and vLLM have when nobody changes them."""
    assert dict(USUAL_PORTS) == {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
