"""REST: messages, reactions and polls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import Call
from rehearsal.discord_world.errors import ApiError, FormErrors
from rehearsal.discord_world.forms import check_message
from rehearsal.discord_world.gateway import Intent
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.posting import without_content
from rehearsal.discord_world.world import Channel, Message, as_id

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer

NONCE_LASTS = 300.0


def shown(fake: DiscordServer, message: Message) -> dict[str, Any]:
    """A message as REST gives it to this application."""
    body = payloads.message_json(fake.world, message, origin=fake.origin)
    readable = Intent.MESSAGE_CONTENT in fake.gateway.allowed_intents
    return body if readable else without_content(fake.world, message, body)


def create_message(fake: DiscordServer, call: Call) -> Any:
    """Send a message as the bot."""
    channel = fake.world.open_channel(call.params["channel_id"])
    _require_sending(fake, channel, call)
    check_message(call.form, files=len(call.files))
    reply_to = _replied(fake, channel, call.form.get("message_reference"))
    twin = _twin(fake, channel, call.form)
    if twin is not None:
        return shown(fake, twin)
    return shown(fake, fake.posting.post(channel, fake.bot, call.form, files=call.files, reply_to=reply_to))


def _require_sending(fake: DiscordServer, channel: Channel, call: Call) -> None:
    if channel.recipient is not None and not channel.recipient.accepts_dms:
        raise errors.cannot_reach_user()
    if channel.is_thread and channel.locked and not fake.world.may(fake.bot, channel, Permission.MANAGE_THREADS):
        raise ApiError(400, 50083, "Thread is archived")
    fake.world.require(channel, Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES)
    if call.form.get("embeds"):
        fake.world.require(channel, Permission.EMBED_LINKS)
    if call.files:
        fake.world.require(channel, Permission.ATTACH_FILES)
    if call.form.get("poll"):
        fake.world.require(channel, Permission.SEND_POLLS)


def _replied(fake: DiscordServer, channel: Channel, reference: dict[str, Any] | None) -> Message | None:
    if not reference:
        return None
    if not fake.world.may(fake.bot, channel, Permission.READ_MESSAGE_HISTORY):
        raise ApiError(403, 160002, "Cannot reply without permission to read message history")
    message = channel.messages.get(as_id(reference["message_id"]))
    if message is not None and message.ephemeral_for is None:
        return message
    if reference.get("fail_if_not_exists", True):
        form = FormErrors()
        form.add("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")
        form.check()
    return None


def _twin(fake: DiscordServer, channel: Channel, body: dict[str, Any]) -> Message | None:
    """The message that was already sent with the same nonce, where the bot asked for it to be unique."""
    if not body.get("enforce_nonce") or body.get("nonce") is None:
        return None
    for message in channel.messages.values():
        young = fake.clock.now() - message.created < NONCE_LASTS
        if message.author is fake.bot and message.nonce == body["nonce"] and young:
            return message
    return None


def list_messages(fake: DiscordServer, call: Call) -> Any:
    """The latest messages of a channel, newest first; empty without the right to read history."""
    channel = fake.world.open_channel(call.params["channel_id"])
    limit = int(call.query.get("limit", 50))
    if not 1 <= limit <= 100:
        form = FormErrors()
        form.add("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
        form.check()
    if not fake.world.may(fake.bot, channel, Permission.READ_MESSAGE_HISTORY):
        return []
    found = [one for _, one in sorted(channel.messages.items()) if one.ephemeral_for is None]
    if "before" in call.query:
        found = [one for one in found if one.id < as_id(call.query["before"])][-limit:]
    elif "after" in call.query:
        found = [one for one in found if one.id > as_id(call.query["after"])][:limit]
    elif "around" in call.query:
        middle = as_id(call.query["around"])
        found = sorted(sorted(found, key=lambda one: abs(one.id - middle))[:limit], key=lambda one: one.id)
    return [shown(fake, one) for one in reversed(found[-limit:])]


def _existing(fake: DiscordServer, call: Call) -> Message:
    channel = fake.world.open_channel(call.params["channel_id"])
    return fake.world.message(channel, call.params["message_id"])


def get_message(fake: DiscordServer, call: Call) -> Any:
    """One message."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.READ_MESSAGE_HISTORY)
    return shown(fake, _existing(fake, call))


def edit_message(fake: DiscordServer, call: Call) -> Any:
    """Change a message of the bot's own."""
    message = _existing(fake, call)
    if message.author is not fake.bot:
        if set(call.form) - {"flags"}:
            raise errors.not_the_author()
        fake.world.require(message.channel, Permission.MANAGE_MESSAGES)
    check_message(call.form, files=len(call.files), new=False)
    if message.poll and call.form.get("poll"):
        raise ApiError(400, 520006, "Poll cannot be edited")
    return shown(fake, fake.posting.edit(message, call.form, files=call.files))


def delete_message(fake: DiscordServer, call: Call) -> Any:
    """Delete a message: the bot's own, or anybody's with the right to manage messages."""
    message = _existing(fake, call)
    if message.author is not fake.bot:
        fake.world.require(message.channel, Permission.MANAGE_MESSAGES)
    fake.posting.delete(message)


def delete_many(fake: DiscordServer, call: Call) -> Any:
    """Delete 2 to 100 messages."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.MANAGE_MESSAGES)
    form = FormErrors()
    wanted = form.count("messages", call.form.get("messages"), 2, 100)
    form.check()
    for message_id in wanted:
        if as_id(message_id) in channel.messages:
            fake.posting.delete(channel.messages[as_id(message_id)])


def add_reaction(fake: DiscordServer, call: Call) -> Any:
    """React as the bot."""
    message = _existing(fake, call)
    fake.world.require(message.channel, Permission.READ_MESSAGE_HISTORY)
    emoji = unquote(call.params["emoji"])
    if emoji not in message.reactions:
        fake.world.require(message.channel, Permission.ADD_REACTIONS)
    if emoji.isascii():
        raise errors.unknown("Emoji")
    fake.posting.react(message, fake.bot, emoji, add=True)


def remove_reaction(fake: DiscordServer, call: Call) -> Any:
    """Take back the bot's reaction."""
    fake.posting.react(_existing(fake, call), fake.bot, unquote(call.params["emoji"]), add=False)


def end_poll(fake: DiscordServer, call: Call) -> Any:
    """End a poll of the bot's own at once."""
    message = _existing(fake, call)
    if message.poll is None or message.author is not fake.bot:
        raise ApiError(400, 520001 if message.poll is None else 520005, "Cannot expire this poll")
    if message.poll.finished:
        raise ApiError(400, 520001, "Poll expired")
    fake.posting.end_poll(message)
    return shown(fake, message)


def poll_voters(fake: DiscordServer, call: Call) -> Any:
    """Who voted for an answer: everybody can see this."""
    message = _existing(fake, call)
    voters = sorted(message.poll.votes.get(int(call.params["answer_id"]), [])) if message.poll else []
    after = as_id(call.query.get("after", 0))
    voters = [one for one in voters if one > after][: int(call.query.get("limit", 25))]
    return {"users": [payloads.user_json(fake.world.users[user_id]) for user_id in voters]}


MESSAGE = "/channels/{channel_id}/messages/{message_id}"
ROUTES = (
    ("POST", "/channels/{channel_id}/messages", create_message),
    ("GET", "/channels/{channel_id}/messages", list_messages),
    ("POST", "/channels/{channel_id}/messages/bulk-delete", delete_many),
    ("GET", MESSAGE, get_message),
    ("PATCH", MESSAGE, edit_message),
    ("DELETE", MESSAGE, delete_message),
    ("PUT", MESSAGE + "/reactions/{emoji}/@me", add_reaction),
    ("DELETE", MESSAGE + "/reactions/{emoji}/@me", remove_reaction),
    ("POST", "/channels/{channel_id}/polls/{message_id}/expire", end_poll),
    ("GET", "/channels/{channel_id}/polls/{message_id}/answers/{answer_id}", poll_voters),
)
