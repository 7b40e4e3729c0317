"""What Discord accepts as an application command, and what it keeps of it."""

from __future__ import annotations

import unicodedata
from typing import Any

from rehearsal.discord_world.errors import FormErrors

CHAT, USER_MENU, MESSAGE_MENU = 1, 2, 3
SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER = range(1, 11)
NAME, DESCRIPTION, OPTIONS, CHOICES, CHOICE_TEXT, TOTAL = 32, 100, 25, 25, 100, 8000
MOST = {CHAT: 100, USER_MENU: 15, MESSAGE_MENU: 15}
# The locales of Discord's reference, "Locales".
LOCALES = {
    *("id", "da", "de", "en-GB", "en-US", "es-ES", "es-419", "fr", "hr", "it", "lt", "hu", "nl", "no", "pl", "pt-BR"),
    *("ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko"),
}


def is_name(text: object) -> bool:
    """Whether a text can name a slash command or option: 1–32 letters, digits, - _ ', in lower case."""
    return (
        isinstance(text, str)
        and 1 <= len(text) <= NAME
        and text == text.lower()
        and all(one in "-_'" or unicodedata.category(one)[0] in "LN" or _is_indic_or_thai(one) for one in text)
    )


def _is_indic_or_thai(one: str) -> bool:
    return unicodedata.name(one, "").startswith(("DEVANAGARI", "THAI"))


def check_commands(commands: list[dict[str, Any]], *, many: bool = False) -> None:
    """Whether Discord takes commands; of many, the errors are found under the number of the command.

    Raises ApiError 50035.
    """
    form = FormErrors()
    for number, command in enumerate(commands):
        _check_command(form, f"{number}." if many else "", command)
    named = [(command.get("type", CHAT), command.get("name")) for command in commands]
    if len(set(named)) < len(named):
        form.add("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
    for kind, most in MOST.items():
        if sum(one == kind for one, _ in named) > most:
            form.add("type", "APPLICATION_COMMANDS_MAX_REACHED", f"Maximum number of commands reached ({most}).")
    form.check()


def _check_command(form: FormErrors, path: str, command: dict[str, Any]) -> None:
    kind = command.get("type", CHAT)
    form.choice(f"{path}type", kind, tuple(MOST))
    if kind == CHAT:
        _check_names(form, path, command)
        _check_options(form, f"{path}options", command.get("options") or [], depth=0)
        if _size(command) > TOTAL:
            form.add(f"{path}name", "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)")
        return
    for place, text in _texts(command, "name"):
        form.length(f"{path}{place}", text, 1, NAME)
    if command.get("description") or command.get("options"):
        form.add(
            f"{path}description", "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION", "Context menus have no description"
        )


def _texts(thing: dict[str, Any], key: str) -> list[tuple[str, Any]]:
    translated = thing.get(f"{key}_localizations") or {}
    return [(key, thing.get(key)), *((f"{key}_localizations.{locale}", text) for locale, text in translated.items())]


def _check_names(form: FormErrors, path: str, thing: dict[str, Any]) -> None:
    for place, text in _texts(thing, "name"):
        if not is_name(text):
            form.add(f"{path}{place}", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
    for place, text in _texts(thing, "description"):
        form.length(f"{path}{place}", text, 1, DESCRIPTION)
    for key in ("name", "description"):
        for locale in thing.get(f"{key}_localizations") or {}:
            form.choice(f"{path}{key}_localizations", locale, LOCALES)


def _check_options(form: FormErrors, path: str, options: list[dict[str, Any]], *, depth: int) -> None:
    form.count(path, options, 0, OPTIONS)
    if [bool(one.get("required")) for one in options] != sorted(
        (bool(one.get("required")) for one in options), reverse=True
    ):
        form.add(
            path,
            "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
            "Required options must be placed before non-required options",
        )
    names = [one.get("name") for one in options]
    if len(set(names)) < len(names):
        form.add(path, "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists")
    nested = {one.get("type") in {SUBCOMMAND, GROUP} for one in options}
    if len(nested) == 2:
        form.add(
            path,
            "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID",
            "Sub-command and sub-command group option types are mutually exclusive to all other types",
        )
    for number, option in enumerate(options):
        _check_option(form, f"{path}.{number}.", option, depth=depth)


def _check_option(form: FormErrors, path: str, option: dict[str, Any], *, depth: int) -> None:
    kind = option.get("type")
    form.choice(f"{path}type", kind, range(1, 12))
    _check_names(form, path, option)
    if kind in {SUBCOMMAND, GROUP}:
        if depth > 1 or (kind == GROUP and depth):
            form.add(f"{path}type", "APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Nested too deeply")
        _check_options(form, f"{path}options", option.get("options") or [], depth=2 if kind == SUBCOMMAND else 1)
        return
    choices = form.count(f"{path}choices", option.get("choices") or [], 0, CHOICES)
    check_choices(form, f"{path}choices", choices, kind)
    if choices and option.get("autocomplete"):
        form.add(
            f"{path}autocomplete",
            "APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES",
            "Autocomplete and choices exclude each other",
        )


def check_choices(form: FormErrors, path: str, choices: list[dict[str, Any]], kind: object = STRING) -> None:
    """Note what Discord refuses in the choices of an option."""
    for number, choice in enumerate(choices):
        for place, text in _texts(choice, "name"):
            form.length(f"{path}.{number}.{place}", text, 1, CHOICE_TEXT)
        value = choice.get("value")
        if kind == STRING:
            form.length(f"{path}.{number}.value", value, 0 if value == "" else 1, CHOICE_TEXT)
        elif isinstance(value, bool) or not isinstance(value, int | float):
            form.add(f"{path}.{number}.value", "NUMBER_TYPE_COERCE", f'Value "{value}" is not a number.')


def _size(thing: dict[str, Any]) -> int:
    own = sum(max(len(str(text or "")) for _, text in _texts(thing, key)) for key in ("name", "description"))
    own += sum(len(str(choice.get("value", ""))) + _size(choice) for choice in thing.get("choices") or [])
    return own + sum(_size(option) for option in thing.get("options") or [])


def kept(
    command: dict[str, Any], *, command_id: int, application_id: int, guild_id: int | None, version: int
) -> dict[str, Any]:
    """A command as Discord gives it back."""
    shown = {
        "name_localizations": None,
        "description_localizations": None,
        "default_member_permissions": None,
        "description": "",
        "options": [],
        "nsfw": False,
        "type": CHAT,
        "contexts": None,
        "integration_types": [0],
        "dm_permission": True,
        **command,
        "id": str(command_id),
        "application_id": str(application_id),
        "version": str(version),
    }
    return shown | {"guild_id": str(guild_id)} if guild_id else shown
