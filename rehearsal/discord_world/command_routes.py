"""REST: application commands, for everywhere and for one guild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rehearsal.discord_world import errors
from rehearsal.discord_world.calls import Call
from rehearsal.discord_world.commands import check_commands, kept
from rehearsal.discord_world.world import as_id

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer


def _scope(fake: DiscordServer, call: Call) -> tuple[int | None, dict[int, dict[str, Any]]]:
    if as_id(call.params["application_id"]) != fake.bot.id:
        raise errors.ApiError(403, 20012, "You are not authorized to perform this action on this application")
    guild_id = fake.world.joined_guild(call.params["guild_id"]).id if "guild_id" in call.params else None
    return guild_id, fake.registered.setdefault(guild_id, {})


def _one(fake: DiscordServer, call: Call) -> tuple[int | None, dict[int, dict[str, Any]], dict[str, Any]]:
    guild_id, commands = _scope(fake, call)
    command = commands.get(as_id(call.params["command_id"]))
    if command is None:
        raise errors.unknown("application command")
    return guild_id, commands, command


def _put(fake: DiscordServer, guild_id: int | None, commands: dict[int, dict[str, Any]], body: dict[str, Any]) -> Any:
    """Keep a command; one of the same name and type is replaced and keeps its id."""
    same = [
        command_id
        for command_id, command in commands.items()
        if (command["name"], command["type"]) == (body["name"], body.get("type", 1))
    ]
    command_id = same[0] if same else fake.world.ids.new()
    version = fake.world.ids.new()
    stored = kept(body, command_id=command_id, application_id=fake.bot.id, guild_id=guild_id, version=version)
    commands[command_id] = stored
    return stored


def list_commands(fake: DiscordServer, call: Call) -> Any:
    """All commands of a scope."""
    return list(_scope(fake, call)[1].values())


def create_command(fake: DiscordServer, call: Call) -> Any:
    """Add one command."""
    guild_id, commands = _scope(fake, call)
    check_commands([call.form])
    return _put(fake, guild_id, commands, call.form)


def overwrite_commands(fake: DiscordServer, call: Call) -> Any:
    """Replace all commands of a scope."""
    guild_id, commands = _scope(fake, call)
    wanted = call.body if isinstance(call.body, list) else []
    check_commands(wanted, many=True)
    stored = [_put(fake, guild_id, commands, body) for body in wanted]
    fake.registered[guild_id] = {int(command["id"]): command for command in stored}
    return stored


def get_command(fake: DiscordServer, call: Call) -> Any:
    """One command."""
    return _one(fake, call)[2]


def edit_command(fake: DiscordServer, call: Call) -> Any:
    """Change one command."""
    guild_id, commands, command = _one(fake, call)
    changed = {**command, **call.form}
    check_commands([changed])
    version, own = fake.world.ids.new(), int(command["id"])
    commands[own] = kept(changed, command_id=own, application_id=fake.bot.id, guild_id=guild_id, version=version)
    return commands[own]


def delete_command(fake: DiscordServer, call: Call) -> Any:
    """Remove one command."""
    _, commands, command = _one(fake, call)
    del commands[int(command["id"])]


BASES = ("/applications/{application_id}/commands", "/applications/{application_id}/guilds/{guild_id}/commands")
ROUTES = tuple(
    route
    for base in BASES
    for route in (
        ("GET", base, list_commands),
        ("POST", base, create_command),
        ("PUT", base, overwrite_commands),
        ("GET", base + "/{command_id}", get_command),
        ("PATCH", base + "/{command_id}", edit_command),
        ("DELETE", base + "/{command_id}", delete_command),
    )
)
