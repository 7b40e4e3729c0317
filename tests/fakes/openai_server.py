"""An OpenAI-compatible server on the loopback address that behaves as it is told, request by request.

    async with OpenAIServer([status(500), answer("{}")]) as server:
        model = OpenAIModel(ModelSettings(base_url=server.url))

The behaviours are used up in order; the last one is repeated.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

Behaviour: TypeAlias = Callable[["Received"], Awaitable[web.StreamResponse]]

VERDICT = {"decision": "ACCEPT", "explanation": ""}
PROMPT_TOKENS, COMPLETION_TOKENS, CACHED_TOKENS = 120, 8, 64


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request as the server saw it."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: dict[str, Any]
    request: web.Request = field(repr=False)


@dataclass
class OpenAIServer:
    """The server; `url` is the base address, `requests` what came in, `waiting` is set while it stalls."""

    behaviours: Sequence[Behaviour]
    requests: list[Received] = field(default_factory=list)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of all requests in order."""
        return [received.body for received in self.requests]

    async def __aenter__(self) -> OpenAIServer:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.url = f"{self.origin}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.text() or "{}")
        query, headers = dict(request.query), dict(request.headers)
        received = Received(path=request.path, query=query, headers=headers, body=body, request=request)
        behaviour = self.behaviours[min(len(self.requests), len(self.behaviours) - 1)]
        self.requests.append(received)
        return await behaviour(received)


def answer(content: object = VERDICT, *, usage: bool = True, finish: str = "stop", **message: object) -> Behaviour:
    """A completion; `content` is text, or something to write as JSON; `message` adds to the message."""

    async def behave(received: Received) -> web.StreamResponse:
        text = content if isinstance(content, str) or content is None else json.dumps(content)
        completion: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": received.body.get("model"),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
        }
        if usage:
            completion["usage"] = {
                "prompt_tokens": PROMPT_TOKENS,
                "completion_tokens": COMPLETION_TOKENS,
                "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
                "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
            }
        return web.json_response(completion)

    return behave


def embeddings(*, backwards: bool = False, usage: bool = True, fewer: int = 0) -> Behaviour:
    """One vector a text: its length, its vowels and one; `backwards` gives them last first, `fewer` leaves some out."""

    async def behave(received: Received) -> web.StreamResponse:
        texts = received.body["input"]
        data = [
            {"object": "embedding", "index": number, "embedding": [len(text), sum(map(text.count, "aeiou")), 1.0]}
            for number, text in enumerate(texts)
        ]
        data = data[: len(data) - fewer]
        body: dict[str, Any] = {"object": "list", "data": data[::-1] if backwards else data, "model": "m"}
        if usage:
            body["usage"] = {"prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS}
        return web.json_response(body)

    return behave


def without_usage() -> Behaviour:
    """A completion of a server that counts no tokens."""
    return answer(usage=False)


def empty() -> Behaviour:
    """A completion with an empty string."""
    return answer("")


def no_choices() -> Behaviour:
    """A completion without any choice."""
    return raw(json.dumps({"id": "chatcmpl-1", "choices": []}))


def half_answer() -> Behaviour:
    """A completion whose text is the first half of a JSON object."""
    return answer('{"decision": "ACC')


def half_body() -> Behaviour:
    """A response whose own JSON breaks off."""
    return raw('{"id": "chatcmpl-1", "choices": [{"mess')


def half_stream() -> Behaviour:
    """A response that promises more than it sends before the connection ends."""

    async def behave(received: Received) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "4000"})
        await response.prepare(received.request)
        await response.write(b'{"id": "chatcmpl-1", "choices": [{"message": {"content": "')
        assert received.request.transport is not None
        received.request.transport.close()
        return response

    return behave


def garbage() -> Behaviour:
    """Bytes that mean nothing, said to be a completion."""

    async def behave(received: Received) -> web.StreamResponse:
        return web.Response(body=bytes(range(255, 0, -1)) * 20, content_type="application/json")

    return behave


def cut_off() -> Behaviour:
    """A completion that reached its cap, as valid JSON by chance."""
    return answer(finish="length")


def refusal() -> Behaviour:
    """A completion in which the model refuses."""
    return answer(None, refusal="I cannot help with that.")


def content_filter() -> Behaviour:
    """A completion that the provider's filter stopped."""
    return answer("", finish="content_filter")


def azure_content_filter() -> Behaviour:
    """Azure's refusal of a prompt."""
    return failure(400, code="content_filter", message="The response was filtered", param="prompt")


def raw(text: str, *, content_type: str = "application/json", status: int = 200) -> Behaviour:
    """Any body at all."""

    async def behave(received: Received) -> web.StreamResponse:
        return web.Response(text=text, content_type=content_type, status=status)

    return behave


def html() -> Behaviour:
    """A web page with status 200, as a captive portal or a wrong path gives."""
    return raw("<!doctype html><title>Sign in</title>", content_type="text/html")


def failure(
    code_of_status: int,
    *,
    message: str = "",
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """An error in OpenAI's form. Like the real one it may repeat key and prompt, so here it always does."""

    async def behave(received: Received) -> web.StreamResponse:
        key = received.headers.get("Authorization", "") + received.headers.get("api-key", "")
        said = " ".join(str(one["content"]) for one in received.body.get("messages", ()))
        said += str(received.body.get("input", ""))
        error = {"message": f"{message} [{key}] [{said}]", "type": "error", "code": code, "param": param}
        return web.json_response({"error": error}, status=code_of_status, headers=headers)

    return behave


def status(code: int) -> Behaviour:
    """An error with this status: 401, 404, 500 …"""
    return failure(code, message=f"status {code}")


def too_many(**headers: str) -> Behaviour:
    """429, with headers by name (`retry_after="1"`)."""
    return failure(429, headers={name.replace("_", "-"): value for name, value in headers.items()})


def redirect(location: str) -> Behaviour:
    """A permanent redirect."""

    async def behave(received: Received) -> web.StreamResponse:
        return web.Response(status=308, headers={"Location": location})

    return behave


def stall() -> Behaviour:
    """No answer until the client gives up."""

    async def behave(received: Received) -> web.StreamResponse:
        await asyncio.sleep(3600)
        return web.Response()

    return behave


def rejects(*parameters: str, code: int = 400, named: bool = True, otherwise: Behaviour | None = None) -> Behaviour:
    """A server that does not know some parameters; `named`: its error has them in `param`, else in words."""
    usual = otherwise or answer()

    async def behave(received: Received) -> web.StreamResponse:
        for parameter in parameters:
            if parameter in received.body:
                words = "" if named else f"Unrecognized request argument supplied: {parameter}"
                return await failure(code, message=words, param=parameter if named else None)(received)
        return await usual(received)

    return behave


def rejects_format(*types: str, code: int = 400, message: str = "", otherwise: Behaviour | None = None) -> Behaviour:
    """A server that does not know some response formats ("json_schema", "json_object")."""
    usual = otherwise or answer()

    async def behave(received: Received) -> web.StreamResponse:
        if received.body.get("response_format", {}).get("type") in types:
            return await failure(code, message=message)(received)
        return await usual(received)

    return behave
