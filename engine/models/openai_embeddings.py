"""Embeddings behind the OpenAI interface, with the client, retries and errors of the language models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import openai
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from engine.exceptions import (
    ConfigurationError,
    ModelDeclined,
    ModelError,
    ModelMisconfigured,
    ModelOutputError,
    ModelUnavailable,
)
from engine.language.text import estimate_tokens
from engine.models.account import Account
from engine.models.ledger import Booking, Ledger
from engine.models.openai_model import OPENAI_URL, PASSING, SETTINGS, client_for, hush, post, retried
from engine.models.wire import is_filtered, is_too_long
from engine.settings import ModelSettings

BATCH = 64
"""Texts in one request: enough to be quick, few enough for small servers."""
ROLE = "embeddings"


class _Vector(BaseModel):
    index: int
    embedding: list[FiniteFloat] = Field(min_length=1)


class _Usage(BaseModel):
    prompt_tokens: int = Field(ge=0)


class _Embeddings(BaseModel):
    data: list[_Vector]
    usage: _Usage | None = None


class OpenAIEmbedder:
    """Embeds texts with `models.embeddings`. Raises ConfigurationError for settings that cannot be used."""

    def __init__(self, settings: ModelSettings, *, where: str = SETTINGS, account: Account | None = None) -> None:
        if settings.embeddings is None:
            raise ConfigurationError("missing.", key="models.embeddings", remedy="Name an embedding model.")
        self._settings, self._model = settings, settings.embeddings
        self._where, self._account = where, account
        self._client = client_for(settings, where)
        # Another server's model of the same name has other vectors.
        place = f"{settings.provider} {settings.base_url or OPENAI_URL} {self._model}"
        self.name = sha256(place.encode()).hexdigest()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def embed(self, texts: Sequence[str], ledger: Ledger) -> list[list[float]]:
        """One vector a text, in their order; each request is a call in the ledger. Raises ModelError."""
        found: list[list[float]] = []
        for first in range(0, len(texts), BATCH):
            found += await self._batch(texts[first : first + BATCH], ledger)
        return found

    async def _batch(self, texts: Sequence[str], ledger: Ledger) -> list[list[float]]:
        with Booking(ledger, role=ROLE, model=self._model, account=self._account) as call:
            estimate = sum(map(estimate_tokens, texts))
            body = {"model": self._model, "input": list(texts)}
            try:
                content = await retried(
                    lambda: self._attempt(body), retries=self._settings.retries, seconds=call.seconds
                )
            except asyncio.CancelledError:
                call.count(prompt=estimate, completion=0)
                raise
            # Counted before it is read: an answer of no use is paid for too.
            call.count(prompt=estimate, completion=0)
            read = _read(content)
            if read.usage is not None:
                call.count(prompt=read.usage.prompt_tokens, completion=0)
            return _in_order(read, len(texts))

    async def _attempt(self, body: dict[str, Any]) -> bytes:
        seconds = self._settings.timeout_seconds
        return await post(
            self._client, "/embeddings", body, seconds=seconds, translated=self._translated, where=self._where
        )

    def _translated(self, error: openai.APIStatusError) -> ModelError:
        status, text = error.status_code, error.response.text
        hush(error)
        if status in PASSING or (status >= 500 and status != 501):
            return ModelUnavailable(f"The embeddings' server does not answer now: HTTP {status}.")
        if is_filtered(status, text):
            return ModelDeclined("The embeddings' provider filtered the request.")
        if is_too_long(status, text):
            return ModelMisconfigured(f"models.embeddings: a text is longer than this model reads (HTTP {status}).")
        if status in {401, 402, 403}:
            return ModelMisconfigured(f"{self._where}.api_key: the server does not accept the key (HTTP {status}).")
        return ModelMisconfigured(
            f"models.embeddings or {self._where}.base_url: the request is refused (HTTP {status})."
        )


def _read(content: bytes) -> _Embeddings:
    try:
        return _Embeddings.model_validate_json(content)
    except ValidationError:
        # Its words would repeat what the server said.
        raise ModelOutputError("models.embeddings: the answer holds no embeddings.") from None


def _in_order(read: _Embeddings, count: int) -> list[list[float]]:
    vectors = {one.index: one.embedding for one in read.data}
    if len(read.data) != count or set(vectors) != set(range(count)) or len({len(one) for one in vectors.values()}) != 1:
        raise ModelOutputError("models.embeddings: the answer does not hold one embedding a text.")
    return [vectors[number] for number in range(count)]
