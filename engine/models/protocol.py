"""The seam to language models: one prompt in, one completion out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from engine.models.ledger import Ledger
from engine.types import Tier


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptMessage:
    """One message of a prompt; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """What a role sends to its model. Static messages come first, so that provider caches hit.

    `schema` is the JSON schema the answer must have; `max_tokens` caps the completion. `accept` raises ModelOutputError
    for an answer that its asker cannot use; who has another model then asks that one.
    """

    role: str
    tier: Tier
    messages: tuple[PromptMessage, ...]
    schema_name: str
    schema: dict[str, Any]
    max_tokens: int = 800
    temperature: float | None = None
    accept: Callable[[Completion], object] | None = field(default=None, compare=False, repr=False)


class Finish(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """A model's answer as text, with what it cost in tokens. `form`: how its form was asked for, where that is known."""

    text: str
    finish: Finish
    model: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    form: str = ""


class ChatModel(Protocol):
    """Anything that completes a prompt.

    Raises ModelUnavailable, ModelMisconfigured, ModelDeclined, ModelOutputError or BudgetExceeded;
    nothing else leaves a model.
    """

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Complete one prompt and write the call into the ledger, whether it succeeds or not."""
        ...
