"""REST: channels, threads and direct conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import Call
from rehearsal.discord_world.errors import ApiError, FormErrors
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.world import DM, PRIVATE_THREAD, PUBLIC_THREAD, TEXT, Channel, User, as_id

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer

ARCHIVE_AFTER = (60, 1440, 4320, 10080)


def get_channel(fake: DiscordServer, call: Call) -> Any:
    """A channel."""
    return payloads.channel_json(fake.world, fake.world.open_channel(call.params["channel_id"]))


def edit_channel(fake: DiscordServer, call: Call) -> Any:
    """Rename a channel; rename, archive or lock a thread."""
    channel = fake.world.open_channel(call.params["channel_id"])
    own = channel.is_thread and channel.owner_id == fake.bot.id and "locked" not in call.form
    if not own:
        fake.world.require(channel, Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS)
    form = FormErrors()
    if "name" in call.form:
        form.length("name", call.form["name"], 1, 100)
    form.check()
    channel.name = call.form.get("name", channel.name)
    channel.archived = bool(call.form.get("archived", channel.archived))
    channel.locked = bool(call.form.get("locked", channel.locked))
    fake.posting.channel_changed(channel)
    return payloads.channel_json(fake.world, channel)


def delete_channel(fake: DiscordServer, call: Call) -> Any:
    """Delete a channel or thread."""
    channel = fake.world.open_channel(call.params["channel_id"])
    if channel.type != DM:
        fake.world.require(channel, Permission.MANAGE_THREADS if channel.is_thread else Permission.MANAGE_CHANNELS)
        shown = payloads.channel_json(fake.world, channel)
        fake.posting.delete_channel(channel)
        return shown
    return payloads.channel_json(fake.world, channel)


def typing(fake: DiscordServer, call: Call) -> Any:
    """Show that the bot is typing."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES)


def open_dm(fake: DiscordServer, call: Call) -> Any:
    """Open a direct conversation: with anybody, though sending to them may be refused."""
    user = fake.world.users.get(as_id(call.form["recipient_id"]))
    if user is None or user.bot:
        raise errors.unknown("User") if user is None else errors.cannot_reach_user()
    return payloads.channel_json(fake.world, fake.world.dm(user))


def _check_thread(call: Call) -> None:
    form = FormErrors()
    form.length("name", call.form.get("name"), 1, 100)
    form.choice("auto_archive_duration", call.form.get("auto_archive_duration") or 1440, ARCHIVE_AFTER)
    form.check()


def thread_of_message(fake: DiscordServer, call: Call) -> Any:
    """Start a thread from a message: one at most."""
    channel = fake.world.open_channel(call.params["channel_id"])
    message = fake.world.message(channel, call.params["message_id"])
    _check_place(channel)
    fake.world.require(channel, Permission.CREATE_PUBLIC_THREADS)
    _check_thread(call)
    if message.thread is not None or message.id in fake.world.channels:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    return _start(fake, call, channel, PUBLIC_THREAD, message)


def thread_alone(fake: DiscordServer, call: Call) -> Any:
    """Start a thread without a message, public or private."""
    channel = fake.world.open_channel(call.params["channel_id"])
    _check_place(channel)
    kind = call.form.get("type", PRIVATE_THREAD)
    form = FormErrors()
    form.choice("type", kind, (PUBLIC_THREAD, PRIVATE_THREAD))
    form.check()
    public = kind == PUBLIC_THREAD
    fake.world.require(channel, Permission.CREATE_PUBLIC_THREADS if public else Permission.CREATE_PRIVATE_THREADS)
    _check_thread(call)
    return _start(fake, call, channel, kind, None)


def _check_place(channel: Channel) -> None:
    if channel.type != TEXT:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")


def _start(fake: DiscordServer, call: Call, channel: Channel, kind: int, message: Any) -> Any:
    hours = call.form.get("auto_archive_duration") or 1440
    name = call.form["name"].strip()
    thread = fake.posting.start_thread(channel, fake.bot, name, kind=kind, auto_archive=hours, message=message)
    return payloads.channel_json(fake.world, thread)


def _thread(fake: DiscordServer, call: Call) -> Channel:
    thread = fake.world.open_channel(call.params["channel_id"])
    if not thread.is_thread:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    return thread


def _somebody(fake: DiscordServer, call: Call) -> User:
    name = call.params["user_id"]
    user = fake.bot if name == "@me" else fake.world.users.get(as_id(name))
    if user is None:
        raise errors.unknown("User")
    return user


def add_thread_member(fake: DiscordServer, call: Call) -> Any:
    """Join a thread, or add somebody who can see it."""
    thread, user = _thread(fake, call), _somebody(fake, call)
    if user is not fake.bot:
        fake.world.require(thread, Permission.SEND_MESSAGES_IN_THREADS)
    if not fake.world.may(user, thread, Permission.VIEW_CHANNEL):
        raise errors.missing_access()
    fake.posting.join(thread, user)


def remove_thread_member(fake: DiscordServer, call: Call) -> Any:
    """Leave a thread, or take somebody out of it."""
    thread, user = _thread(fake, call), _somebody(fake, call)
    if user is not fake.bot and not (thread.type == PRIVATE_THREAD and thread.owner_id == fake.bot.id):
        fake.world.require(thread, Permission.MANAGE_THREADS)
    fake.posting.leave(thread, user)


def thread_members(fake: DiscordServer, call: Call) -> Any:
    """Who is in a thread."""
    thread = _thread(fake, call)
    return [payloads.thread_member_json(thread, fake.world.users[user_id]) for user_id in thread.thread_members]


def active_threads(fake: DiscordServer, call: Call) -> Any:
    """The threads of a guild that the bot sees and that are not archived."""
    guild = fake.world.joined_guild(call.params["guild_id"])
    threads = [
        one for one in guild.channels.values() if one.is_thread and not one.archived and fake.world.sees(fake.bot, one)
    ]
    own = [payloads.thread_member_json(one, fake.bot) for one in threads if fake.bot.id in one.thread_members]
    return {"threads": [payloads.channel_json(fake.world, one) for one in threads], "members": own}


def archived_threads(fake: DiscordServer, call: Call) -> Any:
    """The archived public threads of a channel."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.READ_MESSAGE_HISTORY)
    assert channel.guild is not None
    threads = [one for one in channel.guild.channels.values() if one.parent is channel and one.archived]
    public = [payloads.channel_json(fake.world, one) for one in threads if one.type == PUBLIC_THREAD]
    return {"threads": public, "members": [], "has_more": False}


CHANNEL = "/channels/{channel_id}"
ROUTES = (
    ("GET", CHANNEL, get_channel),
    ("PATCH", CHANNEL, edit_channel),
    ("DELETE", CHANNEL, delete_channel),
    ("POST", CHANNEL + "/typing", typing),
    ("POST", "/users/@me/channels", open_dm),
    ("POST", CHANNEL + "/messages/{message_id}/threads", thread_of_message),
    ("POST", CHANNEL + "/threads", thread_alone),
    ("GET", CHANNEL + "/threads/archived/public", archived_threads),
    ("GET", CHANNEL + "/thread-members", thread_members),
    ("PUT", CHANNEL + "/thread-members/{user_id}", add_thread_member),
    ("DELETE", CHANNEL + "/thread-members/{user_id}", remove_thread_member),
    ("GET", "/guilds/{guild_id}/threads/active", active_threads),
)
