"""What Discord accepts as a message, a form, a thread and a command: its limits, as models that refuse what it refuses."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from rehearsal.discord_world.errors import ApiError, empty_message
from rehearsal.discord_world.things import (
    EPHEMERAL,
    SUPPRESS_EMBEDS,
    SUPPRESS_NOTIFICATIONS,
    DiscordPoll,
)

MOST_CHARACTERS = 8000
"""Of all names, descriptions and values of one command."""
SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS
# The locales of Discord's reference, "Locales".
LOCALES = {
    *("id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl", "pt-BR"),
    *("ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko"),
}


def is_name(text: str) -> bool:
    """Whether a text can name a slash command or option: 1–32 letters, digits, - _ ', in lower case."""
    return (
        1 <= len(text) <= 32
        and text == text.lower()
        and all(one in "-_'" or unicodedata.category(one)[0] in "LN" or _is_indic_or_thai(one) for one in text)
    )


def _is_indic_or_thai(one: str) -> bool:
    return unicodedata.name(one, "").startswith(("DEVANAGARI", "THAI"))


def _named(text: str) -> str:
    if not is_name(text):
        raise ValueError("Command name is invalid")
    return text


def _locale(text: str) -> str:
    if text not in LOCALES:
        raise ValueError("Unknown locale")
    return text


def _unique(values: Sequence[object], what: str) -> None:
    if len(set(values)) < len(values):
        raise ValueError(f"{what} must be unique")


CustomId: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
UpTo45: TypeAlias = Annotated[str, Field(min_length=1, max_length=45)]
UpTo100: TypeAlias = Annotated[str, Field(min_length=1, max_length=100)]
Name: TypeAlias = Annotated[str, AfterValidator(_named)]
Locale: TypeAlias = Annotated[str, AfterValidator(_locale)]


class ButtonForm(BaseModel):
    """A button: 5 is the style of links, 6 that of shops."""

    type: Literal[2]
    style: Literal[1, 2, 3, 4, 5, 6]
    label: Annotated[str, Field(max_length=80)] | None = None
    custom_id: CustomId | None = None
    url: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    emoji: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _works(self) -> Self:
        if self.style < 6 and not (self.label or self.emoji):
            raise ValueError("A button must have a label or an emoji")
        if (self.style < 5) != (self.custom_id is not None) or (self.style == 5) != (self.url is not None):
            raise ValueError("A button has a custom id, a link has an address")
        return self


class RowForm(BaseModel):
    """A row of buttons."""

    type: Literal[1]
    components: list[ButtonForm] = Field(min_length=1, max_length=5)


class MentionsForm(BaseModel):
    """Who may be notified."""

    parse: list[Literal["roles", "users", "everyone"]] = []
    users: list[Any] = Field(default=[], max_length=100)
    roles: list[Any] = Field(default=[], max_length=100)

    @model_validator(mode="after")
    def _exclusive(self) -> Self:
        if (self.users and "users" in self.parse) or (self.roles and "roles" in self.parse):
            raise ValueError("All of a kind, or a list of them: mutually exclusive")
        return self


class QuestionForm(BaseModel):
    """The question of a poll."""

    text: Annotated[str, Field(min_length=1, max_length=300)]


class AnswerTextForm(BaseModel):
    """The text of an answer of a poll."""

    text: Annotated[str, Field(min_length=1, max_length=55)]


class AnswerForm(BaseModel):
    """An answer of a poll."""

    poll_media: AnswerTextForm


class PollForm(BaseModel):
    """A poll; `duration` is hours."""

    question: QuestionForm
    answers: list[AnswerForm] = Field(min_length=1, max_length=10)
    duration: float = Field(default=24, ge=1, le=768)


class MessageForm(BaseModel):
    """A message."""

    content: Annotated[str, Field(max_length=2000)] | None = None
    allowed_mentions: MentionsForm | None = None
    components: list[RowForm] | None = Field(default=None, max_length=5)
    poll: PollForm | None = None

    @model_validator(mode="after")
    def _without_twins(self) -> Self:
        ids = [one.custom_id for row in self.components or [] for one in row.components if one.custom_id]
        _unique(ids, "Component custom ids")
        return self


class TextInputForm(BaseModel):
    """A field of a modal."""

    type: Literal[4]
    custom_id: CustomId
    style: Literal[1, 2]
    label: UpTo45 | None = None
    placeholder: Annotated[str, Field(max_length=100)] | None = None
    value: Annotated[str, Field(max_length=4000)] | None = None
    min_length: int | None = Field(default=None, ge=0, le=4000)
    max_length: int | None = Field(default=None, ge=1, le=4000)


class LabelForm(BaseModel):
    """A field under its label."""

    type: Literal[18]
    label: UpTo45
    component: TextInputForm


class InputRowForm(BaseModel):
    """A field in a row of its own."""

    type: Literal[1]
    components: list[TextInputForm] = Field(min_length=1, max_length=1)


class ModalForm(BaseModel):
    """A modal."""

    title: UpTo45
    custom_id: CustomId
    components: list[Annotated[LabelForm | InputRowForm, Field(discriminator="type")]] = Field(
        min_length=1, max_length=5
    )


class ThreadForm(BaseModel):
    """A thread that is to be started."""

    name: UpTo100
    auto_archive_duration: Literal[60, 1440, 4320, 10080] | None = None


class ChoiceForm(BaseModel):
    """A choice of an option."""

    name: UpTo100
    name_localizations: dict[Locale, UpTo100] | None = None
    value: Annotated[str, Field(max_length=100)] | int | float


class ChoicesForm(BaseModel):
    """What an option that completes itself offers."""

    choices: list[ChoiceForm] = Field(max_length=25)


class SlashForm(BaseModel):
    """A slash command, or one of its options."""

    name: Name
    description: UpTo100
    name_localizations: dict[Locale, Name] | None = None
    description_localizations: dict[Locale, UpTo100] | None = None
    options: list[OptionForm] | None = Field(default=None, max_length=25)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        options = self.options or []
        _unique([one.name for one in options], "Option names")
        if [one.required for one in options] != sorted((one.required for one in options), reverse=True):
            raise ValueError("Required options must be placed before non-required options")
        if len({one.type < 3 for one in options}) == 2:
            raise ValueError("Subcommands and other options are mutually exclusive")
        if size(self.model_dump()) > MOST_CHARACTERS:
            raise ValueError(f"Command exceeds maximum size ({MOST_CHARACTERS})")
        return self


class OptionForm(SlashForm):
    """An option; types 1 and 2 are subcommands and groups of them."""

    type: int = Field(ge=1, le=11)
    required: bool = False
    autocomplete: bool = False
    choices: list[ChoiceForm] | None = Field(default=None, max_length=25)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.choices and self.autocomplete:
            raise ValueError("Autocomplete and choices exclude each other")
        return self


class MenuForm(BaseModel):
    """A command of the menu of a message or a user."""

    name: Annotated[str, Field(min_length=1, max_length=32)]
    name_localizations: dict[Locale, Annotated[str, Field(min_length=1, max_length=32)]] | None = None
    type: Literal[2, 3]
    description: Literal[""] = ""


def size(thing: Mapping[str, Any]) -> int:
    """The characters of a command as Discord counts them: of each text the longest translation."""
    own = 0
    for key in ("name", "description"):
        translated = (thing.get(f"{key}_localizations") or {}).values()
        own += max(len(text) for text in (thing.get(key) or "", *translated))
    own += sum(len(str(choice["value"])) + size(choice) for choice in thing.get("choices") or [])
    return own + sum(size(option) for option in thing.get("options") or [])


# --- Checking -------------------------------------------------------------------------------------------------------


def check(form: type[BaseModel], body: Mapping[str, Any], *path: str) -> None:
    """Whether Discord takes a form; raises ApiError 50035 with the tree of what is wrong, at `path`."""
    try:
        form.model_validate(body)
    except ValidationError as error:
        tree: dict[str, Any] = {}
        for one in error.errors(include_url=False, include_input=False, include_context=False):
            node = tree
            for part in (*path, *map(str, one["loc"])):
                node = node.setdefault(part, {})
            node.setdefault("_errors", []).append({"code": one["type"].upper(), "message": one["msg"]})
        raise ApiError(400, 50035, "Invalid Form Body", tree) from None


def check_message(body: Mapping[str, Any], *, files: int = 0, new: bool = True) -> None:
    """Whether Discord takes a message; raises ApiError: 50035, or 50006 for a new one with nothing in it."""
    check(MessageForm, body)
    says = str(body.get("content") or "").strip() or any(body.get(key) for key in ("components", "poll"))
    if new and not files and not says:
        raise empty_message()


def check_command(body: Mapping[str, Any], *path: str) -> None:
    """Whether Discord takes a command; raises ApiError 50035."""
    check(SlashForm if body.get("type", 1) == 1 else MenuForm, body, *path)


def poll_of(body: Mapping[str, Any], now: float) -> DiscordPoll | None:
    """The poll that a checked message asks for."""
    poll = body.get("poll")
    if poll is None:
        return None
    answers = [answer["poll_media"]["text"] for answer in poll["answers"]]
    return DiscordPoll(
        question=poll["question"]["text"],
        answers=answers,
        multiselect=bool(poll.get("allow_multiselect")),
        expiry=now + float(poll.get("duration", 24)) * 3600,
        votes={number: [] for number in range(1, len(answers) + 1)},
    )


def flags_of(body: Mapping[str, Any], *, interaction: bool) -> int:
    """The flags that the bot may set itself: an answer to an interaction may be ephemeral too."""
    return int(body.get("flags") or 0) & (SETTABLE | EPHEMERAL if interaction else SETTABLE)
