"""What the moderators' channel is told of: rights that are missing, and, if the operator wants it, that help was shown."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import discord

from adapters.conversation.outgoing import Outgoing
from adapters.delivery.screen import NotNow
from adapters.discord_adapter.bot_permissions import lacking_permissions
from adapters.discord_adapter.texts import DiscordTexts
from adapters.discord_adapter.wire import Missing, Refused, TokenOver, Unfit, Wire

TELL_EVERY = 3600.0
"""Seconds between two words about the same thing."""
_log = logging.getLogger("cafi.discord")


@dataclass(kw_only=True)
class Moderators:
    """Says little, and nothing about anybody. `channel`: None where there is none; then the log is told of rights.

    That help was shown is told as a sum after each `pause`, of the round before the one that has just ended: a note in
    the same second as somebody's question would say whose it was.
    """

    wire: Wire
    texts: DiscordTexts
    mode: str
    channel: int | None = None
    crisis_notes: bool = False
    clock: Callable[[], float] = time.monotonic
    pause: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(TELL_EVERY)
    _told: dict[tuple[int, str], float] = field(default_factory=dict)
    _shown: int = 0
    _before: int = 0

    def shown(self, outgoing: Outgoing) -> None:
        """Something was shown to somebody: whom and where it was does not come this far."""
        urgent = outgoing.turn is not None and outgoing.turn.help.replaces
        if self.crisis_notes and self.channel is not None and urgent:
            self._shown += 1

    async def run(self) -> None:
        """Tell sums until it is cancelled; rounds begin with the bot, never with what is counted."""
        while self.crisis_notes and self.channel is not None:
            await self.pause()
            count, self._before, self._shown = self._before, self._shown, 0
            if count:
                await self._say(self.texts.crisis_note.format(count=count))

    async def missing(self, channel: int) -> None:
        """We were refused in a channel: say which rights are missing there, once an hour."""
        client = self.wire.client
        found = None if client is None else client.get_channel(channel)
        if not isinstance(found, (discord.abc.GuildChannel, discord.Thread)):
            return
        names = ", ".join(lacking_permissions(found.permissions_for(found.guild.me), self.mode))
        if not names or self.clock() - self._told.get((channel, names), -TELL_EVERY) < TELL_EVERY:
            return
        self._told[(channel, names)] = self.clock()
        _log.warning("in channel %d these rights are missing: %s", channel, names)
        await self._say(self.texts.missing_permissions.format(place=f"<#{channel}>", permissions=names))

    async def _say(self, text: str) -> None:
        if self.channel is None:
            return
        for _ in range(5):
            try:
                await self.wire.post(self.channel, text)
                return
            except NotNow as wait:
                await asyncio.sleep(wait.seconds)
            except (Refused, Missing, TokenOver, Unfit):
                _log.warning("the moderators' channel cannot be written in")
                return
