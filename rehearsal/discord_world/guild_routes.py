"""REST: the application, users, guilds and the address of the gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import Call
from rehearsal.discord_world.world import as_id

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer


def application(fake: DiscordServer, call: Call) -> Any:
    """The application."""
    return {
        "id": str(fake.bot.id),
        "name": fake.bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot": payloads.user_json(fake.bot),
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "owner": payloads.user_json(fake.owner),
        "team": None,
        "flags": fake.application_flags,
        "approximate_guild_count": len(fake.guilds),
        "redirect_uris": [],
        "rpc_origins": [],
    }


def myself(fake: DiscordServer, call: Call) -> Any:
    """The bot's own account."""
    return payloads.user_json(fake.bot) | {"verified": True, "mfa_enabled": True, "email": None, "flags": 0}


def user(fake: DiscordServer, call: Call) -> Any:
    """Any account."""
    found = fake.world.users.get(as_id(call.params["user_id"]))
    if found is None:
        raise errors.unknown("User")
    return payloads.user_json(found)


def my_guilds(fake: DiscordServer, call: Call) -> Any:
    """The guilds that the bot is in."""
    return [payloads.guild_json(one) | {"owner": False, "permissions": "0"} for one in fake.guilds]


def leave_guild(fake: DiscordServer, call: Call) -> Any:
    """Leave a guild."""
    fake.remove_bot(fake.world.joined_guild(call.params["guild_id"]))


def guild(fake: DiscordServer, call: Call) -> Any:
    """A guild."""
    found = fake.world.joined_guild(call.params["guild_id"])
    return payloads.guild_json(found) | {
        "approximate_member_count": len(found.members),
        "approximate_presence_count": 1,
    }


def guild_channels(fake: DiscordServer, call: Call) -> Any:
    """The channels of a guild, without threads."""
    found = fake.world.joined_guild(call.params["guild_id"])
    return [payloads.channel_json(fake.world, one) for one in found.channels.values() if not one.is_thread]


def guild_roles(fake: DiscordServer, call: Call) -> Any:
    """The roles of a guild."""
    found = fake.world.joined_guild(call.params["guild_id"])
    return [payloads.role_json(found, role) for role in found.roles.values()]


def guild_member(fake: DiscordServer, call: Call) -> Any:
    """A member of a guild."""
    found = fake.world.joined_guild(call.params["guild_id"])
    user_id = as_id(call.params["user_id"])
    if user_id not in fake.world.users:
        raise errors.unknown("User")
    if user_id not in found.members:
        raise errors.unknown("Member")
    return payloads.member_json(found.members[user_id])


def gateway(fake: DiscordServer, call: Call) -> Any:
    """Where the gateway is."""
    return {"url": fake.gateway_url}


def gateway_for_bot(fake: DiscordServer, call: Call) -> Any:
    """Where the gateway is, how many shards to run, and how many sessions may be started today."""
    used = len(fake.gateway.identifies)
    limit = {"total": 1000, "remaining": max(0, 1000 - used), "reset_after": 86_400_000, "max_concurrency": 1}
    return {"url": fake.gateway_url, "shards": fake.shards, "session_start_limit": limit}


ROUTES = (
    ("GET", "/oauth2/applications/@me", application),
    ("GET", "/applications/@me", application),
    ("GET", "/users/@me", myself),
    ("GET", "/users/@me/guilds", my_guilds),
    ("DELETE", "/users/@me/guilds/{guild_id}", leave_guild),
    ("GET", "/users/{user_id}", user),
    ("GET", "/guilds/{guild_id}", guild),
    ("GET", "/guilds/{guild_id}/channels", guild_channels),
    ("GET", "/guilds/{guild_id}/roles", guild_roles),
    ("GET", "/guilds/{guild_id}/members/{user_id}", guild_member),
    ("GET", "/gateway", gateway),
    ("GET", "/gateway/bot", gateway_for_bot),
)
