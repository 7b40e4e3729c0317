"""Who is really notified by a message: Discord's reading of its content and of allowed_mentions."""

from __future__ import annotations

import re

from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.things import SUPPRESS_NOTIFICATIONS, DiscordMessage, Member, User
from rehearsal.discord_world.world import DiscordWorld, Ping

USER, ROLE, EVERYBODY = re.compile(r"<@!?(\d+)>"), re.compile(r"<@&(\d+)>"), re.compile(r"@(?:everyone|here)\b")


def read_mentions(world: DiscordWorld, message: DiscordMessage, *, pings_author: bool = True) -> list[Ping]:
    """Set the mentions of a new message and return whom they notify.

    Mentions inside code marks count too: that is the stricter reading. `pings_author` is a person's choice when she
    replies; the bot chooses with allowed_mentions.
    """
    allowed = message.allowed_mentions
    parse = {"users", "roles", "everyone"} if allowed is None else set(allowed.get("parse") or [])
    causes: dict[int, str] = {}
    powerful = world.may(message.author, message.channel, Permission.MENTION_EVERYONE)
    _read_everyone(world, message, causes, "everyone" in parse and powerful)
    _read_roles(message, causes, parse, powerful)
    _read_users(world, message, causes, parse)
    replied = pings_author if allowed is None else bool(allowed.get("replied_user"))
    if message.reply_to and replied:
        _add_user(message, causes, message.reply_to.author, "reply")
    return _notified(world, message, causes)


def _read_everyone(world: DiscordWorld, message: DiscordMessage, causes: dict[int, str], allowed: bool) -> None:
    message.mention_everyone = bool(EVERYBODY.search(message.content)) and allowed
    guild = message.channel.guild
    if message.mention_everyone and guild:
        causes |= dict.fromkeys(guild.members, "everyone")
    elif message.mention_everyone and message.channel.recipient:
        message.mention_everyone = False


def _read_roles(message: DiscordMessage, causes: dict[int, str], parse: set[str], powerful: bool) -> None:
    guild, chosen = message.channel.guild, (message.allowed_mentions or {}).get("roles") or []
    for found in ROLE.findall(message.content):
        role = guild.roles.get(int(found)) if guild else None
        if role is None or guild is None or not ("roles" in parse or found in map(str, chosen)):
            continue
        if role.mentionable or powerful:
            message.mention_roles.append(role)
            holders = [one.user.id for one in guild.members.values() if role in one.roles or role is guild.everyone]
            causes |= dict.fromkeys(holders, "role")


def _read_users(world: DiscordWorld, message: DiscordMessage, causes: dict[int, str], parse: set[str]) -> None:
    chosen = (message.allowed_mentions or {}).get("users") or []
    for found in USER.findall(message.content):
        user = world.users.get(int(found))
        if user is not None and ("users" in parse or found in map(str, chosen)):
            _add_user(message, causes, user, "user")


def _add_user(message: DiscordMessage, causes: dict[int, str], user: User, cause: str) -> None:
    if user not in message.mentions:
        message.mentions.append(user)
    causes[user.id] = cause


def _notified(world: DiscordWorld, message: DiscordMessage, causes: dict[int, str]) -> list[Ping]:
    if message.ephemeral_for is not None or message.flags & SUPPRESS_NOTIFICATIONS:
        return []
    reached = [
        (world.users[user_id], cause)
        for user_id, cause in causes.items()
        if world.users[user_id] is not message.author and world.sees(world.users[user_id], message.channel)
    ]
    return [Ping(user=user, message=message, cause=cause) for user, cause in reached]


def is_for_bot(world: DiscordWorld, message: DiscordMessage) -> bool:
    """Whether a bot without the intent may read a message: a direct one, its own, or one that mentions it."""
    return message.channel.guild is None or message.author is world.bot or world.bot in message.mentions


def member_of(message: DiscordMessage) -> Member | None:
    """The author as a member of the guild, if still in it."""
    guild = message.channel.guild
    return guild.members.get(message.author.id) if guild else None
