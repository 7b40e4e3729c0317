"""REST: channels, threads and direct conversations."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.errors import ApiError
from rehearsal.discord_world.forms import ThreadForm, check
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.things import (
    TEXT,
)
from rehearsal.discord_world.world import as_id


def typing(fake: Postings, call: RestCall) -> Any:
    """Show that the bot is typing."""
    channel = fake.world.open_channel(call.params["channel_id"])
    fake.world.require(channel, Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES)


def open_dm(fake: Postings, call: RestCall) -> Any:
    """Open a direct conversation: with anybody, though sending to them may be refused."""
    user = fake.world.users.get(as_id(call.form["recipient_id"]))
    if user is None or user.bot:
        raise errors.unknown("User") if user is None else errors.cannot_reach_user()
    return payloads.channel_json(fake.world, fake.world.dm(user))


def thread_of_message(fake: Postings, call: RestCall) -> Any:
    """Start a thread from a message: one at most."""
    channel = fake.world.open_channel(call.params["channel_id"])
    message = fake.world.message(channel, call.params["message_id"])
    if channel.type != TEXT:
        raise ApiError(400, 50024, "Cannot execute action on this channel type")
    fake.world.require(channel, Permission.CREATE_PUBLIC_THREADS)
    check(ThreadForm, call.form)
    if message.thread is not None or message.id in fake.world.channels:
        raise ApiError(400, 160004, "A thread has already been created for this message")
    hours = call.form.get("auto_archive_duration") or 1440
    thread = fake.start_thread(message, fake.world.bot, call.form["name"].strip(), auto_archive=hours)
    return payloads.channel_json(fake.world, thread)


CHANNEL = "/channels/{channel_id}"
ROUTES = (
    ("POST", CHANNEL + "/typing", typing),
    ("POST", "/users/@me/channels", open_dm),
    ("POST", CHANNEL + "/messages/{message_id}/threads", thread_of_message),
)
