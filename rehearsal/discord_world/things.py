"""What there is: users, guilds with roles and channels, threads, messages, and what people used."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rehearsal.discord_world.clock import Clock
from rehearsal.discord_world.permissions import NOTHING, Permission
from rehearsal.discord_world.waiters import Waiters

TEXT, DM, CATEGORY = 0, 1, 4
PUBLIC_THREAD, PRIVATE_THREAD = 11, 12
THREADS = {10, PUBLIC_THREAD, PRIVATE_THREAD}

SUPPRESS_EMBEDS, HAS_THREAD, EPHEMERAL, LOADING = 1 << 2, 1 << 5, 1 << 6, 1 << 7
SUPPRESS_NOTIFICATIONS = 1 << 12
COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 2, 3, 4, 5
ANSWER, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
ACKNOWLEDGE_WITHIN, TOKEN_LASTS = 3.0, 15 * 60.0
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
class GuildRole:
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
    roles: list[GuildRole]
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
    messages: dict[int, DiscordMessage] = field(default_factory=dict)
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
    roles: dict[int, GuildRole] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    locale: str = "en-US"

    @property
    def everyone(self) -> GuildRole:
        """The role that everybody has."""
        return self.roles[self.id]


@dataclass(kw_only=True, frozen=True)
class Attachment:
    """A file of a message."""

    id: int
    filename: str
    content: bytes
    content_type: str


@dataclass(kw_only=True, eq=False)
class DiscordPoll:
    """Discord's own poll, with who voted for which answer, as every reader can see."""

    question: str
    answers: list[str]
    multiselect: bool
    expiry: float
    votes: dict[int, list[int]] = field(default_factory=dict)
    finished: bool = False


@dataclass(kw_only=True, eq=False)
class DiscordMessage:
    """A message as people see it; `contents` keeps what it said before each edit, oldest first."""

    id: int
    channel: Channel
    author: User
    created: float
    content: str = ""
    type: int = 0
    flags: int = 0
    components: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    poll: DiscordPoll | None = None
    reply_to: DiscordMessage | None = None
    mentions: list[User] = field(default_factory=list)
    mention_roles: list[GuildRole] = field(default_factory=list)
    mention_everyone: bool = False
    allowed_mentions: dict[str, Any] | None = None
    edited: float | None = None
    deleted: bool = False
    interaction: Interaction | None = None
    ephemeral_for: User | None = None
    thread: Channel | None = None
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


@dataclass(kw_only=True, eq=False)
class Interaction:
    """One interaction; times are the clock's, in seconds."""

    id: int
    token: str
    type: int
    user: User
    channel: Channel
    data: dict[str, Any]
    dispatched: float
    clock: Clock = field(repr=False)
    waiting: Waiters = field(repr=False)
    message: DiscordMessage | None = None
    acknowledged_at: float | None = None
    answered_with: int | None = None
    original: DiscordMessage | None = None
    followups: list[DiscordMessage] = field(default_factory=list)
    choices: list[dict[str, Any]] | None = None
    modal: dict[str, Any] | None = None

    @property
    def seconds(self) -> float | None:
        """Time from dispatch to acknowledgement; None while there is none."""
        return None if self.acknowledged_at is None else self.acknowledged_at - self.dispatched

    @property
    def failed(self) -> bool:
        """Whether the person was shown "This interaction failed"."""
        return self.acknowledged_at is None and self.clock.now() - self.dispatched > ACKNOWLEDGE_WITHIN

    @property
    def replies(self) -> list[DiscordMessage]:
        """The messages that answer it, first the original one; without those still loading or deleted."""
        first = [self.original] if self.original and self.answered_with in {ANSWER, DEFERRED} else []
        return [message for message in [*first, *self.followups] if not message.loading and not message.deleted]

    async def acknowledged(self, seconds: float = 60.0) -> Interaction:
        """Wait until the bot acknowledged it."""
        await self.waiting.until(lambda: self.acknowledged_at is not None, seconds)
        return self

    async def reply(self, seconds: float = 60.0, *, number: int = 1) -> DiscordMessage:
        """Wait for the message that answers it; with a number, for that many."""
        await self.waiting.until(lambda: len(self.replies) >= number, seconds)
        return self.replies[number - 1]

    async def offered(self, seconds: float = 60.0) -> list[str]:
        """Wait for an autocomplete's choices; their names."""
        await self.waiting.until(lambda: self.choices is not None, seconds)
        return [choice["name"] for choice in self.choices or []]

    async def opened(self, seconds: float = 60.0) -> Interaction:
        """Wait until a modal is on the person's screen; pass the result to `submit`."""
        await self.waiting.until(lambda: self.modal is not None, seconds)
        return self


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
