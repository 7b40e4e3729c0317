"""What an operator can set: a YAML file, environment variables over it, command-line options over both."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from adapters.web_adapter.settings import WebSettings
from bots.paths import data_root
from engine import Budget, ConfigurationError, ModelSettings, Strict, line_of, parse_yaml, read_text

_REMEDY = "docs/reference/settings.md lists every key."
Agents = Literal["auto", "builtin", "llm"]


class CrisisSettings(Strict):
    """Which country's contacts are shown where the person has not said."""

    country: str = "international"
    language: str = "en"


class StorageSettings(Strict):
    """Where state is kept."""

    url: str = Field(default="sqlite:///var/cafi.db", description="SQLite or PostgreSQL, as SQLAlchemy writes it")
    busy_seconds: float = Field(default=10, ge=0, le=600, description="SQLite waits so long for another program")


class SessionSettings(Strict):
    """What is kept of chats, for how long, and how much one chat may ask."""

    secret: SecretStr | None = Field(default=None, description="64 hexadecimal digits; in place of the file")
    former_secrets: tuple[SecretStr, ...] = ()
    secret_file: Path | None = Field(default=None, description="else in the account's configuration folder")
    inbox_key_file: Path = Path("var") / "inbox.key"
    idle_hours: int = Field(default=24, ge=1, le=24 * 30)
    messages_a_minute: int = Field(default=12, ge=1)
    waiting_messages: int = Field(default=5, ge=1)
    slow_after_seconds: float = Field(default=8.0, gt=0)


class SpendingSettings(Strict):
    """What the whole bot may spend on language models, a day and at the same time; beyond a day's limit it quotes."""

    tokens_a_day: int | None = Field(default=None, ge=1)
    cost_a_day: float | None = Field(default=None, gt=0, description="in the currency of prices.yaml")
    turns_at_once: int = Field(default=50, ge=1, description="with a language model; further ones wait in order")


_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{24,256}")


class TelegramSettings(Strict):
    """The Telegram bot. With `webhook_url`, Telegram brings updates there; without, we ask for them."""

    token: SecretStr | None = None
    base_url: str = Field(default="", description="of another Bot API server, ending in /bot")
    webhook_url: str = Field(default="", pattern=r"^(https://\S+)?$")
    webhook_secret: SecretStr | None = None
    webhook_host: str = "127.0.0.1"
    webhook_port: int = Field(default=8081, ge=1, le=65535)
    deliveries: int = Field(default=1, ge=1, le=30, description="answers sent at the same time")

    @field_validator("webhook_secret")
    @classmethod
    def _hard_to_guess(cls, value: SecretStr | None) -> SecretStr | None:
        # Whoever knows it can write as anybody. Telegram takes these characters, 256 at most.
        if value is not None and not _WEBHOOK_SECRET.fullmatch(value.get_secret_value()):
            raise ValueError(
                "the webhook's secret has 24 to 256 letters (A-Z, a-z), digits, _ or -; "
                "`openssl rand -hex 32` makes one, or leave the key out where there is no webhook_url"
            )
        return value


class DiscordSettings(Strict):
    """The Discord bot. Ids are Discord's numbers (*Copy Channel ID*)."""

    token: SecretStr | None = None
    application_id: int | None = Field(
        default=None, description="as in the developer portal; Discord tells it otherwise"
    )
    channels: tuple[int, ...] = Field(default=(), description="channels or categories it answers in; none: all it sees")
    mode: Literal["thread", "reply", "ephemeral"] = "thread"
    listen: bool = Field(default=False, description="read every message in `channels`, not only mentions")
    others_in_threads: bool = Field(default=True, description="answer others in a question thread who mention the bot")
    moderators_channel: int | None = None
    moderator_roles: tuple[int, ...] = ()
    crisis_notes: bool = Field(default=False, description="tell moderators that somebody was shown where help is")
    deliveries: int = Field(default=8, ge=1, le=50, description="answers sent at the same time")
    backfill: int = Field(default=50, ge=0, le=100, description="messages a channel looked through after a restart")


class ModerationSettings(Strict):
    """What moderators of the Discord bot begin with; the place and the roles are in `discord`."""

    mode: Literal["open", "flagged", "all"] = Field(default="open", description="until moderators choose another")
    review_minutes: int = Field(default=60, ge=1, le=24 * 60, description="how long a reply waits for a moderator")
    reviews: int = Field(default=50, ge=1, description="how many replies wait for a moderator at a time")
    reviews_a_member: int = Field(default=3, ge=1, description="how many of them one member has asked for")
    member_roles: tuple[int, ...] = Field(default=(), description="who is answered; none: everybody")
    audit_days: int = Field(default=365, ge=1, description="how long it is kept what moderators did")
    file: Path = Field(default=Path("var") / "standing.json", description="where a pause is found after a restart")


class FeedbackSettings(Strict):
    """Whether people are asked how useful the answers are, and where the counts go."""

    enabled: bool = True
    sinks: tuple[Literal["database", "webhook"], ...] = ("database",)
    webhook_url: str | None = None
    webhook_secret: SecretStr | None = Field(default=None, min_length=16)

    @model_validator(mode="after")
    def _whole(self) -> FeedbackSettings:
        if "webhook" in self.sinks and (self.webhook_url is None or self.webhook_secret is None):
            raise ValueError("the sink webhook needs webhook_url and webhook_secret")
        return self


class TerminalSettings(Strict):
    """`cafi chat`."""

    consent: bool = Field(default=False, description="ask for consent first, as the other platforms do")


class CafiSettings(BaseSettings):
    """Everything configurable. Environment variables begin with CAFI_, levels are divided by two underscores."""

    model_config = SettingsConfigDict(
        env_prefix="CAFI_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        env_ignore_empty=True,
        hide_input_in_errors=True,  # it may be a key
    )

    agents: Agents = "auto"
    assistant: str = "schizophrenia"
    assistants: tuple[str, ...] = ("schizophrenia", "sleep")
    knowledge_base: Path | None = None
    config_folder: Path = data_root() / "config"
    prompts_folder: Path = data_root() / "prompts"
    cache_folder: Path = Path("var") / "cache"
    models: ModelSettings = ModelSettings()
    budget: Budget = Budget()
    crisis: CrisisSettings = CrisisSettings()
    storage: StorageSettings = StorageSettings()
    sessions: SessionSettings = SessionSettings()
    spending: SpendingSettings = SpendingSettings()
    telegram: TelegramSettings = TelegramSettings()
    web: WebSettings = WebSettings()
    discord: DiscordSettings = DiscordSettings()
    terminal: TerminalSettings = TerminalSettings()
    moderation: ModerationSettings = ModerationSettings()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    feedback: FeedbackSettings = FeedbackSettings()
    parallel: int = Field(default=8, ge=1, description="cases measured at the same time by `cafi eval`")

    @property
    def uses_llm(self) -> bool:
        """Whether language models are used: asked for, or a key or an address is configured."""
        reachable = self.models.api_key is not None or self.models.base_url is not None
        return self.agents == "llm" or (self.agents == "auto" and reachable)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over what is passed in: the file's content is passed in, options are laid over afterwards."""
        return env_settings, init_settings


def read_settings(file: Path | None = None, options: Mapping[str, Any] | None = None) -> CafiSettings:
    """Settings from `file` (else config/cafi.yaml), the environment and options; raises ConfigurationError.

    `OPENAI_API_KEY` serves as models.api_key where no other is set.
    """
    path = file or data_root() / "config" / "cafi.yaml"
    text = read_text(path, remedy="Check --config.") if file is not None or path.exists() else ""
    content: dict[str, Any] = parse_yaml(text, dict[str, Any] | None, path=path) or {}  # type: ignore[arg-type]
    try:
        settings = CafiSettings(**content)
    except ValidationError as error:
        raise _problem(error, path, text) from error
    except SettingsError as error:
        raise _unreadable(error) from None
    changes = {key: value for key, value in (options or {}).items() if value is not None}
    key = os.environ.get("OPENAI_API_KEY")
    if key and settings.models.api_key is None and settings.models.base_url is None:
        changes["models"] = ModelSettings.model_validate({**settings.models.model_dump(), "api_key": key})
    return settings.model_copy(update=changes)


def _problem(error: ValidationError, path: Path, text: str) -> ConfigurationError:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    name = "CAFI_" + "__".join(str(part) for part in first["loc"]).upper()
    message = {"extra_forbidden": "Unknown key"}.get(first["type"], first["msg"])
    from_environment = name in os.environ
    return ConfigurationError(
        f"{message}.",
        file=f"environment variable {name}" if from_environment else path,
        line=None if from_environment else line_of(text, first["loc"]),
        key=key,
        remedy=_REMEDY,
    )


def _unreadable(error: SettingsError) -> ConfigurationError:
    """A variable that holds a list or a group, and no JSON. The library's own words name the field only."""
    field = re.search(r'field "(\w+)"', str(error))
    key = field[1] if field else None
    place = f"environment variable CAFI_{key.upper()}" if key else "environment"
    return ConfigurationError("Not valid JSON.", file=place, key=key, remedy=_REMEDY)
