"""Commands as Discord registers them: names and descriptions in every language, and whether they have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import discord

from adapters.delivery.store import ChatStore
from adapters.discord_adapter.texts import COMMANDS, LOCALES, OPTIONS, DiscordLanguages, DiscordTexts, NamedText

_SLASH, _MESSAGE_MENU, _STRING = 1, 3, 3
_GUILD, _DIRECT = 0, 1
LONGEST_QUESTION = 2000
"""Longer ones are written into the form, which takes 4000 characters."""


def definitions(languages: DiscordLanguages) -> list[dict[str, Any]]:
    """Every command of ours."""
    slash = [_slash(name, languages) for name in COMMANDS]
    names = {code: texts.ask_about for code, texts in languages.texts.items()}
    menu = {"type": _MESSAGE_MENU, "name": languages.texts["en"].ask_about, "name_localizations": _localised(names)}
    return [{**one, "contexts": [_GUILD, _DIRECT], "integration_types": [0]} for one in (*slash, menu)]


def _slash(name: str, languages: DiscordLanguages) -> dict[str, Any]:
    command = {"type": _SLASH, **_named({code: one.commands[name] for code, one in languages.texts.items()})}
    if name in OPTIONS:
        command["options"] = [_option(name, languages.texts)]
    return command


def _option(command: str, texts: Mapping[str, DiscordTexts]) -> dict[str, Any]:
    named = _named({code: one.options[OPTIONS[command]] for code, one in texts.items()})
    how: dict[str, Any] = {"max_length": LONGEST_QUESTION} if command == "ask" else {"autocomplete": True}
    return {"type": _STRING, "required": False, **named, **how}


def _named(texts: Mapping[str, NamedText]) -> dict[str, Any]:
    return {
        "name": texts["en"].name,
        "description": texts["en"].description,
        "name_localizations": _localised({code: one.name for code, one in texts.items()}),
        "description_localizations": _localised({code: one.description for code, one in texts.items()}),
    }


def _localised(texts: Mapping[str, str]) -> dict[str, str]:
    return {locale: text for code, text in texts.items() for locale in LOCALES.get(code, ())}


def fingerprint(commands: Sequence[Mapping[str, Any]]) -> int:
    """A number that changes whenever a definition does."""
    content = json.dumps(commands, sort_keys=True, ensure_ascii=False).encode()
    return int.from_bytes(hashlib.sha256(content).digest()[:7], "big")


async def register(
    client: discord.Client,
    store: ChatStore,
    commands: Sequence[Mapping[str, Any]],
    *,
    again: bool = False,
    noted: bool = True,
) -> bool:
    """Register all commands if they have changed since last time (or `again`), and note it; whether they were.

    Raises StorageError, and discord.HTTPException when Discord does not take them.
    """
    application = client.application_id or 0
    name = f"discord commands {store.keyring.current.keyed('bot', str(application).encode()).hex()[:8]}"
    now = fingerprint(commands)
    if not again and await store.cursor(name) == now:
        return False
    await client.http.bulk_upsert_global_commands(application, [dict(one) for one in commands])
    if noted:
        await store.put_cursor(name, now)
    return True
