"""The JSON in which Discord describes what exists."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

from rehearsal.discord_world.clock import written
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.things import (
    CATEGORY,
    DM,
    Attachment,
    Channel,
    DiscordMessage,
    DiscordPoll,
    Guild,
    GuildRole,
    Member,
    User,
)
from rehearsal.discord_world.world import DiscordWorld

Json: TypeAlias = dict[str, Any]
# What the stand-in does not model, as Discord describes it where there is none of it.
_NO_MEMBER: Json = {
    **dict.fromkeys(("nick", "avatar", "premium_since", "communication_disabled_until")),
    **dict.fromkeys(("deaf", "mute", "pending"), False),
    "flags": 0,
}
_GUILD: Json = {
    **dict.fromkeys(("icon", "splash", "discovery_splash", "banner", "description", "afk_channel_id")),
    **dict.fromkeys(("system_channel_id", "rules_channel_id", "public_updates_channel_id", "vanity_url_code")),
    **dict.fromkeys(("verification_level", "explicit_content_filter", "mfa_level", "nsfw_level", "premium_tier"), 0),
    **{"system_channel_flags": 0, "afk_timeout": 300, "default_message_notifications": 1, "max_members": 500_000},
    **{"emojis": [], "stickers": [], "features": [], "premium_progress_bar_enabled": False},
}
_GUILD_LISTS = ("voice_states", "presences", "stage_instances", "guild_scheduled_events", "soundboard_sounds")


def user_json(user: User) -> Json:
    """A user."""
    return {
        "id": str(user.id),
        "username": user.name,
        "global_name": None if user.bot else user.name.title(),
        "discriminator": "0",
        "avatar": None,
        "bot": user.bot,
        "public_flags": 0,
    }


def member_json(member: Member, *, permissions: Permission | None = None, with_user: bool = True) -> Json:
    """A member of a guild; with permissions, as in an interaction."""
    roles = [str(role.id) for role in member.roles]
    shown: Json = _NO_MEMBER | {"roles": roles, "joined_at": written(member.joined)}
    if with_user:
        shown["user"] = user_json(member.user)
    if permissions is not None:
        shown["permissions"] = str(int(permissions))
    return shown


def role_json(guild: Guild, role: GuildRole) -> Json:
    """A role."""
    shown: Json = {
        "id": str(role.id),
        "name": role.name,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "position": list(guild.roles).index(role.id),
        "permissions": str(int(role.permissions)),
        "managed": role.managed_by is not None,
        "mentionable": role.mentionable,
        "flags": 0,
        "icon": None,
        "unicode_emoji": None,
    }
    return shown | {"tags": {"bot_id": str(role.managed_by)}} if role.managed_by else shown


def channel_json(world: DiscordWorld, channel: Channel) -> Json:
    """A channel, thread or direct conversation."""
    last = max(channel.messages, default=None)
    shown: Json = {"id": str(channel.id), "type": channel.type, "flags": 0, "last_message_id": last and str(last)}
    if channel.type == DM:
        assert channel.recipient is not None
        return shown | {"recipients": [user_json(channel.recipient)]}
    assert channel.guild is not None
    shown |= {
        "name": channel.name,
        "guild_id": str(channel.guild.id),
        "parent_id": channel.parent and str(channel.parent.id),
        "rate_limit_per_user": 0,
    }
    if channel.is_thread:
        return shown | _thread_json(world, channel)
    shown |= {
        "position": list(channel.guild.channels).index(channel.id),
        "permission_overwrites": [
            {
                "id": str(target),
                "type": 0 if target in channel.guild.roles else 1,
                "allow": str(int(overwrite.allow)),
                "deny": str(int(overwrite.deny)),
            }
            for target, overwrite in channel.overwrites.items()
        ],
        "nsfw": False,
    }
    return shown if channel.type == CATEGORY else shown | {"topic": None, "default_auto_archive_duration": 1440}


def _thread_json(world: DiscordWorld, thread: Channel) -> Json:
    said = sum(message.type == 0 and message.ephemeral_for is None for message in thread.messages.values())
    shown: Json = {
        "owner_id": str(thread.owner_id),
        "message_count": said,
        "total_message_sent": said,
        "member_count": min(50, len(thread.thread_members)),
        "thread_metadata": {
            "archived": thread.archived,
            "locked": thread.locked,
            "auto_archive_duration": thread.auto_archive,
            "archive_timestamp": written(thread.created),
            "create_timestamp": written(thread.created),
            "invitable": True,
        },
    }
    if world.bot.id in thread.thread_members:
        shown["member"] = thread_member_json(thread, world.bot)
    return shown


def thread_member_json(thread: Channel, user: User) -> Json:
    """The membership of a user in a thread."""
    joined = written(thread.thread_members[user.id])
    return {"id": str(thread.id), "user_id": str(user.id), "join_timestamp": joined, "flags": 0}


def guild_json(guild: Guild) -> Json:
    """A guild as REST describes it."""
    return _GUILD | {
        "id": str(guild.id),
        "name": guild.name,
        "owner_id": str(guild.owner.id),
        "roles": [role_json(guild, role) for role in guild.roles.values()],
        "preferred_locale": guild.locale,
    }


def guild_create_json(world: DiscordWorld, guild: Guild, *, with_members: bool) -> Json:
    """A guild as the gateway describes it: all channels, the threads the bot sees, and the bot as member."""
    everybody = list(guild.members.values())
    own = [member for member in everybody if with_members or member.user is world.bot]
    channels = guild.channels.values()
    return guild_json(guild) | {
        "joined_at": written(guild.members[world.bot.id].joined),
        "large": len(everybody) > 250,
        "unavailable": False,
        "member_count": len(everybody),
        "members": [member_json(member) for member in own],
        "channels": [channel_json(world, channel) for channel in channels if not channel.is_thread],
        "threads": [
            channel_json(world, thread)
            for thread in channels
            if thread.is_thread and not thread.archived and world.sees(world.bot, thread)
        ],
        **{name: [] for name in _GUILD_LISTS},
    }


def message_json(world: DiscordWorld, message: DiscordMessage, *, nested: bool = False) -> Json:
    """A message as REST describes it."""
    shown: Json = {
        "id": str(message.id),
        "channel_id": str(message.channel.id),
        "author": user_json(message.author),
        "content": message.content,
        "timestamp": written(message.created),
        "edited_timestamp": written(message.edited),
        "tts": False,
        "mention_everyone": message.mention_everyone,
        "mentions": [user_json(user) for user in message.mentions],
        "mention_roles": [str(role.id) for role in message.mention_roles],
        "attachments": [attachment_json(world, message.channel, one) for one in message.attachments],
        "embeds": [],
        "components": message.components,
        "pinned": False,
        "type": message.type,
        "flags": message.flags,
    }
    if message.poll:
        shown["poll"] = poll_json(world, message.poll)
    if message.thread:
        shown["thread"] = channel_json(world, message.thread)
    return shown | _reference_json(world, message, nested) | _interaction_json(message)


def _reference_json(world: DiscordWorld, message: DiscordMessage, nested: bool) -> Json:
    first = message.reply_to
    if first is None:
        return {}
    place: Json = {"type": 0, "channel_id": str(first.channel.id), "message_id": str(first.id)}
    if first.channel.guild:
        place["guild_id"] = str(first.channel.guild.id)
    if nested:
        return {"message_reference": place}
    whole = None if first.deleted else message_json(world, first, nested=True)
    return {"message_reference": place, "referenced_message": whole}


def _interaction_json(message: DiscordMessage) -> Json:
    interaction = message.interaction
    if interaction is None:
        return {}
    shown: Json = {
        "id": str(interaction.id),
        "type": interaction.type,
        "user": user_json(interaction.user),
        "authorizing_integration_owners": {},
    }
    return {
        "webhook_id": str(message.author.id),
        "application_id": str(message.author.id),
        "interaction_metadata": shown,
    }


def attachment_json(world: DiscordWorld, channel: Channel, attachment: Attachment) -> Json:
    """A file; its address is one of the stand-in's."""
    url = f"{world.origin}/attachments/{channel.id}/{attachment.id}/{attachment.filename}"
    return {
        "id": str(attachment.id),
        "filename": attachment.filename,
        "size": len(attachment.content),
        "url": url,
        "proxy_url": url,
        "content_type": attachment.content_type,
    }


def poll_json(world: DiscordWorld, poll: DiscordPoll) -> Json:
    """A poll with its counts."""
    return {
        "question": {"text": poll.question},
        "answers": [
            {"answer_id": number, "poll_media": {"text": text}} for number, text in enumerate(poll.answers, start=1)
        ],
        "expiry": written(poll.expiry),
        "allow_multiselect": poll.multiselect,
        "layout_type": 1,
        "results": {
            "is_finalized": poll.finished,
            "answer_counts": [
                {"id": number, "count": len(voters), "me_voted": world.bot.id in voters}
                for number, voters in poll.votes.items()
                if voters
            ],
        },
    }


def numbered(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Components with the numbers that Discord gives to those that have none."""
    numbers = itertools.count(1)
    return [_numbered(component, numbers) for component in components]


def _numbered(component: dict[str, Any], numbers: itertools.count[int]) -> dict[str, Any]:
    shown = {"id": next(numbers), **{key: value for key, value in component.items() if value is not None}}
    if "components" in shown:
        shown["components"] = [_numbered(one, numbers) for one in shown["components"]]
    for key in ("accessory", "component"):
        if key in shown:
            shown[key] = _numbered(shown[key], numbers)
    return shown
