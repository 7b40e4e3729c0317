"""What exists in the fake: users, guilds with roles and channels, threads, direct messages, messages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rehearsal.discord_world import errors
from rehearsal.discord_world.clock import Clock, Snowflakes
from rehearsal.discord_world.permissions import EVERYBODY, IN_PRIVATE, NOTHING, Permission

if TYPE_CHECKING:
    from rehearsal.discord_world.interactions import Interaction

TEXT, DM, CATEGORY, ANNOUNCEMENTS = 0, 1, 4, 5
PUBLIC_THREAD, PRIVATE_THREAD = 11, 12
THREADS = {10, PUBLIC_THREAD, PRIVATE_THREAD}

SUPPRESS_EMBEDS, HAS_THREAD, EPHEMERAL, LOADING = 1 << 2, 1 << 5, 1 << 6, 1 << 7
SUPPRESS_NOTIFICATIONS, COMPONENTS_V2 = 1 << 12, 1 << 15
BARE_LINK = re.compile(r"(?<![<(])https?://[^\s<>)]+(?!>)")


@dataclass(kw_only=True, eq=False)
class User:
    """Somebody with an account, or the bot."""

    id: int
    name: str
    locale: str = "en-US"
    bot: bool = False
    accepts_dms: bool = True

    @property
    def mention(self) -> str:
        """What one writes to mention the user."""
        return f"<@{self.id}>"


@dataclass(kw_only=True, eq=False)
class Role:
    """A role of a guild; the one named @everyone has the guild's own id."""

    id: int
    name: str
    permissions: Permission
    mentionable: bool = False
    managed_by: int | None = None

    @property
    def mention(self) -> str:
        """What one writes to mention the role."""
        return f"<@&{self.id}>"


@dataclass(kw_only=True, eq=False)
class Member:
    """A user in a guild, with roles besides @everyone."""

    user: User
    roles: list[Role]
    joined: float


@dataclass(kw_only=True, frozen=True)
class Overwrite:
    """What a channel allows and denies to one role or member."""

    allow: Permission = NOTHING
    deny: Permission = NOTHING


@dataclass(kw_only=True, eq=False)
class Channel:
    """A channel, category, thread or direct conversation, with its messages by id."""

    id: int
    type: int
    name: str
    guild: Guild | None = None
    parent: Channel | None = None
    overwrites: dict[int, Overwrite] = field(default_factory=dict)
    recipient: User | None = None
    messages: dict[int, Message] = field(default_factory=dict)
    owner_id: int = 0
    thread_members: dict[int, float] = field(default_factory=dict)
    archived: bool = False
    locked: bool = False
    auto_archive: int = 1440
    created: float = 0.0

    @property
    def is_thread(self) -> bool:
        """Whether this is a thread."""
        return self.type in THREADS

    @property
    def mention(self) -> str:
        """What one writes to link to the channel."""
        return f"<#{self.id}>"


@dataclass(kw_only=True, eq=False)
class Guild:
    """A guild: roles, members, channels and threads by id."""

    id: int
    name: str
    owner: User
    roles: dict[int, Role] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    locale: str = "en-US"

    @property
    def everyone(self) -> Role:
        """The role that everybody has."""
        return self.roles[self.id]

    def role(self, name: str) -> Role:
        """The role of a name."""
        return next(role for role in self.roles.values() if role.name == name)

    def channel(self, name: str) -> Channel:
        """The channel or thread of a name."""
        return next(channel for channel in self.channels.values() if channel.name == name)


@dataclass(kw_only=True, frozen=True)
class Attachment:
    """A file of a message."""

    id: int
    filename: str
    content: bytes
    content_type: str


@dataclass(kw_only=True, eq=False)
class Poll:
    """Discord's own poll, with who voted for which answer, as every reader can see."""

    question: str
    answers: list[str]
    multiselect: bool
    expiry: float
    votes: dict[int, list[int]] = field(default_factory=dict)
    finished: bool = False


@dataclass(kw_only=True, eq=False)
class Message:
    """A message as people see it; `contents` keeps what it said before each edit, oldest first."""

    id: int
    channel: Channel
    author: User
    created: float
    content: str = ""
    type: int = 0
    flags: int = 0
    embeds: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    poll: Poll | None = None
    reply_to: Message | None = None
    mentions: list[User] = field(default_factory=list)
    mention_roles: list[Role] = field(default_factory=list)
    mention_everyone: bool = False
    allowed_mentions: dict[str, Any] | None = None
    nonce: str | None = None
    edited: float | None = None
    deleted: bool = False
    interaction: Interaction | None = None
    ephemeral_for: User | None = None
    thread: Channel | None = None
    reactions: dict[str, list[int]] = field(default_factory=dict)
    contents: list[str] = field(default_factory=list)

    @property
    def loading(self) -> bool:
        """Whether it still says that the bot is thinking."""
        return bool(self.flags & LOADING)

    @property
    def link_previews(self) -> list[str]:
        """The links under which Discord would show a preview."""
        return [] if self.flags & SUPPRESS_EMBEDS else BARE_LINK.findall(self.content)

    @property
    def buttons(self) -> list[str]:
        """The labels of the buttons that can be pressed, in order."""
        return [part.get("label", "") for part in parts_of(self.components) if part["type"] == 2 and usable(part)]


def usable(part: dict[str, Any]) -> bool:
    """Whether a component reacts when somebody uses it."""
    return "custom_id" in part and not part.get("disabled")


def parts_of(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All components, those inside others after them."""
    found: list[dict[str, Any]] = []
    for component in components:
        inside = component.get("components", [])
        inside = inside + [component[key] for key in ("accessory", "component") if key in component]
        found += [component, *parts_of(inside)]
    return found


class World:
    """All that exists, looked up by id; permissions as Discord computes them."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.ids = Snowflakes(clock)
        self.users: dict[int, User] = {}
        self.guilds: dict[int, Guild] = {}
        self.channels: dict[int, Channel] = {}
        self.removed_messages: list[Message] = []
        self.bot = self.add_user(User(id=self.ids.new(), name="CAFI", bot=True))

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

    def message(self, channel: Channel, message_id: str | int) -> Message:
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
        form = errors.FormErrors()
        form.add("id", "NUMBER_TYPE_COERCE", f'Value "{text}" is not snowflake.')
        form.check()
    return int(text)


def _overwritten(base: Permission, overwrites: list[Overwrite | None]) -> Permission:
    allow = deny = NOTHING
    for overwrite in overwrites:
        if overwrite is not None:
            allow, deny = allow | overwrite.allow, deny | overwrite.deny
    return (base & ~deny) | allow
