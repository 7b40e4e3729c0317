"""Language models behind the OpenAI chat-completions interface: OpenAI, Azure, and every compatible server.

Errors of the library end here. Their own words are removed before they are chained as a cause, because a
server's error may repeat the key or the prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from copy import copy
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai
import stamina

from engine.exceptions import (
    ConfigurationError,
    ModelDeclined,
    ModelError,
    ModelMisconfigured,
    ModelUnavailable,
    PromptTooLong,
)
from engine.language.text import estimate_tokens
from engine.models.account import Account
from engine.models.ledger import Booking, Ledger
from engine.models.protocol import Completion, Prompt
from engine.models.wire import (
    Dialect,
    OutputMode,
    is_filtered,
    is_too_long,
    read_answer,
    refused_parameter,
    retry_after,
)
from engine.settings import ModelSettings
from engine.steps import StepFact, count
from engine.types import Tier

OPENAI_URL = "https://api.openai.com/v1"
OFFICIAL_HOSTS = frozenset({"api.openai.com", "eu.api.openai.com", "us.api.openai.com"})
_LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
PASSING = frozenset({408, 409, 429})
LASTING = frozenset({401, 402, 403, 404})
"""What stays so until somebody mends a key, a name, an address or an account."""
SETTINGS = "models"
"""Where an operator finds the settings of the one endpoint."""
# Local servers need no key; the library insists on one.
_PLACEHOLDER_KEY = "not-needed"


class _Refused(ModelError):
    """The server does not support a parameter. Never leaves this module."""

    def __init__(self, parameter: str) -> None:
        super().__init__()
        self.parameter = parameter


class OpenAIModel:
    """Completes prompts through the `openai` library.

    What a server does not support (structured output, a parameter) is found out by its refusal and
    remembered for each model name as long as the object lives. One policy retries lost connections,
    time-outs, 408, 409, 429 and 5xx: `settings.retries` times, within the seconds the turn has left.

    `official_hosts`: where OpenAI itself answers, the only place that is told whether to `store` requests.
    `where`: the key of these settings, which errors name. `account`: what every call is written down in, too.
    Raises ConfigurationError for an address or key that cannot be one.
    """

    def __init__(
        self,
        settings: ModelSettings,
        *,
        official_hosts: Container[str] = OFFICIAL_HOSTS,
        where: str = SETTINGS,
        account: Account | None = None,
    ) -> None:
        self._settings, self._where, self._account = settings, where, account
        self._client = client_for(settings, where)
        self._dialects: dict[str, Dialect] = {}
        official = settings.provider == "openai" and _host(settings) in official_hosts
        names_new = official or settings.provider == "azure"
        forced = settings.structured_output
        self._first = Dialect(
            modes=tuple(OutputMode) if forced == "auto" else (OutputMode(forced),),
            limits=_LIMIT_NAMES if names_new else _LIMIT_NAMES[::-1],
            store=official,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def without_retries(self) -> OpenAIModel:
        """The same model over the same connections, which tries nothing again."""
        one = copy(self)
        one._settings = self._settings.model_copy(update={"retries": 0})
        return one

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Complete one prompt; a request the server does not support is sent again in a simpler form."""
        model = self._settings.name_for(prompt.role, prompt.tier)
        dialect = self._dialects.get(model, self._first)
        while True:
            try:
                return await self._call(prompt, ledger, model, dialect)
            except _Refused as refused:
                narrower, cause = dialect.without(refused.parameter), refused.__cause__
            if narrower is None:
                raise ModelMisconfigured(self._refusal(prompt, 400)) from cause
            dialect = narrower

    async def _call(self, prompt: Prompt, ledger: Ledger, model: str, dialect: Dialect) -> Completion:
        with Booking(ledger, role=prompt.role, model=model, account=self._account) as call:
            temperature = self._settings.temperature if prompt.temperature is None else prompt.temperature
            body = dialect.body(
                prompt, model=model, temperature=temperature, store=self._settings.store, seed=self._settings.seed
            )
            estimate = sum(estimate_tokens(message["content"]) for message in body["messages"])
            try:
                content = await self._send(body, prompt, call.seconds)
            except _Refused:
                call.unsupported = True
                raise
            except asyncio.CancelledError:
                # The provider has read the prompt by now and counts it.
                call.count(prompt=estimate, completion=0)
                raise
            self._dialects[model] = dialect
            answer = read_answer(content, self._where)
            prompt_tokens = estimate if answer.prompt_tokens is None else answer.prompt_tokens
            completion_tokens = (
                estimate_tokens(answer.text) if answer.completion_tokens is None else answer.completion_tokens
            )
            call.count(prompt=prompt_tokens, completion=completion_tokens, cached=answer.cached_tokens)
            text, finish = answer.usable(dialect.modes[0])
            return Completion(
                text=text,
                finish=finish,
                model=model,
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
                cached_tokens=answer.cached_tokens,
                form=dialect.modes[0],
            )

    async def _send(self, body: dict[str, Any], prompt: Prompt, seconds: float) -> bytes:
        return await retried(lambda: self._attempt(body, prompt), retries=self._settings.retries, seconds=seconds)

    async def _attempt(self, body: dict[str, Any], prompt: Prompt) -> bytes:
        return await post(
            self._client,
            "/chat/completions",
            body,
            seconds=self._settings.timeout_seconds,
            translated=lambda error: self._translated(error, body, prompt),
            where=self._where,
        )

    def _translated(self, error: openai.APIStatusError, body: Mapping[str, Any], prompt: Prompt) -> ModelError:
        status, text, parameter = error.status_code, error.response.text, error.param
        out_of_quota = error.code == "insufficient_quota"
        hush(error)
        if status in PASSING or (status >= 500 and status != 501):
            reason = f"the account's quota is used up ({self._where}.api_key)" if out_of_quota else f"HTTP {status}"
            return ModelUnavailable(
                f"The language model's server does not answer now: {reason}.",
                retry_after=retry_after(error.response.headers),
                lasting=out_of_quota,
            )
        if is_filtered(status, text):
            return ModelDeclined("The language model's provider filtered the request.")
        if is_too_long(status, text):
            name = self._name_setting(prompt)
            return PromptTooLong(f"{name}: the prompt is longer than this model reads (HTTP {status}).")
        if refused := refused_parameter(status, parameter, text, body):
            return _Refused(refused)
        return ModelMisconfigured(self._refusal(prompt, status), lasting=status in LASTING)

    def _refusal(self, prompt: Prompt, status: int) -> str:
        match status:
            case 401 if self._settings.api_key is None:
                return f"{self._where}.api_key: the server asks for a key and none is set (HTTP 401)."
            case 401 | 403:
                return f"{self._where}.api_key: the server does not accept the key (HTTP {status})."
            case 402:
                return f"{self._where}.api_key: the account has no credit (HTTP 402)."
            case 404:
                return f"{self._name_setting(prompt)} or {self._where}.base_url: no such model or address (HTTP 404)."
            case 400 | 422 | 501:
                name = self._name_setting(prompt)
                return f"{name} or {self._where}.structured_output: the server refuses the request (HTTP {status})."
            case _:
                return f"{self._where}.base_url: what answers there takes no chat completions (HTTP {status})."

    def _name_setting(self, prompt: Prompt) -> str:
        if prompt.role in self._settings.roles:
            return f"{self._where}.roles.{prompt.role}"
        return f"{self._where}.large" if prompt.tier is Tier.LARGE else f"{self._where}.small"


async def retried(attempt: Callable[[], Awaitable[bytes]], *, retries: int, seconds: float) -> bytes:
    """What an attempt gives, tried again after passing failures within some seconds; raises ModelError."""
    deadline = asyncio.get_running_loop().time() + seconds
    policy = stamina.retry_context(
        on=partial(_back_off, deadline),
        attempts=retries + 1,
        timeout=seconds,
        wait_initial=0.2,
        wait_max=4.0,
        wait_jitter=0.3,
    )
    try:
        async with asyncio.timeout_at(deadline):
            async for one in policy:
                with one:
                    if one.num > 1:
                        count(StepFact.RETRIES)
                    return await attempt()
    except TimeoutError as error:
        raise ModelUnavailable("The language model did not answer in the time the turn had left.") from error
    raise AssertionError("the retry policy ends with a result or an error")


async def post(
    client: openai.AsyncOpenAI,
    path: str,
    body: dict[str, Any],
    *,
    seconds: float,
    translated: Callable[[openai.APIStatusError], ModelError],
    where: str = SETTINGS,
) -> bytes:
    """The body of the response to one request; raises ModelError, for a status the one `translated` gives."""
    try:
        async with asyncio.timeout(seconds):
            # The bare response: the library's own models take several times as long to build as to read.
            response = await client.post(
                path,
                body=body,
                cast_to=httpx2.Response,
                options={"security": {"bearer_auth": True}},
            )
            return response.content
    except openai.APIStatusError as error:
        raise translated(error) from error
    except (openai.APITimeoutError, TimeoutError) as error:
        raise ModelUnavailable("The language model did not answer in time.") from error
    except openai.APIConnectionError as error:
        raise ModelUnavailable(f"{where}.base_url: no connection to the language model's server.") from error
    except Exception as error:
        raise ModelUnavailable("The request to the language model failed.") from error


def _back_off(deadline: float, error: Exception) -> bool | float:
    """Whether to try again, and after how many seconds when the server says so."""
    if not isinstance(error, ModelUnavailable) or isinstance(error, ModelMisconfigured):
        return False
    cause = error.__cause__
    if isinstance(cause, openai.APIConnectionError | TimeoutError):
        return True
    if not isinstance(cause, openai.APIStatusError) or cause.code == "insufficient_quota":
        return False
    wait = retry_after(cause.response.headers)
    if wait is None:
        return True
    return wait if asyncio.get_running_loop().time() + wait < deadline else False


def hush(error: openai.APIStatusError) -> None:
    """Remove the server's words: a log of the chained cause must show neither key nor prompt, and servers repeat both."""
    error.message = f"HTTP {error.status_code}"
    error.args, error.body = (error.message,), None


def _host(settings: ModelSettings) -> str | None:
    return urlsplit(settings.base_url or OPENAI_URL).hostname


def client_for(settings: ModelSettings, where: str = SETTINGS) -> openai.AsyncOpenAI:
    """Build the client. Everything the library would otherwise read from the environment is given."""
    key, http = _key(settings, where), _http_client()
    if settings.base_url and (urlsplit(settings.base_url).scheme not in {"http", "https"} or not _host(settings)):
        raise ConfigurationError("not an address.", key=f"{where}.base_url", remedy="It begins with https://.")
    client: openai.AsyncOpenAI
    if settings.provider == "openai":
        client = openai.AsyncOpenAI(
            api_key=key,
            base_url=settings.base_url or OPENAI_URL,
            timeout=settings.timeout_seconds,
            max_retries=0,
            http_client=http,
        )
    elif settings.base_url:
        client = openai.AsyncAzureOpenAI(
            api_key=key,
            azure_endpoint=settings.base_url,
            api_version=settings.azure_api_version,
            timeout=settings.timeout_seconds,
            max_retries=0,
            http_client=http,
        )
    else:
        raise ConfigurationError(
            "missing.",
            key=f"{where}.base_url",
            remedy="Azure needs its endpoint: https://<name>.openai.azure.com.",
        )
    client.organization = client.project = None
    return client


def _key(settings: ModelSettings, where: str) -> str:
    key = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    if not (key.isascii() and (key.isprintable() or not key)):
        # Refused here, because an HTTP library would quote it in its complaint.
        raise ConfigurationError("holds characters that no key has.", key=f"{where}.api_key")
    return key or _PLACEHOLDER_KEY


def _http_client() -> httpx2.AsyncClient:
    # aiohttp takes a quarter less processor time for a call; a smaller install is without it.
    kind = openai.DefaultAioHttpClient if find_spec("aiohttp") else openai.DefaultAsyncHttpxClient
    return kind(
        # A redirect would carry what people wrote to a host nobody configured.
        follow_redirects=False,
        # Longer than the library's five seconds: turns of one chat are further apart, and handshakes cost.
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30.0),
    )
