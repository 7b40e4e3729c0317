"""REST: messages, reactions and polls."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.errors import ApiError
from rehearsal.discord_world.forms import check_message
from rehearsal.discord_world.gateway import Intent
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.postings import Postings, without_content
from rehearsal.discord_world.things import Channel, DiscordMessage
from rehearsal.discord_world.world import as_id


def shown(fake: Postings, message: DiscordMessage) -> dict[str, Any]:
    """A message as REST gives it to this application."""
    body = payloads.message_json(fake.world, message)
    readable = Intent.MESSAGE_CONTENT in fake.gateway.allowed_intents
    return body if readable else without_content(fake.world, message, body)


def create_message(fake: Postings, call: RestCall) -> Any:
    """Send a message as the bot."""
    channel = fake.world.open_channel(call.params["channel_id"])
    _require_sending(fake, channel, call)
    check_message(call.form, files=len(call.files))
    reply_to = _replied(fake, channel, call.form.get("message_reference"))
    return shown(fake, fake.post(channel, fake.world.bot, call.form, files=call.files, reply_to=reply_to))


def _require_sending(fake: Postings, channel: Channel, call: RestCall) -> None:
    if channel.recipient is not None and not channel.recipient.accepts_dms:
        raise errors.cannot_reach_user()
    if channel.is_thread and channel.locked and not fake.world.may(fake.world.bot, channel, Permission.MANAGE_THREADS):
        raise ApiError(400, 50083, "Thread is archived")
    fake.world.require(channel, Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES)
    if call.files:
        fake.world.require(channel, Permission.ATTACH_FILES)
    if call.form.get("poll"):
        fake.world.require(channel, Permission.SEND_POLLS)


def _replied(fake: Postings, channel: Channel, reference: dict[str, Any] | None) -> DiscordMessage | None:
    if not reference:
        return None
    if not fake.world.may(fake.world.bot, channel, Permission.READ_MESSAGE_HISTORY):
        raise ApiError(403, 160002, "Cannot reply without permission to read message history")
    message = channel.messages.get(as_id(reference["message_id"]))
    if message is not None and message.ephemeral_for is None:
        return message
    if reference.get("fail_if_not_exists", True):
        raise errors.invalid("message_reference", "Unknown message")
    return None


def list_messages(fake: Postings, call: RestCall) -> Any:
    """The latest messages of a channel, newest first; empty without the right to read history."""
    channel = fake.world.open_channel(call.params["channel_id"])
    limit = int(call.query.get("limit", 50))
    if not fake.world.may(fake.world.bot, channel, Permission.READ_MESSAGE_HISTORY):
        return []
    found = [one for _, one in sorted(channel.messages.items()) if one.ephemeral_for is None]
    return [shown(fake, one) for one in reversed(found[-limit:])]


def _existing(fake: Postings, call: RestCall) -> DiscordMessage:
    channel = fake.world.open_channel(call.params["channel_id"])
    return fake.world.message(channel, call.params["message_id"])


def get_message(fake: Postings, call: RestCall) -> Any:
    """One message."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.READ_MESSAGE_HISTORY)
    return shown(fake, _existing(fake, call))


def edit_message(fake: Postings, call: RestCall) -> Any:
    """Change a message of the bot's own."""
    message = _existing(fake, call)
    if message.author is not fake.world.bot:
        if set(call.form) - {"flags"}:
            raise errors.not_the_author()
        fake.world.require(message.channel, Permission.MANAGE_MESSAGES)
    check_message(call.form, files=len(call.files), new=False)
    if message.poll and call.form.get("poll"):
        raise ApiError(400, 520006, "Poll cannot be edited")
    return shown(fake, fake.edit(message, call.form, files=call.files))


def delete_message(fake: Postings, call: RestCall) -> Any:
    """Delete a message: the bot's own, or anybody's with the right to manage messages."""
    message = _existing(fake, call)
    if message.author is not fake.world.bot:
        fake.world.require(message.channel, Permission.MANAGE_MESSAGES)
    fake.delete(message)


MESSAGE = "/channels/{channel_id}/messages/{message_id}"
ROUTES = (
    ("POST", "/channels/{channel_id}/messages", create_message),
    ("GET", "/channels/{channel_id}/messages", list_messages),
    ("GET", MESSAGE, get_message),
    ("PATCH", MESSAGE, edit_message),
    ("DELETE", MESSAGE, delete_message),
)
