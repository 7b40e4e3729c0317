"""A stand-in for Discord on the loopback address, for the real discord.py."""

from bots.rehearsing.discord_world.discord_server import TOKEN, DiscordServer, redirected, running
from bots.rehearsing.discord_world.errors import Impossible
from bots.rehearsing.discord_world.gateway import Intent
from bots.rehearsing.discord_world.interactions import Interaction
from bots.rehearsing.discord_world.people import Person
from bots.rehearsing.discord_world.permissions import Permission
from bots.rehearsing.discord_world.world import Channel, Guild, Message, Role

__all__ = [
    "TOKEN",
    "Channel",
    "DiscordServer",
    "Guild",
    "Impossible",
    "Intent",
    "Interaction",
    "Message",
    "Permission",
    "Person",
    "Role",
    "redirected",
    "running",
]
