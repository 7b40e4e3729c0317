"""Mentions that were written while nobody listened: the last messages of each channel, once after a start."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import discord
from discord.utils import time_snowflake

from adapters.discord_adapter.gate import Gate
from adapters.discord_adapter.intake import DiscordIntake
from adapters.discord_adapter.interpreter import seat_of
from engine import StorageError

OLDEST_SECONDS = 24 * 3600
"""Whoever has waited longer than a day for an answer has asked elsewhere, or does not want it any more."""
_log = logging.getLogger("cafi.discord")


@dataclass(frozen=True, kw_only=True)
class Backfill:
    """Looks through at most `most` messages a channel, none older than a day or than the last one taken."""

    intake: DiscordIntake
    gate: Gate
    most: int
    now: Callable[[], float] = time.time

    async def run(self, client: discord.Client) -> int:
        """How many messages were taken; what cannot be read is left out."""
        if not self.most:
            return 0
        taken = 0
        for channel in self._channels(client):
            try:
                taken += await self._channel(client, channel)
            except discord.HTTPException:
                continue
            except StorageError as error:
                _log.error("%s", error)
        return taken

    def _channels(self, client: discord.Client) -> list[discord.TextChannel | discord.Thread]:
        """The channels and open threads the bot answers in, also where only some roles may ask."""
        found: list[discord.TextChannel | discord.Thread] = []
        for guild in client.guilds:
            places: list[discord.TextChannel | discord.Thread] = [*guild.text_channels, *guild.threads]
            found += [one for one in places if one.permissions_for(guild.me).read_message_history]
        return found

    async def _channel(self, client: discord.Client, channel: discord.TextChannel | discord.Thread) -> int:
        user = client.user
        if user is None or not self._may_be_allowed(channel):
            return 0
        name, newest = self.intake.cursor(channel.id), channel.last_message_id or 0
        last = await self.intake.store.cursor(name)
        if last is None:
            # Nobody was answered here yet; from now on, what is missed is found.
            await self.intake.store.put_cursor(name, newest)
            return 0
        if newest <= last:
            return 0
        oldest = max(last, _snowflake(self.now() - OLDEST_SECONDS))
        missed = [one async for one in channel.history(limit=self.most) if one.id > oldest]
        taken = 0
        for message in sorted(missed, key=lambda one: one.id):
            taken += await self.intake.message(client, message)
        return taken

    def _may_be_allowed(self, channel: discord.TextChannel | discord.Thread) -> bool:
        """Whether it is one of our places for us; whether its writer may ask is looked at for each message."""
        seat = seat_of(channel, channel.guild.id, channel.guild.me)
        everybody = frozenset(role.id for role in channel.guild.roles)
        return seat.where is not None and any(self.gate.allowed(seat.where, one) for one in (seat.roles, everybody))


def _snowflake(seconds: float) -> int:
    """The lowest id that Discord gives at a time."""
    from datetime import UTC, datetime

    return time_snowflake(datetime.fromtimestamp(max(seconds, 1_420_070_400), tz=UTC))
