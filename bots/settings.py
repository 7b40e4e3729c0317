"""What an operator can set: a YAML file, secret files and environment variables over it, command-line options over all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NestedSecretsSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from adapters.alerts.settings import AlertSettings
from adapters.api_adapter.settings import ApiSettings
from adapters.editorial.settings import SourceSettings
from adapters.web_adapter.settings import WebSettings
from bots.paths import data_root
from engine import Budget, ConfigurationError, ModelSettings, Strict, line_of, parse_yaml, read_text

_REMEDY = "docs/reference/settings.md lists every key."
SECRETS_FOLDER = "CAFI_SECRETS_FOLDER"
"""The variable that names a folder with a file for each secret, called as the setting's own variable would be."""
Agents = Literal["auto", "builtin", "llm"]


class CrisisSettings(Strict):
    """Which country's contacts are shown where the person has not said."""

    country: str = Field(default="international", description="a file in `config/crisis/`; a person can choose another")
    language: str = Field(default="en", description="of the crisis texts: `en`, `nb`, `de`, `es`, `fr`")


class StorageSettings(Strict):
    """Where state is kept."""

    url: str = Field(
        default="sqlite:///var/cafi.db",
        description=(
            "the database with chats, waiting messages and counts: `sqlite:///FILE` or `postgresql+psycopg://…` "
            "([PostgreSQL](../howto/postgresql.md))"
        ),
    )
    connections: int = Field(
        default=8, ge=1, le=100, description="a process keeps to PostgreSQL; up to three more for moments"
    )
    busy_seconds: float = Field(default=10, ge=0, le=600, description="SQLite waits so long for another program's lock")


class SessionSettings(Strict):
    """What is kept of chats, for how long, and how much one chat may ask."""

    secret: SecretStr | None = Field(
        default=None, description="in place of the file: 64 hexadecimal digits (`openssl rand -hex 32`)"
    )
    former_secrets: tuple[SecretStr, ...] = Field(
        default=(),
        description="beside a `secret` that was changed: those before it; older phrases of 32 characters are taken too",
    )
    secret_file: Path | None = Field(
        default=None,
        description=(
            "made on the first start, one for each database; where not set, `~/.config/cafi/NAME.json` "
            "([Telegram](../howto/telegram.md#secrets))"
        ),
    )
    inbox_key_file: Path = Field(
        default=Path("var") / "inbox.key",
        description="made on the first start; the key of messages that wait. Each database needs its own",
    )
    idle_hours: int = Field(
        default=24, ge=1, le=24 * 30, description="after so long without a message a chat is erased"
    )
    messages_a_minute: int = Field(default=12, ge=1, description="what one chat may send")
    waiting_messages: int = Field(default=5, ge=1, description="how many messages of one chat may wait")
    slow_after_seconds: float = Field(
        default=8.0, gt=0, description="after so long a chat is told that it takes longer"
    )
    quoted_after_seconds: float = Field(
        default=60.0,
        gt=0,
        description="with `queue: workers`: what has waited so long for a worker is answered by quotation, without a model",
    )
    crowded_after_seconds: float = Field(
        default=300.0,
        gt=0,
        description=(
            "with `queue: workers`: while the oldest message waits so long for a worker, nothing new is taken, and people "
            "are asked to write again later; words of danger are answered with the contacts"
        ),
    )

    @model_validator(mode="after")
    def _quoted_first(self) -> SessionSettings:
        if self.crowded_after_seconds < self.quoted_after_seconds:
            raise ValueError(
                "crowded_after_seconds is below quoted_after_seconds: quoting comes first, asking to wait after"
            )
        return self


class SpendingSettings(Strict):
    """What the whole bot may spend on language models, a day and at the same time; beyond a day's limit it quotes."""

    tokens_a_day: int | None = Field(
        default=None,
        ge=1,
        description=(
            "what the whole bot may spend a day (UTC). Where a model is used, `cafi check` asks for this or "
            "`cost_a_day`"
        ),
    )
    cost_a_day: float | None = Field(
        default=None,
        gt=0,
        description="the same in the currency of `config/prices.yaml`; counts only with a price there for each model",
    )
    turns_at_once: int = Field(
        default=50,
        ge=1,
        description=(
            "turns with a model; further ones wait in the order they came, and are told after "
            "`sessions.slow_after_seconds`. The crisis referral needs no place"
        ),
    )
    turns_of_all: int | None = Field(
        default=None,
        ge=1,
        description="with `queue: workers`: the same for all workers together, where a provider bears no more; none: no limit",
    )


_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{24,256}")


class TelegramSettings(Strict):
    """The Telegram bot. With `webhook_url`, Telegram brings updates there; without, we ask for them."""

    token: SecretStr | None = Field(
        default=None, description="from @BotFather; with it, `cafi run` starts the Telegram bot"
    )
    base_url: str = Field(
        default="", description="of another Bot API server, ending in `/bot`; Telegram's where not set"
    )
    webhook_url: str = Field(
        default="", pattern=r"^(https://\S+)?$", description="the public https address that Telegram brings updates to"
    )
    webhook_secret: SecretStr | None = Field(
        default=None, description="what Telegram sends along: 24 to 256 letters, digits, `_` or `-`"
    )
    webhook_host: str = Field(default="127.0.0.1", description="where the webhook is served")
    webhook_port: int = Field(default=8081, ge=1, le=65535, description="and the port there")
    deliveries: int = Field(
        default=1, ge=1, le=30, description="answers on their way at the same time; as many may come twice after a kill"
    )

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

    token: SecretStr | None = Field(
        default=None,
        description=(
            "from the developer portal; with it, `cafi run` starts the Discord bot ([Discord](../howto/discord.md))"
        ),
    )
    application_id: int | None = Field(default=None, description="not needed: Discord tells it")
    channels: tuple[int, ...] = Field(
        default=(), description="ids of the channels or categories it answers in; none: all it sees"
    )
    mode: Literal["thread", "reply", "ephemeral"] = Field(
        default="thread",
        description=(
            "where questions are answered: `thread` (one a question), `reply`, `ephemeral` (the asker alone sees it)"
        ),
    )
    listen: bool = Field(
        default=False, description="answer every message in `channels`, not only mentions; needs Message Content Intent"
    )
    others_in_threads: bool = Field(
        default=True, description="answer others in somebody's question thread, when they mention the bot"
    )
    moderators_channel: int | None = Field(
        default=None, description="id of a private channel: missing rights are named there"
    )
    moderator_roles: tuple[int, ...] = Field(default=(), description="ids of the roles that moderate")
    crisis_notes: bool = Field(
        default=False,
        description=(
            "tell the moderators' channel how often help was shown: a sum, once an hour at most, an hour or two later"
        ),
    )
    deliveries: int = Field(
        default=8, ge=1, le=50, description="answers on their way at the same time; as many may come twice after a kill"
    )
    backfill: int = Field(
        default=50,
        ge=0,
        le=100,
        description="messages of each channel looked through for missed mentions after a start",
    )


class ModerationSettings(Strict):
    """What moderators of the Discord bot begin with; the place and the roles are in `discord`."""

    mode: Literal["open", "flagged", "all"] = Field(
        default="open", description="which replies wait for a moderator until moderators choose another mode"
    )
    review_minutes: int = Field(
        default=60, ge=1, le=24 * 60, description="how long a reply waits; then it is erased and the asker is told"
    )
    reviews: int = Field(
        default=50,
        ge=1,
        description="how many replies wait at a time; whoever asks beyond that is asked to come back later",
    )
    reviews_a_member: int = Field(default=3, ge=1, description="how many of them one member has asked for")
    member_roles: tuple[int, ...] = Field(
        default=(), description="ids of the roles whose members are answered in the channels; none: everybody"
    )
    audit_days: int = Field(
        default=365, ge=1, description="how long it is kept what moderators did and, sealed, what they posted"
    )
    file: Path = Field(
        default=Path("var") / "standing.json",
        description=(
            "mode, pause and blocked topics, beside the database: a pause is found there when the database is away"
        ),
    )


class FeedbackSettings(Strict):
    """Whether people are asked how useful the answers are, and where the counts go."""

    enabled: bool = Field(
        default=True,
        description=(
            "ask people how useful the answers are; the questions, and how rarely: `config/feedback.yaml` ([how "
            "to](../howto/feedback.md))"
        ),
    )
    sinks: tuple[Literal["database", "webhook"], ...] = Field(
        default=("database",), description="where their answers go; none: nowhere"
    )
    webhook_url: str | None = Field(
        default=None, description="an `https` address, or `http` on the same machine; needed by the sink `webhook`"
    )
    webhook_secret: SecretStr | None = Field(
        default=None, min_length=16, description="what events are signed with; never printed or logged"
    )

    @model_validator(mode="after")
    def _whole(self) -> FeedbackSettings:
        if "webhook" in self.sinks and (self.webhook_url is None or self.webhook_secret is None):
            raise ValueError("the sink webhook needs webhook_url and webhook_secret")
        return self


class HealthSettings(Strict):
    """What a process tells whoever watches it: `/healthz`, `/readyz`, and with the operator's token `/metrics`."""

    host: str = Field(default="127.0.0.1", description="where they are served")
    port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="and the port there; without one they are not. The page and the endpoint serve their own besides",
    )


class TraceSettings(Strict):
    """Traces of OpenTelemetry: where the seconds of turns go, and nothing that anybody wrote ([traces](../howto/traces.md))."""

    endpoint: str = Field(
        default="",
        description=(
            "the address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; `/v1/traces` is added "
            "where it names no path. Empty: no traces. Needs the extra `traces`"
        ),
    )
    share: float = Field(default=1.0, gt=0, le=1, description="of all turns, chosen by chance, that are told of")

    @field_validator("endpoint")
    @classmethod
    def _whole_address(cls, value: str) -> str:
        if not value:
            return value
        try:
            parts = urlsplit(value)
            usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or any(one.isspace() for one in value):
            raise ValueError("not an address: it begins with http:// or https://, or leave it empty for no traces")
        return parts._replace(path="/v1/traces").geturl() if parts.path in {"", "/"} else value


class ReportSettings(Strict):
    """Reports that an answer worried or harmed somebody: counts, in the database."""

    enabled: bool = Field(
        default=True,
        description=(
            "a button below answers; the four reasons are in `config/feedback.yaml` "
            "([how to](../howto/people.md#this-answer-worried-or-harmed-me))"
        ),
    )
    alarm_at: int = Field(
        default=5,
        ge=5,
        description=(
            "so many reports on one section within four weeks alarm the operator, in steps of five; fewer would tell of "
            "single people"
        ),
    )


class NoticeSettings(Strict):
    """What is said of the service beside that it is a program."""

    adults_only: bool = Field(
        default=False,
        description=(
            "say, in one calm line at first contact, that the service is not written for people under 18; nobody is asked "
            "their age"
        ),
    )


class TerminalSettings(Strict):
    """`cafi chat`."""

    consent: bool = Field(default=False, description="`cafi chat` asks for consent first, as the other platforms do")


class SecretFiles(NestedSecretsSettingsSource):
    """Files named as variables, as containers and systemd hand secrets over. An empty one sets nothing, like a variable."""

    @classmethod
    def load_secrets(cls, path: Path) -> dict[str, str]:
        """The content of each file that holds one, by its name."""
        return {name: text for name, text in super().load_secrets(path).items() if text}


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

    agents: Agents = Field(
        default="auto", description="who answers and judges; `auto`: language models where a key or an address is set"
    )
    assistant: str = Field(default="schizophrenia", description="the assistant a new conversation begins with")
    assistants: tuple[str, ...] = Field(
        default=("schizophrenia", "sleep"), description="those that run; each is `config/assistants/NAME.yaml`"
    )
    knowledge_base: Path | None = Field(
        default=None, description="a folder in place of the default assistant's knowledge base (as `--kb`)"
    )
    config_folder: Path = Field(
        default=data_root() / "config",
        description="where rules, texts and contacts are read from; the shipped one where not set",
    )
    prompts_folder: Path = Field(
        default=data_root() / "prompts", description="where prompts are read from; the shipped one where not set"
    )
    cache_folder: Path = Field(
        default=Path("var") / "cache",
        description="where vectors of sources are kept (`models.embeddings`); may be deleted at any time",
    )
    models: ModelSettings = ModelSettings()
    budget: Budget = Budget()
    crisis: CrisisSettings = CrisisSettings()
    storage: StorageSettings = StorageSettings()
    queue: Literal["process", "workers"] = Field(
        default="process",
        description=(
            "who answers: `process`, the one that receives; `workers`, any number of `cafi worker` beside any number of "
            "`cafi run` that receive, on one PostgreSQL ([workers](../howto/workers.md))"
        ),
    )
    sessions: SessionSettings = SessionSettings()
    spending: SpendingSettings = SpendingSettings()
    telegram: TelegramSettings = TelegramSettings()
    web: WebSettings = WebSettings()
    discord: DiscordSettings = DiscordSettings()
    api: ApiSettings = ApiSettings()
    health: HealthSettings = HealthSettings()
    traces: TraceSettings = TraceSettings()
    terminal: TerminalSettings = TerminalSettings()
    notices: NoticeSettings = NoticeSettings()
    moderation: ModerationSettings = ModerationSettings()
    sources: SourceSettings = SourceSettings()
    alerts: AlertSettings = AlertSettings()
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="no level logs what people write"
    )
    feedback: FeedbackSettings = FeedbackSettings()
    reports: ReportSettings = ReportSettings()
    parallel: int = Field(default=8, ge=1, description="cases measured at the same time by `cafi eval`")

    @property
    def uses_llm(self) -> bool:
        """Whether language models are used: asked for, or a key or an address is configured."""
        return self.agents == "llm" or (self.agents == "auto" and self.models.reachable)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment over secret files over what is passed in, the YAML file's content; options are laid over afterwards."""
        folder = os.environ.get(SECRETS_FOLDER) or None
        return env_settings, SecretFiles(file_secret_settings, secrets_dir=folder), init_settings


def read_settings(file: Path | None = None, options: Mapping[str, Any] | None = None) -> CafiSettings:
    """Settings from `file` (else config/cafi.yaml), secret files, the environment and options; raises ConfigurationError.

    `OPENAI_API_KEY` serves as models.api_key where no other is set, and so for an endpoint at OpenAI's own address.
    """
    path = file or data_root() / "config" / "cafi.yaml"
    text = read_text(path, remedy="Check --config.") if file is not None or path.exists() else ""
    content: dict[str, Any] = parse_yaml(text, dict[str, Any] | None, path=path) or {}  # type: ignore[arg-type]
    try:
        _secret_files()  # the library takes a folder that it may not look into for an empty one
        settings = CafiSettings(**content)
    except ValidationError as error:
        raise _problem(error, path, text) from error
    except SettingsError as error:
        raise _unreadable(error) from None
    except (OSError, UnicodeDecodeError) as error:
        raise _closed(error) from None
    changes = {key: value for key, value in (options or {}).items() if value is not None}
    if key := os.environ.get("OPENAI_API_KEY"):
        changes["models"] = _with_openai_key(settings.models, SecretStr(key))
    return settings.model_copy(update=changes)


def _with_openai_key(models: ModelSettings, key: SecretStr) -> ModelSettings:
    """The key goes to OpenAI itself, where no other is set, and to no other server."""
    if not models.reachable:
        return models.model_copy(update={"api_key": key})
    keyless = [
        name
        for name, one in models.places.items()
        if models.endpoints and one.provider == "openai" and one.base_url is None and one.api_key is None
    ]
    return models.model_copy(update={"endpoint_keys": {**models.endpoint_keys, **dict.fromkeys(keyless, key)}})


def _problem(error: ValidationError, path: Path, text: str) -> ConfigurationError:
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    name = "CAFI_" + "__".join(str(part) for part in first["loc"]).upper()
    message = {"extra_forbidden": "Unknown key"}.get(first["type"], first["msg"])
    elsewhere = f"environment variable {name}" if name in os.environ else _secret_files().get(name)
    return ConfigurationError(
        f"{message}.",
        file=elsewhere or path,
        line=None if elsewhere else line_of(text, first["loc"]),
        key=key,
        remedy=_REMEDY,
    )


def _secret_files() -> dict[str, Path]:
    """The files that set something, by the name of the variable that would set the same; may raise OSError."""
    folder = os.environ.get(SECRETS_FOLDER)
    return {one.name.upper(): one for one in Path(folder).iterdir() if one.stat().st_size} if folder else {}


def _closed(error: OSError | UnicodeDecodeError) -> ConfigurationError:
    """Secret files that cannot be read; nothing of them is told."""
    place, why = os.environ.get(SECRETS_FOLDER), "one of its files is no text"
    if isinstance(error, OSError):
        place, why = error.filename, f"{error.strerror}"
    return ConfigurationError(
        f"It cannot be read: {why}.",
        file=place,
        key=SECRETS_FOLDER,
        remedy="Name a folder of text files that the account CAFI runs under may read.",
    )


def _unreadable(error: SettingsError) -> ConfigurationError:
    """A variable that holds a list or a group, and no JSON. The library's own words name the field only."""
    field = re.search(r'field "(\w+)"', str(error))
    key = field[1] if field else None
    name = f"CAFI_{key.upper()}" if key else ""
    place = _secret_files().get(name) or (f"environment variable {name}" if key else "environment")
    return ConfigurationError("Not valid JSON.", file=place, key=key, remedy=_REMEDY)
