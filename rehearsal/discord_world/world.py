"""All that exists, looked up by id: permissions as Discord computes them, and the records of what happened."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from rehearsal.discord_world import errors
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.clock import Clock, Snowflakes
from rehearsal.discord_world.permissions import EVERYBODY, IN_PRIVATE, NOTHING, Permission
from rehearsal.discord_world.things import (
    DM,
    PRIVATE_THREAD,
    Channel,
    DiscordMessage,
    Guild,
    Interaction,
    Member,
    Overwrite,
    User,
)
from rehearsal.discord_world.waiters import Waiters


@dataclass(frozen=True, kw_only=True)
class Ping:
    """One notification of one person; `cause` is user, role, everyone or reply."""

    user: User
    message: DiscordMessage
    cause: str


class DiscordWorld:
    """What there is and what happened.

    `pings`: who was really notified; `calls`: the requests; `interactions`: what people used; `origin`: the server's
    address; `registered`: the application's commands, by guild id (None: everywhere), then by command id.
    """

    def __init__(self, *, token: str, shards: int) -> None:
        self.token, self.shards = token, shards
        self.origin = self.gateway_url = ""
        self.clock = Clock()
        self.waiting = Waiters(self._last_calls)
        self.ids = Snowflakes(self.clock)
        self.calls: list[RestCall] = []
        self.pings: list[Ping] = []
        self.interactions: list[Interaction] = []
        self.by_token: dict[str, Interaction] = {}
        self.registered: dict[int | None, dict[int, dict[str, Any]]] = {}
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.removed_messages: list[DiscordMessage] = []
        self.bot = self.owner = self.add_user(User(id=self.ids.new(), name="CAFI", bot=True))

    def changed(self) -> None:
        """Something happened: whoever waits looks again."""
        self.waiting.changed()

    def _last_calls(self) -> list[str]:
        return [f"{one.method} {one.path} {one.status} {one.code or ''}" for one in self.calls[-8:]]

    async def settled(self, seconds: float = 0.05) -> None:
        """Wait until no request has come for a while."""
        seen = -1
        while seen != len(self.calls):
            seen = len(self.calls)
            await asyncio.sleep(seconds)

    @property
    def joined(self) -> list[Guild]:
        """The guilds that the bot is in."""
        return [guild for guild in self.guilds.values() if self.bot.id in guild.members]

    def add_user(self, user: User) -> User:
        """Keep a user and return it."""
        self.users[user.id] = user
        return user

    def add_channel(self, channel: Channel) -> Channel:
        """Keep a channel, in its guild too, and return it."""
        channel.created = channel.created or self.clock.now()
        self.channels[channel.id] = channel
        if channel.guild:
            channel.guild.channels[channel.id] = channel
        return channel

    def dm(self, user: User) -> Channel:
        """The direct conversation of a user with the bot."""
        for channel in self.channels.values():
            if channel.recipient is user:
                return channel
        return self.add_channel(Channel(id=self.ids.new(), type=DM, name=user.name, recipient=user))

    def permissions(self, user: User, channel: Channel) -> Permission:
        """What a user may do in a channel; a thread takes it from its parent. Nothing outside the user's guilds.

        The order is the one of Discord's reference, "Permission hierarchy".
        """
        if channel.guild is None:
            return IN_PRIVATE if user in {channel.recipient, self.bot} else NOTHING
        guild, place = channel.guild, (channel.parent or channel) if channel.is_thread else channel
        member = guild.members.get(user.id)
        if member is None or guild.id not in self.guilds:
            return NOTHING
        base = self.guild_permissions(guild, member)
        if Permission.ADMINISTRATOR in base:
            return EVERYBODY
        base = _overwritten(base, [place.overwrites.get(guild.id)])
        base = _overwritten(base, [place.overwrites.get(role.id) for role in member.roles])
        base = _overwritten(base, [place.overwrites.get(user.id)])
        return base if Permission.VIEW_CHANNEL in base else NOTHING

    def guild_permissions(self, guild: Guild, member: Member) -> Permission:
        """What a member may do in a guild, before any channel says otherwise."""
        if member.user is guild.owner:
            return EVERYBODY
        base = guild.everyone.permissions
        for role in member.roles:
            base |= role.permissions
        return EVERYBODY if Permission.ADMINISTRATOR in base else base

    def may(self, user: User, channel: Channel, *wanted: Permission) -> bool:
        """Whether a user has all of some permissions in a channel."""
        held = self.permissions(user, channel)
        return all(one in held for one in wanted)

    def sees(self, user: User, channel: Channel) -> bool:
        """Whether a user can open a channel and read it; a private thread opens for its members only."""
        if channel.type == PRIVATE_THREAD and user.id not in channel.thread_members:
            return self.may(user, channel, Permission.VIEW_CHANNEL, Permission.MANAGE_THREADS)
        return self.may(user, channel, Permission.VIEW_CHANNEL)

    def reads(self, user: User, message: DiscordMessage) -> bool:
        """Whether a user can see a message; one deleted since counts as it was."""
        if message.ephemeral_for is not None:
            return message.ephemeral_for is user
        if message.channel.type == DM:
            return user in {message.channel.recipient, self.bot}
        may = self.may(user, message.channel, Permission.READ_MESSAGE_HISTORY)
        return may and self.sees(user, message.channel)

    def open_channel(self, channel_id: str | int) -> Channel:
        """A channel that the bot can see.

        Raises ApiError: 10003 for none of this id, 50001 for one that the bot does not see.
        """
        channel = self.channels.get(as_id(channel_id))
        if channel is None:
            raise errors.unknown("Channel")
        if not self.sees(self.bot, channel):
            raise errors.missing_access()
        return channel

    def joined_guild(self, guild_id: str | int) -> Guild:
        """A guild that the bot is in.

        Raises ApiError: 10004 for none of this id, 50001 for one the bot is not in.
        """
        guild = self.guilds.get(as_id(guild_id))
        if guild is None:
            raise errors.unknown("Guild")
        if self.bot.id not in guild.members:
            raise errors.missing_access()
        return guild

    def message(self, channel: Channel, message_id: str | int) -> DiscordMessage:
        """A message of a channel that is there for everybody.

        Raises ApiError: 10008 for none, and for an ephemeral one.
        """
        message = channel.messages.get(as_id(message_id))
        if message is None or message.ephemeral_for is not None:
            raise errors.unknown("Message")
        return message

    def require(self, channel: Channel, *wanted: Permission) -> None:
        """Raise ApiError 50013 unless the bot has all of some permissions in a channel."""
        if not self.may(self.bot, channel, *wanted):
            raise errors.missing_permissions()


def as_id(text: str | int) -> int:
    """An id from a path or body.

    Raises ApiError 50035 for what is no number.
    """
    if not str(text).isascii() or not str(text).isdigit():
        raise errors.invalid("id", f'Value "{text}" is not snowflake.')
    return int(text)


def _overwritten(base: Permission, overwrites: list[Overwrite | None]) -> Permission:
    allow = deny = NOTHING
    for overwrite in overwrites:
        if overwrite is not None:
            allow, deny = allow | overwrite.allow, deny | overwrite.deny
    return (base & ~deny) | allow
