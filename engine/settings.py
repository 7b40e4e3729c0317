"""Settings of the engine as validated values. Reading files and environment is the composition root's work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from engine.types import Tier


class Strict(BaseModel):
    """Base of all settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(Strict):
    """How to reach the language models. `provider: openai` covers every OpenAI-compatible server."""

    provider: Literal["openai", "azure"] = "openai"
    base_url: str | None = None
    api_key: SecretStr | None = None
    azure_api_version: str = "2024-10-21"
    large: str = "gpt-4.1"
    small: str = "gpt-4.1-mini"
    roles: dict[str, str] = Field(default_factory=dict, description="model name by role, over the tier's")
    embeddings: str | None = Field(default=None, min_length=1, description="model that the search compares texts by")
    structured_output: Literal["auto", "json_schema", "json_object", "prompt"] = "auto"
    timeout_seconds: float = Field(default=30.0, gt=0)
    retries: int = Field(default=2, ge=0, le=8)
    temperature: float | None = None
    seed: int | None = Field(default=None, description="asks the provider to repeat itself, where it can")
    store: bool = Field(default=False, description="let the provider keep a log of requests")

    def name_for(self, role: str, tier: Tier) -> str:
        """The model name a role uses."""
        return self.roles.get(role) or (self.large if tier is Tier.LARGE else self.small)


class Budget(Strict):
    """What one turn may spend: model calls, seconds of wall time, tokens in and out together."""

    calls: int = Field(default=14, ge=1)
    seconds: float = Field(default=60.0, gt=0)
    tokens: int = Field(default=60_000, ge=1)


class Price(Strict):
    """Price of one model for a million tokens, in the currency of the price table."""

    prompt: float = Field(ge=0)
    cached: float = Field(ge=0)
    completion: float = Field(ge=0)


class Limits(Strict):
    """Lengths and counts of a turn. Characters unless the name says otherwise."""

    message_characters: int = Field(default=4000, ge=100)
    reply_characters: int = Field(default=1800, ge=200)
    history_tokens: int = Field(default=2000, ge=200)
    prefetch_sources: int = Field(default=2, ge=1, le=4)
    window_sources: int = Field(default=4, ge=1, le=8)
    idle_replies: int = Field(default=2, ge=1)
    source_requests: int = Field(default=2, ge=0, le=4)
    check_retries: int = Field(default=1, ge=0, le=3)
    clean_replies: int = Field(default=2, ge=1)
    urgency_seconds: float = Field(default=12.0, gt=0)


class Handoff(Strict):
    """Another assistant this one may offer, and when."""

    to: str
    name: str = Field(description="how the person is told about it, e.g. 'the sleep assistant'")
    when: str = Field(description="one sentence for the agent")
    terms: tuple[str, ...] = Field(default=(), description="words that make the built-in agent offer it")
    when_declined: bool = Field(default=False, description="the built-in agent also offers it when it has no answer")


Reflection = Literal["needed", "relevant", "complete"]


class AssistantSettings(Strict):
    """An assistant: a persona with its prompts, rules and knowledge base."""

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    name: str
    audience: str
    condition: str
    knowledge_base: Path
    rules: tuple[str, ...]
    texts: str = "en"
    welcome: str
    topics: tuple[str, ...] = ()
    limits: Limits = Limits()
    context: Literal["selected", "whole"] = "selected"
    handoffs: tuple[Handoff, ...] = ()
    models: dict[str, str] = Field(default_factory=dict, description="model name by role, for this assistant")
    reflection: tuple[Reflection, ...] = Field(default=(), description="what a turn asks itself about its retrieval")
