"""What the bot says about itself: commands and descriptions, by language."""

from __future__ import annotations

import json
import re
from typing import Any

from rehearsal.telegram_world.params import Method, Params
from rehearsal.telegram_world.refusal import bad
from rehearsal.telegram_world.world import BOT, TelegramWorld

MAX_COMMANDS, MAX_COMMAND, MAX_COMMAND_DESCRIPTION = 100, 32, 256
MAX_DESCRIPTION, MAX_SHORT_DESCRIPTION = 512, 120
_SCOPES = {
    "default": (),
    "all_private_chats": (),
    "all_group_chats": (),
    "all_chat_administrators": (),
    "chat": ("chat_id",),
    "chat_administrators": ("chat_id",),
    "chat_member": ("chat_id", "user_id"),
}


class ProfileMethods:
    """The methods on the bot's profile, by name."""

    def __init__(self, world: TelegramWorld) -> None:
        self.world = world
        self.commands: dict[tuple[str, str], list[dict[str, str]]] = {}
        self.texts: dict[tuple[str, str], str] = {}

    def methods(self) -> dict[str, Method]:
        """What can be called, by the API's names."""
        return {
            "getMe": self.get_me,
            "setMyCommands": self.set_my_commands,
            "setMyDescription": self.set_my_description,
            "setMyShortDescription": self.set_my_short_description,
        }

    def get_me(self, params: Params) -> Any:
        """The bot's account."""
        return BOT

    def set_my_commands(self, params: Params) -> Any:
        """The command menu of one scope and language."""
        key, commands = self._menu(params), params.get("commands")
        if not isinstance(commands, list):
            raise bad("can't parse list of commands")
        if len(commands) > MAX_COMMANDS:
            raise bad("BOT_COMMANDS_TOO_MUCH")
        self.commands[key] = [_command(one) for one in commands]
        return True

    def set_my_description(self, params: Params) -> Any:
        """What an empty chat shows, up to 512 characters."""
        return self._set("description", params, MAX_DESCRIPTION)

    def set_my_short_description(self, params: Params) -> Any:
        """What the profile shows, up to 120 characters."""
        return self._set("short_description", params, MAX_SHORT_DESCRIPTION)

    def _menu(self, params: Params) -> tuple[str, str]:
        scope = params.get("scope") or {"type": "default"}
        if not isinstance(scope, dict) or scope.get("type") not in _SCOPES:
            raise bad("can't parse BotCommandScope: unsupported type specified")
        for name in _SCOPES[scope["type"]]:
            if not scope.get(name):
                raise bad(f"can't parse BotCommandScope: {name} is empty")
        if "chat_id" in scope and scope["chat_id"] not in self.world.chats:
            raise bad("chat not found")
        return json.dumps(scope, sort_keys=True), _language(params)

    def _set(self, what: str, params: Params, most: int) -> bool:
        text, language = params.text(what), _language(params)
        if len(text) > most:
            raise bad(f"{what.replace('_', ' ')} is too long")
        if text:
            self.texts[what, language] = text
        else:
            self.texts.pop((what, language), None)
        return True


def _language(params: Params) -> str:
    code = params.text("language_code")
    if not re.fullmatch(r"(?:[a-z]{2})?", code):
        raise bad("invalid language code specified")
    return code


def _command(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise bad("can't parse BotCommand: expected an Object")
    name, description = given.get("command", "").strip().removeprefix("/"), given.get("description", "").strip()
    if not name:
        raise bad("command must be non-empty")
    if len(name) > MAX_COMMAND:
        raise bad(f"command length must not exceed {MAX_COMMAND}")
    if not re.fullmatch(r"[a-z0-9_]+", name):
        raise bad("BOT_COMMAND_INVALID")
    if not description:
        raise bad("command description must be non-empty")
    if len(description) > MAX_COMMAND_DESCRIPTION:
        raise bad(f"command description length must not exceed {MAX_COMMAND_DESCRIPTION}")
    return {"command": name, "description": description}
