"""The endpoint for other programs: who may use it, how much, and what each path answers.

Stateless: the asking program sends the conversation each time, and nothing of it is kept or logged. Only judged text is
streamed; the crisis referral comes first, as everywhere.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client import Counter as Total
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from adapters.api_adapter import answers
from adapters.api_adapter.forms import ApiFault, ChatForm, GivenSource, JudgementForm, asked_of, fault_of
from adapters.api_adapter.settings import ApiSettings
from adapters.conversation.daily_budget import DailyBudget
from adapters.endpoint_metrics import EndpointCollector, FigureSource, no_endpoints
from adapters.storage.counts import UrgentCounts
from adapters.web_adapter.server import Connections, HttpServer
from engine import Assistant, Engine, KnowledgeBase, Source, plain_source

FormT = TypeVar("FormT", bound=BaseModel)
PLATFORM = "api"
"""What referrals are counted under."""
OWN_NAME = "cafi"
"""The default assistant, as a model."""
A_MINUTE = 60.0
_log = logging.getLogger("cafi.api")

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(kw_only=True)
class KeyLimits:
    """How much one key may ask: so many requests a minute, so many at once."""

    requests_a_minute: int
    at_once: int
    clock: Callable[[], float] = time.monotonic
    _asked: dict[int, deque[float]] = field(default_factory=dict)
    _running: Counter[int] = field(default_factory=Counter)

    @asynccontextmanager
    async def place(self, key: int) -> AsyncIterator[None]:
        """A place for one request; raises ApiFault where there is none."""
        asked, now = self._asked.setdefault(key, deque()), self.clock()
        while asked and now - asked[0] >= A_MINUTE:
            asked.popleft()
        if len(asked) >= self.requests_a_minute or self._running[key] >= self.at_once:
            raise ApiFault(status=429, message="Too many requests; try again in a minute.", code="rate_limit_exceeded")
        asked.append(now)
        self._running[key] += 1
        try:
            yield
        finally:
            self._running[key] -= 1


@dataclass(kw_only=True)
class ApiBot:
    """Serves the endpoint until `stopping` is set. `places` are those of turns with a language model, shared with platforms."""

    settings: ApiSettings
    engine: Engine
    spending: DailyBudget = field(default_factory=DailyBudget)
    places: asyncio.Semaphore | None = None
    counts: UrgentCounts = field(default_factory=UrgentCounts)
    endpoints: FigureSource = no_endpoints
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    address: str = ""
    limits: KeyLimits = field(init=False)
    app: Starlette = field(init=False)

    def __post_init__(self) -> None:
        settings, registry = self.settings, CollectorRegistry()
        self.limits = KeyLimits(requests_a_minute=settings.requests_a_minute, at_once=settings.at_once)
        self._registry = registry
        registry.register(EndpointCollector(figures=self.endpoints))
        self._requests = Total(
            "cafi_api_requests", "Requests by path and status.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram("cafi_api_seconds", "Time to answer a request.", ["path"], registry=registry)
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._guarded(self._chat), methods=["POST"]),
                Route("/v1/judgements", self._guarded(self._judge), methods=["POST"]),
                Route("/v1/models", self._guarded(self._models), methods=["GET"]),
                Route("/openapi.json", self._page, methods=["GET"]),
                Route("/healthz", self._health, methods=["GET"]),
                Route("/metrics", self._guarded(self._metrics), methods=["GET"]),
            ],
            exception_handlers={404: _nothing_here, 405: _nothing_here},
        )
        self._server = HttpServer(
            app=self.app,
            host=settings.host,
            port=settings.port,
            key="api.port",
            connections=Connections(overall=200, an_address=200),
            stopping=self.stopping,
            started=self.started,
        )
        self.address = f"{self._server.address}/v1"

    async def run(self) -> None:
        """Serve."""
        await self._server.run()

    def sweep(self) -> None:
        """Nothing is kept."""

    # --- Who may, and how much --------------------------------------------------------------------------------------

    def _guarded(self, handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            begun, path = time.monotonic(), request.url.path
            try:
                async with self.limits.place(self._key(request)):
                    response = await handler(request)
            except ApiFault as fault:
                response = JSONResponse(fault.as_document(), status_code=fault.status)
                if fault.status == 429:
                    response.headers["Retry-After"] = str(int(A_MINUTE))
            except ClientDisconnect:
                response = Response(status_code=499)
            except Exception as error:
                _log.error("A request could not be answered: %s", type(error).__name__)
                unable = ApiFault(status=503, message="This cannot be answered now.", code="unavailable")
                response = JSONResponse(unable.as_document(), status_code=503)
            self._requests.labels(path=path, status=str(response.status_code)).inc()
            self._seconds.labels(path=path).observe(time.monotonic() - begun)
            return response

        return answer

    def _key(self, request: Request) -> int:
        """Which of the keys a request has; every one is compared, so that time tells nothing."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = [
            hmac.compare_digest(given.strip().encode(), key.get_secret_value().encode()) for key in self.settings.keys
        ]
        if scheme.casefold() != "bearer" or True not in known:
            raise ApiFault(status=401, message="The key is missing or not known here.", code="invalid_api_key")
        return known.index(True)

    async def _form(self, request: Request, form: type[FormT]) -> FormT:
        most, content = self.settings.kilobytes * 1024, bytearray()
        async for piece in request.stream():
            content += piece
            if len(content) > most:
                raise ApiFault(
                    status=413, message=f"A request may have {self.settings.kilobytes} kB.", code="too_large"
                )
        try:
            return form.model_validate_json(bytes(content))
        except ValidationError as error:
            raise fault_of(error) from None

    def _assistant(self, model: str) -> Assistant:
        name = self.engine.default if model == OWN_NAME else model.removeprefix(f"{OWN_NAME}-")
        if name not in self.engine.assistants:
            raise ApiFault(
                status=404, message="There is no such model; see /v1/models.", code="model_not_found", param="model"
            )
        return self.engine.assistants[name]

    def _place(self, *, built_in: bool) -> AbstractAsyncContextManager[object]:
        return nullcontext() if built_in or self.places is None else self.places

    # --- What is answered -------------------------------------------------------------------------------------------

    async def _chat(self, request: Request) -> Response:
        form = await self._form(request, ChatForm)
        assistant, quoting = self._assistant(form.model), self.spending.exhausted
        earlier, text = asked_of(form.messages)
        conversation = await asyncio.to_thread(self.engine.resumed, earlier, assistant.settings.id)
        async with self._place(built_in=quoting):
            turn = await self.engine.respond(conversation, text, built_in=quoting)
        await self.spending.add(turn.usage)
        if turn.help.replaces:
            self.counts.add(PLATFORM, turn.urgency.kind)
        if not form.stream:
            return JSONResponse(answers.completion(turn, form.model, assistant))
        usage = form.stream_options is not None and form.stream_options.include_usage
        events = answers.chunks(turn, form.model, assistant, with_usage=usage)
        return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _judge(self, request: Request) -> Response:
        form = await self._form(request, JudgementForm)
        assistant, quoting = self._assistant(form.model), self.spending.exhausted
        knowledge = self.engine.filter(assistant.settings.id, form.reply).assistant.knowledge
        earlier, text = asked_of(form.messages)
        async with self._place(built_in=quoting):
            found = await self.engine.judge(
                form.reply,
                text,
                assistant=assistant.settings.id,
                earlier=earlier,
                sources=tuple(_source(one, knowledge) for one in form.sources),
                teams=assistant.teams[-1:] if quoting else (),
                refine=form.refine,
            )
        await self.spending.add(found.usage)
        return JSONResponse(answers.judgement(found, form.model))

    async def _models(self, request: Request) -> Response:
        names = (OWN_NAME, *(f"{OWN_NAME}-{name}" for name in self.engine.assistants))
        return JSONResponse(answers.models(iter(names)))

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _metrics(self, request: Request) -> Response:
        return Response(generate_latest(self._registry), media_type="text/plain; version=0.0.4")

    async def _page(self, request: Request) -> Response:
        return JSONResponse(openapi(self.address))


def _source(given: str | GivenSource, knowledge: KnowledgeBase) -> Source:
    if isinstance(given, GivenSource):
        return plain_source(given.id, given.title or given.id, given.text)
    found = knowledge.get(given)
    if found is None:
        raise ApiFault(status=400, message="There is no such source.", code="source_not_found", param="sources")
    return found


async def _nothing_here(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    fault = ApiFault(status=status, message="There is nothing at this path; see /openapi.json.", code="not_found")
    return JSONResponse(fault.as_document(), status_code=status)


def openapi(address: str) -> dict[str, object]:
    """The description of the endpoint, made from the forms that it reads."""

    def post(form: type[BaseModel], summary: str) -> dict[str, object]:
        schema = form.model_json_schema(ref_template=f"#/components/schemas/{form.__name__}/$defs/{{model}}")
        content = {"application/json": {"schema": schema}}
        return {
            "post": {
                "summary": summary,
                "security": [{"key": []}],
                "requestBody": {"required": True, "content": content},
                "responses": {"200": {"description": "the answer"}, "4XX": {"description": "what was wrong"}},
            }
        }

    return {
        "openapi": "3.1.0",
        "info": {"title": "CAFI", "version": "1", "description": "Judged answers, and judgements of replies."},
        "servers": [{"url": address.removesuffix("/v1")}],
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/v1/chat/completions": post(ChatForm, "Answer a conversation; only judged text is shown."),
            "/v1/judgements": post(JudgementForm, "Judge a reply, whoever wrote it."),
            "/v1/models": {"get": {"summary": "The assistants.", "responses": {"200": {"description": "a list"}}}},
        },
    }
