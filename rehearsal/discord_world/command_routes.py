"""REST: application commands, for everywhere and for one guild."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.forms import check_command
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.world import as_id

MOST = 100
# What Discord gives back for what a command does not say.
_UNSAID: dict[str, Any] = {
    "name_localizations": None,
    "description_localizations": None,
    "default_member_permissions": None,
    "description": "",
    "options": [],
    "nsfw": False,
    "type": 1,
    "contexts": None,
    "integration_types": [0],
    "dm_permission": True,
}


def _scope(fake: Postings, call: RestCall) -> tuple[int | None, dict[int, dict[str, Any]]]:
    if as_id(call.params["application_id"]) != fake.world.bot.id:
        raise errors.ApiError(403, 20012, "You are not authorized to perform this action on this application")
    guild_id = fake.world.joined_guild(call.params["guild_id"]).id if "guild_id" in call.params else None
    return guild_id, fake.world.registered.setdefault(guild_id, {})


def _put(fake: Postings, guild_id: int | None, commands: dict[int, dict[str, Any]], body: dict[str, Any]) -> Any:
    """Keep a command; one of the same name and type is replaced and keeps its id."""
    same = [
        command_id
        for command_id, command in commands.items()
        if (command["name"], command["type"]) == (body["name"], body.get("type", 1))
    ]
    command_id = same[0] if same else fake.world.ids.new()
    version = fake.world.ids.new()
    stored = {
        **_UNSAID,
        **body,
        "id": str(command_id),
        "application_id": str(fake.world.bot.id),
        "version": str(version),
        **({} if guild_id is None else {"guild_id": str(guild_id)}),
    }
    commands[command_id] = stored
    return stored


def overwrite_commands(fake: Postings, call: RestCall) -> Any:
    """Replace all commands of a scope."""
    guild_id, commands = _scope(fake, call)
    wanted = call.body if isinstance(call.body, list) else []
    for number, command in enumerate(wanted):
        check_command(command, str(number))
    named = [(command.get("type", 1), command["name"]) for command in wanted]
    if len(set(named)) < len(named) or len(named) > MOST:
        raise errors.invalid("name", f"Application command names must be unique, and at most {MOST}")
    stored = [_put(fake, guild_id, commands, body) for body in wanted]
    fake.world.registered[guild_id] = {int(command["id"]): command for command in stored}
    return stored


ROUTES = (
    ("PUT", "/applications/{application_id}/commands", overwrite_commands),
    ("PUT", "/applications/{application_id}/guilds/{guild_id}/commands", overwrite_commands),
)
