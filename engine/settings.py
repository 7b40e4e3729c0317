"""Settings of the engine as validated values. Reading files and environment is the composition root's work."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, model_validator

from engine.types import Tier


class Strict(BaseModel):
    """Base of all settings: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(Strict):
    """What one model, by its name, costs for a million tokens, in the currency of the price table."""

    prompt: float = Field(ge=0, description="tokens that are sent")
    cached: float = Field(ge=0, description="those of them that the provider had in its cache")
    completion: float = Field(ge=0, description="tokens that are answered")


class BreakerSettings(Strict):
    """When an endpoint that fails is left alone, and for how long; where it says so itself (`Retry-After`), six hours at most."""

    failures: int = Field(
        default=3,
        ge=0,
        le=100,
        description="so many calls that fail one after the other; a wrong key or name is enough at once. 0: never",
    )
    seconds: float = Field(
        default=15.0, gt=0, description="the first time; then one call tries it, and each failed trial doubles them"
    )
    most_seconds: float = Field(default=600.0, gt=0, description="and no longer than this")


OutputForm = Literal["auto", "json_schema", "json_object", "prompt"]
DEFAULT_ENDPOINT = "default"
"""What the one endpoint is called where no list of them is configured."""


class EndpointSettings(Strict):
    """Where language models are, one of several places. Whatever else is under `models` holds for all of them."""

    name: str = Field(
        pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$", max_length=40, description="what it is called in reports; small letters"
    )
    provider: Literal["openai", "azure"] = Field(
        default="openai", description="`openai` covers every compatible server"
    )
    base_url: str | None = Field(default=None, description="the server's address; OpenAI's where not set")
    api_key: SecretStr | None = Field(
        default=None, description="better in the environment: `CAFI_MODELS__ENDPOINT_KEYS__NAME`"
    )
    azure_api_version: str = Field(default="2024-10-21", description="for Azure only")
    large: str = Field(description="the model (Azure: deployment) of agent, chief judges and refiner")
    small: str | None = Field(
        default=None, description="the model of preliminary judges and urgency; the large one where not set"
    )
    roles: dict[str, str] = Field(default_factory=dict, description="model name by role, over the tier's")
    structured_output: OutputForm | None = Field(default=None, description="`models.structured_output` where not set")
    timeout_seconds: float | None = Field(
        default=None, gt=0, description="of one attempt; `models.timeout_seconds` where not set"
    )
    prices: dict[str, Price] = Field(
        default_factory=dict, description="by model name, over those of `config/prices.yaml`"
    )
    tokens_a_day: int | None = Field(
        default=None, ge=1, description="when so many are spent there on a day (UTC), it is not asked again that day"
    )
    cost_a_day: float | None = Field(
        default=None, gt=0, description="the same in money; counts only with a price for each of its models"
    )


_OF_AN_ENDPOINT = ("provider", "base_url", "api_key", "azure_api_version", "large", "small", "roles")


class ModelSettings(Strict):
    """How to reach the language models. `provider: openai` covers every OpenAI-compatible server."""

    provider: Literal["openai", "azure"] = Field(
        default="openai", description="`openai` covers every compatible server"
    )
    base_url: str | None = Field(default=None, description="the server's address, with `/v1` where it has that")
    api_key: SecretStr | None = Field(
        default=None,
        description="never printed or logged; `OPENAI_API_KEY` serves where neither key nor address is set",
    )
    azure_api_version: str = Field(default="2024-10-21", description="for Azure only")
    large: str = Field(
        default="gpt-4.1", description="the model (Azure: deployment) of agent, chief judges and refiner"
    )
    small: str = Field(
        default="gpt-4.1-mini", description="the model (Azure: deployment) of preliminary judges and urgency"
    )
    roles: dict[str, str] = Field(default_factory=dict, description="model name by role, over the tier's")
    embeddings: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "embedding model (Azure: deployment) for the search; without it words and the encoder that came with "
            "CAFI decide"
        ),
    )
    structured_output: OutputForm = Field(default="auto", description="`auto` tries the others in this order")
    timeout_seconds: float = Field(default=30.0, gt=0, description="of one attempt")
    retries: int = Field(default=2, ge=0, le=8, description="further attempts after time-outs, 429 and 5xx")
    temperature: float | None = Field(default=None, description="the provider's default where not set")
    seed: int | None = Field(
        default=None,
        description=(
            "a number sent with every request, for providers that can then repeat themselves; left out where one "
            "refuses it"
        ),
    )
    store: bool = Field(default=False, description="let the provider keep a log of requests")
    endpoints: tuple[EndpointSettings, ...] = Field(
        default=(),
        description="several places, the preferred one first, in place of the one above ([how to](../howto/models.md))",
    )
    endpoint_keys: dict[str, SecretStr] = Field(
        default_factory=dict, description="keys by the name of the endpoint, over those in the list"
    )
    breaker: BreakerSettings = BreakerSettings()

    @model_validator(mode="after")
    def _one_place_or_a_list(self) -> ModelSettings:
        names = [one.name for one in self.endpoints]
        if len(names) != len(set(names)):
            raise ValueError("each endpoint needs a name of its own")
        if strangers := sorted(self.endpoint_keys.keys() - set(names)):
            raise ValueError(f"endpoint_keys names {strangers[0]!r}, and no endpoint is called so")
        own = (
            key
            for key in _OF_AN_ENDPOINT
            if getattr(self, key) != type(self).model_fields[key].get_default(call_default_factory=True)
        )
        if names and (misplaced := sorted(own)):
            raise ValueError(f"where there are endpoints, {misplaced[0]} belongs to one of them: write it there")
        return self

    @property
    def reachable(self) -> bool:
        """Whether there is a key, an address or a list of them."""
        return self.api_key is not None or self.base_url is not None or bool(self.endpoints)

    @property
    def places(self) -> dict[str, ModelSettings]:
        """Each endpoint with all that holds for it, by name, in order of preference; the one there is without a list."""
        if not self.endpoints:
            return {DEFAULT_ENDPOINT: self}
        return {one.name: self._at(one) for one in self.endpoints}

    @property
    def preferred(self) -> ModelSettings:
        """The first endpoint with all that holds for it."""
        return next(iter(self.places.values()))

    @property
    def names(self) -> frozenset[str]:
        """The names of the models of one endpoint."""
        return frozenset({self.large, self.small, *self.roles.values()})

    def _at(self, one: EndpointSettings) -> ModelSettings:
        chosen = {
            "api_key": self.endpoint_keys.get(one.name, one.api_key),
            "small": one.small or one.large,
            "structured_output": one.structured_output or self.structured_output,
            "timeout_seconds": one.timeout_seconds or self.timeout_seconds,
            **{key: getattr(one, key) for key in ("provider", "base_url", "azure_api_version", "large", "roles")},
        }
        return self.model_copy(update={**chosen, "endpoints": (), "endpoint_keys": {}})

    def name_for(self, role: str, tier: Tier) -> str:
        """The model name a role uses."""
        return self.roles.get(role) or (self.large if tier is Tier.LARGE else self.small)


class Budget(Strict):
    """What one turn may spend: model calls, seconds of wall time, tokens. Then the built-in agents finish it."""

    calls: int = Field(
        default=14,
        ge=1,
        description="model calls; 18 is enough for an assistant with all of `reflection`",
    )
    seconds: float = Field(default=60.0, gt=0, description="of wall time")
    tokens: int = Field(default=60_000, ge=1, description="in and out together")


class Limits(Strict):
    """Lengths and counts of a turn. Characters unless the name says otherwise."""

    message_characters: int = Field(default=4000, ge=100, description="a longer message is cut")
    reply_characters: int = Field(default=1800, ge=200, description="a longer draft is sent back")
    history_tokens: int = Field(default=2000, ge=200, description="of the conversation that are remembered")
    prefetch_sources: int = Field(
        default=2,
        ge=1,
        le=4,
        description="found by the search before the agent's first call; one more where a message has several questions",
    )
    window_sources: int = Field(default=4, ge=1, le=8, description="in the agent's context at most")
    idle_replies: int = Field(
        default=2, ge=1, description="a source that so many replies have not cited leaves the context"
    )
    source_requests: int = Field(default=2, ge=0, le=4, description="sources that the agent may ask for by name")
    check_retries: int = Field(default=1, ge=0, le=3, description="further drafts after one that fails a check by code")
    clean_replies: int = Field(default=2, ge=1, description="a reminder fades after so many replies without objection")
    urgency_seconds: float = Field(default=12.0, gt=0, description="how long the urgency judge is waited for")
    reaction_seconds: float = Field(
        default=20.0,
        ge=0,
        description="how long after a referral a few words on what was told may follow it; 0 for never",
    )


class Handoff(Strict):
    """Another assistant this one may offer, and when."""

    to: str = Field(description="its id")
    name: str = Field(description="how the person is told about it, e.g. 'the sleep assistant'")
    when: str = Field(description="one sentence for the agent")
    terms: tuple[str, ...] = Field(default=(), description="words that make the built-in agent offer it")
    when_declined: bool = Field(default=False, description="the built-in agent also offers it when it has no answer")


class SpokenHandoff(Strict):
    """How another assistant is offered in a language."""

    name: str = Field(description="how the person is told about it")
    terms: tuple[str, ...] = Field(default=(), description="words that make the built-in agent offer it")


class SpokenAssistant(Strict):
    """What an assistant is called and speaks of in another language; what is not said stays as it is."""

    name: str = Field(default="", description="what it is called")
    condition: str = Field(default="", description="what it is about")
    topics: tuple[str, ...] = Field(default=(), description="what it tells people it can speak about")
    handoffs: dict[str, SpokenHandoff] = Field(default_factory=dict, description="by the id of the other assistant")


Reflection = Literal["needed", "relevant", "complete"]


class AssistantSettings(Strict):
    """An assistant: a persona with its prompts, rules and knowledge base."""

    id: str = Field(pattern=r"^[a-z0-9_]+$", description="as in `assistants`")
    name: str = Field(description="what it is called")
    audience: str = Field(description="whom it is for")
    condition: str = Field(description="what it is about")
    knowledge_base: Path = Field(description="folder, relative to the repository")
    rules: tuple[str, ...] = Field(description="files of `config/rules/`")
    texts: str = Field(default="en", description="language of the fixed texts, a file of `config/texts/`")
    welcome: str = Field(description="its first words")
    topics: tuple[str, ...] = Field(default=(), description="what it tells people it can speak about")
    limits: Limits = Limits()
    context: Literal["selected", "whole"] = Field(
        default="selected",
        description="`selected`: candidates for each turn; `whole`: every source in the static first message",
    )
    handoffs: tuple[Handoff, ...] = ()
    in_languages: dict[str, SpokenAssistant] = Field(
        default_factory=dict, description="the same in other languages, by code"
    )
    models: dict[str, str] = Field(default_factory=dict, description="model name by role, for this assistant")
    reflection: tuple[Reflection, ...] = Field(
        default=(),
        description=(
            "is a search called for (`needed`); do the candidates fit, else one more search (`relevant`); is every "
            "question answered, else one more draft (`complete`). Each is a call to the small model "
            "([figures](../simulated-users.md))"
        ),
    )

    _condition_told: str = PrivateAttr(default="")

    @property
    def condition_told(self) -> str:
        """What it is about, in the language of the fixed texts; `condition` stays as prompts need it, in that of the texts."""
        return self._condition_told or self.condition

    def spoken(self, language: str) -> AssistantSettings:
        """The same in a language; itself where nothing is said in it. Its `condition` is not translated: prompts name it."""
        said = self.in_languages.get(language)
        if said is None:
            return self
        handoffs = tuple(
            one.model_copy(update=said.handoffs[one.to].model_dump()) if one.to in said.handoffs else one
            for one in self.handoffs
        )
        own = {"name": said.name, "topics": said.topics}
        told = self.model_copy(update={"handoffs": handoffs} | {key: value for key, value in own.items() if value})
        told._condition_told = said.condition  # a copy of our own that nobody has seen yet
        return told
