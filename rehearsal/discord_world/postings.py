"""Messages and threads come into being, change and go; the gateway and the records hear of it."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import payloads
from rehearsal.discord_world.forms import flags_of, poll_of
from rehearsal.discord_world.gateway import Gateway, GatewaySession, Intent
from rehearsal.discord_world.mentions import is_for_bot, member_of, read_mentions
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.things import (
    EPHEMERAL,
    HAS_THREAD,
    LOADING,
    PUBLIC_THREAD,
    Attachment,
    Channel,
    DiscordMessage,
    Interaction,
    User,
)
from rehearsal.discord_world.world import DiscordWorld

REPLY, SLASH_REPLY, THREAD_STARTER, MENU_REPLY = 19, 20, 21, 23


class Postings:
    """Changes messages and threads of a world, and tells whoever would be told."""

    def __init__(self, world: DiscordWorld, gateway: Gateway) -> None:
        self.world, self.gateway = world, gateway

    # --- Messages -----------------------------------------------------------------------------------------------------

    def post(
        self,
        channel: Channel,
        author: User,
        body: dict[str, Any],
        *,
        files: list[Attachment] | None = None,
        reply_to: DiscordMessage | None = None,
        interaction: Interaction | None = None,
        loading: bool = False,
        pings_author: bool = True,
    ) -> DiscordMessage:
        """A new message from a checked body."""
        now = self.world.clock.now()
        flags = flags_of(body, interaction=interaction is not None) | (LOADING if loading else 0)
        message = DiscordMessage(
            id=self.world.ids.new(),
            channel=channel,
            author=author,
            created=now,
            content=str(body.get("content") or "").strip(),
            type=_type_of(interaction, reply_to),
            flags=flags,
            components=payloads.numbered(body.get("components") or []),
            attachments=files or [],
            poll=poll_of(body, now),
            reply_to=reply_to,
            allowed_mentions=body.get("allowed_mentions"),
            interaction=interaction,
            ephemeral_for=interaction.user if interaction and flags & EPHEMERAL else None,
        )
        return self.add(message, pings_author=pings_author)

    def add(self, message: DiscordMessage, *, pings_author: bool = True) -> DiscordMessage:
        """Put a message into its channel, notify who is mentioned, and tell the gateway."""
        message.channel.messages[message.id] = message
        if not message.loading:
            self._notify(message, pings_author=pings_author)
        if message.channel.is_thread and message.ephemeral_for is None and message.type != THREAD_STARTER:
            message.channel.archived = False
            for user in [message.author, *message.mentions]:
                if self.world.may(user, message.channel, Permission.VIEW_CHANNEL):
                    self.join(message.channel, user)
        self._tell("MESSAGE_CREATE", message)
        return message

    def _notify(self, message: DiscordMessage, *, pings_author: bool = True) -> None:
        self.world.pings += read_mentions(self.world, message, pings_author=pings_author)

    def edit(
        self, message: DiscordMessage, body: dict[str, Any], *, files: list[Attachment] | None = None
    ) -> DiscordMessage:
        """Change what a checked body names; a message that was loading says something now, and notifies."""
        message.contents.append(message.content)
        if "content" in body:
            message.content = str(body["content"] or "").strip()
        if "components" in body:
            message.components = payloads.numbered(body["components"] or [])
        if body.get("flags") is not None:
            changeable = flags_of(body, interaction=False)
            message.flags = (message.flags & ~flags_of({"flags": -1}, interaction=False)) | changeable
        if "allowed_mentions" in body:
            message.allowed_mentions = body["allowed_mentions"]
        message.attachments = message.attachments + (files or [])
        if message.loading:
            message.flags &= ~LOADING
            message.poll = poll_of(body, self.world.clock.now())
            self._notify(message)
        else:
            message.edited = self.world.clock.now()
            self._mention_anew(message)
        self._tell("MESSAGE_UPDATE", message)
        return message

    def _mention_anew(self, message: DiscordMessage) -> None:
        """Read the mentions of an edited message: they are shown, and notify nobody."""
        replied = message.reply_to is not None and message.reply_to.author in message.mentions
        message.mentions, message.mention_roles = [], []
        read_mentions(self.world, message, pings_author=replied)

    def delete(self, message: DiscordMessage) -> None:
        """Remove a message."""
        del message.channel.messages[message.id]
        message.deleted = True
        self.world.removed_messages.append(message)
        event = {"id": str(message.id), "channel_id": str(message.channel.id)} | _guild_id(message)
        self._send_about(message, "MESSAGE_DELETE", event)
        self.world.changed()

    def _tell(self, name: str, message: DiscordMessage) -> None:
        """Send a message to sessions that may see it, without its content where they lack the intent."""
        self._send_about(message, name, lambda session: self.event_json(message, session))
        self.world.changed()

    def _send_about(self, message: DiscordMessage, name: str, d: Any) -> None:
        """Send an event about a message; an ephemeral one comes as if it were a direct message, as Discord sends it.

        Discord's own tracker for its documentation describes that (discord-api-docs, issue 4557).
        """
        if message.ephemeral_for is not None:
            self.gateway.send(name, d, guild=None, intent=Intent.DIRECT_MESSAGES)
            return
        intent = Intent.GUILD_MESSAGES if message.channel.guild else Intent.DIRECT_MESSAGES
        self._send(message.channel, name, d, intent)

    def event_json(self, message: DiscordMessage, session: GatewaySession) -> dict[str, Any]:
        """A message as the gateway describes it to one session."""
        shown = payloads.message_json(self.world, message) | _guild_id(message)
        member = member_of(message)
        if member is not None and message.ephemeral_for is None:
            shown["member"] = payloads.member_json(member, with_user=False)
        readable = Intent.MESSAGE_CONTENT in session.intents
        return shown if readable else without_content(self.world, message, shown)

    def _send(self, channel: Channel, name: str, d: Any, intent: Intent) -> None:
        if self.world.sees(self.world.bot, channel):
            self.gateway.send(name, d, guild=channel.guild, intent=intent)

    # --- Threads ------------------------------------------------------------------------------------------------------

    def start_thread(self, message: DiscordMessage, owner: User, name: str, *, auto_archive: int) -> Channel:
        """A new public thread of a message."""
        parent = message.channel
        thread = Channel(
            id=message.id,
            type=PUBLIC_THREAD,
            name=name,
            guild=parent.guild,
            parent=parent,
            owner_id=owner.id,
            auto_archive=auto_archive,
        )
        self.world.add_channel(thread)
        thread.thread_members[owner.id] = thread.created
        event = lambda _: payloads.channel_json(self.world, thread) | {"newly_created": True}  # noqa: E731 - read late
        self._send(thread, "THREAD_CREATE", event, Intent.GUILDS)
        message.thread, message.flags = thread, message.flags | HAS_THREAD
        self._tell("MESSAGE_UPDATE", message)
        note = DiscordMessage(
            id=self.world.ids.new(),
            channel=thread,
            author=owner,
            created=self.world.clock.now(),
            type=THREAD_STARTER,
            reply_to=message,
            allowed_mentions={"parse": []},
        )
        self.add(note)
        self.world.changed()
        return thread

    def join(self, thread: Channel, user: User) -> None:
        """Add somebody to a thread."""
        if user.id in thread.thread_members:
            return
        thread.thread_members[user.id] = self.world.clock.now()
        self._members_changed(thread, user, added_members=[payloads.thread_member_json(thread, user)])

    def _members_changed(self, thread: Channel, user: User, **change: Any) -> None:
        event = {"id": str(thread.id), "member_count": len(thread.thread_members), **_guild_id(thread), **change}
        intent = Intent.GUILDS if user is self.world.bot else Intent.GUILD_MEMBERS
        self._send(thread, "THREAD_MEMBERS_UPDATE", event, intent)
        self.world.changed()


def without_content(world: DiscordWorld, message: DiscordMessage, shown: dict[str, Any]) -> dict[str, Any]:
    """A message as it is described to a bot that may not read it."""
    if is_for_bot(world, message):
        return shown
    shown = shown | {"content": "", "attachments": [], "components": []}
    shown.pop("poll", None)
    return shown


def _type_of(interaction: Interaction | None, reply_to: DiscordMessage | None) -> int:
    if interaction is None:
        return REPLY if reply_to else 0
    if interaction.type != 2:
        return REPLY if reply_to else 0
    return SLASH_REPLY if interaction.data.get("type", 1) == 1 else MENU_REPLY


def _guild_id(thing: Channel | DiscordMessage) -> dict[str, str]:
    if isinstance(thing, DiscordMessage) and thing.ephemeral_for is not None:
        return {}
    guild = thing.channel.guild if isinstance(thing, DiscordMessage) else thing.guild
    return {"guild_id": str(guild.id)} if guild else {}
