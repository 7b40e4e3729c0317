"""A model server for benchmarks: OpenAI's chat completions from a script, with a set latency.

Runs as a process of its own, so that its processor time is not counted:

    python -m benchmarks.mock_server --port 8099 --base-ms 400 --per-token-ms 5 --script accepted

`POST …/chat/completions` answers after base + per-token × completion tokens. `GET /calls` lists the calls
since the last reset. `GET /load` tells the processor seconds of this process and the connections it has taken.
`POST /reset` forgets the calls; its JSON body may set `script`, `base_ms`, `per_token_ms`. A token is four
characters.
The protocol is written by hand: a web framework would take more time for a request than what is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.scripts import SCRIPTS, Messages


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedCall:
    """One request as it went; times are seconds on the server's monotonic clock.

    `form` is the name of the schema that was asked for, `static_tokens` the part of the prompt in its first
    message, `late` how many seconds after its due time the request was answered.
    """

    form: str
    model: str
    prompt_tokens: int
    static_tokens: int
    completion_tokens: int
    start: float
    end: float
    late: float


@dataclass(kw_only=True)
class MockModel:
    """Script, latency and the calls since the last reset."""

    script: str = "accepted"
    base_ms: float = 0.0
    per_token_ms: float = 0.0
    calls: list[LoggedCall] = field(default_factory=list)
    connections: int = 0

    def reset(self, changes: Mapping[str, Any]) -> None:
        """Forget the calls and take over new settings; raises KeyError for an unknown script."""
        SCRIPTS[changes.get("script", self.script)]
        self.script = changes.get("script", self.script)
        self.base_ms = float(changes.get("base_ms", self.base_ms))
        self.per_token_ms = float(changes.get("per_token_ms", self.per_token_ms))
        self.calls.clear()

    def answer(self, form: str, messages: Messages) -> str:
        """The text of a completion."""
        return SCRIPTS[self.script](form, messages)

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one chat completion."""
        start = time.monotonic()
        messages = request["messages"]
        form = str(((request.get("response_format") or {}).get("json_schema") or {}).get("name", "text"))
        text = self.answer(form, messages)
        prompt_tokens = sum(len(message["content"]) for message in messages) // 4
        completion_tokens = len(text) // 4
        seconds = (self.base_ms + self.per_token_ms * completion_tokens) / 1000
        await asyncio.sleep(seconds)
        end = time.monotonic()
        self.calls.append(
            LoggedCall(
                form=form,
                model=str(request.get("model", "")),
                prompt_tokens=prompt_tokens,
                static_tokens=len(messages[0]["content"]) // 4,
                completion_tokens=completion_tokens,
                start=start,
                end=end,
                late=end - start - seconds,
            )
        )
        return _completion(text, request, prompt_tokens, completion_tokens)

    async def respond(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        """Status and JSON body for one HTTP request."""
        try:
            if method == "POST" and path.endswith("/chat/completions"):
                return 200, await self.complete(json.loads(body))
            if (method, path) == ("GET", "/calls"):
                return 200, [asdict(call) for call in self.calls]
            if (method, path) == ("GET", "/load"):
                return 200, {"cpu_seconds": time.process_time(), "connections": self.connections}
            if (method, path) == ("POST", "/reset"):
                self.reset(json.loads(body or b"{}"))
                return 200, {
                    "script": self.script,
                    "base_ms": self.base_ms,
                    "per_token_ms": self.per_token_ms,
                }
        except (KeyError, TypeError, ValueError) as error:
            return 400, {"error": {"message": f"{type(error).__name__}: {error}"}}
        return 404, {"error": {"message": f"No such address: {method} {path}"}}


class HttpConnection(asyncio.Protocol):
    """As much of HTTP/1.1 as a client that sends Content-Length and waits for each answer needs."""

    def __init__(self, model: MockModel) -> None:
        self._model = model
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._model.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop answering: the client has given up."""
        for task in self._tasks:
            task.cancel()

    def data_received(self, data: bytes) -> None:
        """Collect a request and answer it once it is complete."""
        self._received += data
        end_of_head = self._received.find(b"\r\n\r\n")
        if end_of_head < 0:
            return
        head, begin = bytes(self._received[:end_of_head]), end_of_head + 4
        end = begin + _content_length(head)
        if len(self._received) < end:
            return
        body = bytes(self._received[begin:end])
        del self._received[:end]
        method, path, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        task = asyncio.ensure_future(self._answer(method, path.partition("?")[0], body))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, method: str, path: str, body: bytes) -> None:
        status, answer = await self._model.respond(method, path, body)
        content = json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(head.encode() + content)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _completion(text: str, request: Mapping[str, Any], prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    return {
        "id": "chatcmpl-mock",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


async def serve(model: MockModel, port: int) -> None:
    """Serve on the loopback address until cancelled; prints `ready PORT` once connections are taken."""
    server = await asyncio.get_running_loop().create_server(
        lambda: HttpConnection(model), "127.0.0.1", port, backlog=1024
    )
    print(f"ready {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main(kind: type[MockModel] = MockModel) -> int:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="benchmarks.mock_server", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one, see the line that is printed")
    parser.add_argument("--base-ms", type=float, default=400.0)
    parser.add_argument("--per-token-ms", type=float, default=5.0)
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="accepted")
    options = parser.parse_args()
    model = kind(script=options.script, base_ms=options.base_ms, per_token_ms=options.per_token_ms)
    try:
        asyncio.run(serve(model, options.port))
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
