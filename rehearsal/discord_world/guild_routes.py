"""REST: the application, users, guilds and the address of the gateway."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.world import as_id


def application(fake: Postings, call: RestCall) -> Any:
    """The application."""
    return {
        "id": str(fake.world.bot.id),
        "name": fake.world.bot.name,
        "icon": None,
        "description": "",
        "summary": "",
        "type": None,
        "bot": payloads.user_json(fake.world.bot),
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "owner": payloads.user_json(fake.world.owner),
        "team": None,
        "flags": fake.gateway.application_flags,
        "approximate_guild_count": len(fake.world.joined),
        "redirect_uris": [],
        "rpc_origins": [],
    }


def myself(fake: Postings, call: RestCall) -> Any:
    """The bot's own account."""
    return payloads.user_json(fake.world.bot) | {"verified": True, "mfa_enabled": True, "email": None, "flags": 0}


def my_guilds(fake: Postings, call: RestCall) -> Any:
    """The guilds that the bot is in."""
    return [payloads.guild_json(one) | {"owner": False, "permissions": "0"} for one in fake.world.joined]


def guild(fake: Postings, call: RestCall) -> Any:
    """A guild."""
    found = fake.world.joined_guild(call.params["guild_id"])
    return payloads.guild_json(found) | {
        "approximate_member_count": len(found.members),
        "approximate_presence_count": 1,
    }


def guild_channels(fake: Postings, call: RestCall) -> Any:
    """The channels of a guild, without threads."""
    found = fake.world.joined_guild(call.params["guild_id"])
    return [payloads.channel_json(fake.world, one) for one in found.channels.values() if not one.is_thread]


def guild_member(fake: Postings, call: RestCall) -> Any:
    """A member of a guild."""
    found = fake.world.joined_guild(call.params["guild_id"])
    user_id = as_id(call.params["user_id"])
    if user_id not in fake.world.users:
        raise errors.unknown("User")
    if user_id not in found.members:
        raise errors.unknown("Member")
    return payloads.member_json(found.members[user_id])


def gateway_for_bot(fake: Postings, call: RestCall) -> Any:
    """Where the gateway is, how many shards to run, and how many sessions may be started today."""
    used = len(fake.gateway.identifies)
    limit = {"total": 1000, "remaining": max(0, 1000 - used), "reset_after": 86_400_000, "max_concurrency": 1}
    return {"url": fake.world.gateway_url, "shards": fake.world.shards, "session_start_limit": limit}


ROUTES = (
    ("GET", "/oauth2/applications/@me", application),
    ("GET", "/users/@me", myself),
    ("GET", "/users/@me/guilds", my_guilds),
    ("GET", "/guilds/{guild_id}", guild),
    ("GET", "/guilds/{guild_id}/channels", guild_channels),
    ("GET", "/guilds/{guild_id}/members/{user_id}", guild_member),
    ("GET", "/gateway/bot", gateway_for_bot),
)
