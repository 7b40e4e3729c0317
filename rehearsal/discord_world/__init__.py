"""A stand-in for Discord on the loopback address, for the real discord.py."""

from rehearsal.discord_world.discord_server import TOKEN, DiscordServer, redirected
from rehearsal.discord_world.errors import Impossible
from rehearsal.discord_world.gateway import Intent
from rehearsal.discord_world.people import DiscordPerson
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.things import (
    Channel,
    DiscordMessage,
    Guild,
    GuildRole,
    Interaction,
)

__all__ = [
    "TOKEN",
    "Channel",
    "DiscordMessage",
    "DiscordPerson",
    "DiscordServer",
    "Guild",
    "GuildRole",
    "Impossible",
    "Intent",
    "Interaction",
    "Permission",
    "redirected",
]
