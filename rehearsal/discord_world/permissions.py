"""Discord's permission bits, as far as the fake knows them."""

from __future__ import annotations

from enum import IntFlag


class Permission(IntFlag):
    """One bit each; the numbers are Discord's."""

    CREATE_INVITE = 1 << 0
    ADMINISTRATOR = 1 << 3
    MANAGE_GUILD = 1 << 5
    ADD_REACTIONS = 1 << 6
    VIEW_CHANNEL = 1 << 10
    SEND_MESSAGES = 1 << 11
    MANAGE_MESSAGES = 1 << 13
    EMBED_LINKS = 1 << 14
    ATTACH_FILES = 1 << 15
    READ_MESSAGE_HISTORY = 1 << 16
    MENTION_EVERYONE = 1 << 17
    USE_EXTERNAL_EMOJIS = 1 << 18
    USE_APPLICATION_COMMANDS = 1 << 31
    MANAGE_THREADS = 1 << 34
    CREATE_PUBLIC_THREADS = 1 << 35
    CREATE_PRIVATE_THREADS = 1 << 36
    SEND_MESSAGES_IN_THREADS = 1 << 38
    SEND_POLLS = 1 << 49


NOTHING = Permission(0)
EVERYBODY = Permission(sum(Permission))
"""Every permission: what owners and administrators have."""

IN_PRIVATE = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.EMBED_LINKS
    | Permission.ATTACH_FILES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ADD_REACTIONS
    | Permission.USE_APPLICATION_COMMANDS
    | Permission.SEND_POLLS
    | Permission.MENTION_EVERYONE
)
"""What both sides may do in a direct conversation."""

USUAL = (
    IN_PRIVATE
    | Permission.CREATE_INVITE
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.CREATE_PRIVATE_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.USE_EXTERNAL_EMOJIS
)
"""What @everyone has in a new guild; to mention everyone is part of it."""
