"""The rights that the bot needs on Discord: what its invitation asks for, and what is missing where."""

from __future__ import annotations

import discord

BOT_PERMISSIONS = {
    "view_channel": "View Channel",
    "send_messages": "Send Messages",
    "read_message_history": "Read Message History",
    "attach_files": "Attach Files",
}
"""Rights that the bot needs in every channel it answers in, in the words of Discord's settings."""
THREAD_PERMISSIONS = {
    "create_public_threads": "Create Public Threads",
    "send_messages_in_threads": "Send Messages in Threads",
}


def needed_permissions(mode: str) -> dict[str, str]:
    """The rights for a way of answering, and no more."""
    return {**BOT_PERMISSIONS, **THREAD_PERMISSIONS} if mode == "thread" else BOT_PERMISSIONS


def lacking_permissions(held: discord.Permissions, mode: str) -> list[str]:
    """The names of the rights that we lack where we hold these."""
    return [name for right, name in needed_permissions(mode).items() if not getattr(held, right)]
