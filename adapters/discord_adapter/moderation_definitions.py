"""`/mod` as Discord's API takes it, with its names in every language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.discord_adapter.texts import LOCALES
from adapters.moderation.policy import Mode
from adapters.moderation.rechecks import LONGEST_QUESTION
from adapters.moderation.texts import CommandOptionTexts, CommandTexts, ModerationTexts

_SUBCOMMAND, _STRING, _INTEGER, _BOOLEAN, _CHANNEL = 1, 3, 4, 5, 7
_MANAGE_GUILD = 1 << 5
_TEXT, _ANNOUNCEMENTS = 0, 5
POLL_HOURS, LONGEST_POLL_HOURS = 24, 768
"""Discord's longest poll: 32 days."""
SUBCOMMANDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "status": {},
    "pause": {},
    "resume": {},
    "mode": {"mode": {"type": _STRING, "required": True}},
    "stats": {},
    "review": {},
    "block-topic": {
        "topic": {"type": _STRING, "autocomplete": True},
        "remove": {"type": _BOOLEAN},
    },
    "post": {
        "source": {"type": _STRING, "required": True, "autocomplete": True},
        "channel": {"type": _CHANNEL, "channel_types": [_TEXT, _ANNOUNCEMENTS]},
    },
    "poll": {
        "question": {"type": _STRING, "required": True, "max_length": LONGEST_QUESTION},
        "answers": {"type": _STRING, "required": True, "max_length": 600},
        "hours": {"type": _INTEGER, "min_value": 1, "max_value": LONGEST_POLL_HOURS},
    },
}


def mod_definition(texts: Mapping[str, ModerationTexts], *, for_roles: bool) -> dict[str, Any]:
    """The command; with moderator roles (`for_roles`) it is offered to all and refused to others when it is used."""
    commands = {language: one.commands for language, one in texts.items()}
    return {
        "type": 1,
        **_named("mod", {language: one["mod"] for language, one in commands.items()}),
        "contexts": [0],
        "integration_types": [0],
        "default_member_permissions": None if for_roles else str(_MANAGE_GUILD),
        "options": [
            {
                "type": _SUBCOMMAND,
                **_named(name, {language: one[name] for language, one in commands.items()}),
                "options": [
                    {
                        **_named(option, {language: one[name].options[option] for language, one in commands.items()}),
                        **how,
                    }
                    | ({"choices": _modes(texts)} if option == "mode" else {})
                    for option, how in options.items()
                ],
            }
            for name, options in SUBCOMMANDS.items()
        ],
    }


def _modes(texts: Mapping[str, ModerationTexts]) -> list[dict[str, Any]]:
    return [
        {
            "name": texts["en"].names.modes[mode],
            "value": str(mode),
            "name_localizations": _localised({language: one.names.modes[mode] for language, one in texts.items()}),
        }
        for mode in Mode
    ]


def _named(name: str, texts: Mapping[str, CommandTexts] | Mapping[str, CommandOptionTexts]) -> dict[str, Any]:
    """`name` is what Discord gives back, in whatever language somebody has used it."""
    return {
        "name": name,
        "description": texts["en"].description,
        "name_localizations": _localised({language: one.name for language, one in texts.items()}),
        "description_localizations": _localised({language: one.description for language, one in texts.items()}),
    }


def _localised(texts: Mapping[str, str]) -> dict[str, str]:
    return {locale: text for language, text in texts.items() for locale in LOCALES.get(language, ())}
