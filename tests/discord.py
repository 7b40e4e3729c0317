"""The Discord bot over a small knowledge base and a real database, against a stand-in for Discord."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.discord_adapter.adapter import DiscordBot
from bots.discord import discord_bot
from bots.settings import DiscordSettings
from engine.models.scripted import ScriptedModel
from rehearsal.discord_world import Channel, DiscordMessage, DiscordPerson, Guild, Interaction, Permission
from tests.fakes.faulty_discord import FaultyDiscord
from tests.telegram import chats_in

BEGIN = "I understand, begin"
ANYWHERE = "I would rather not say"
NEEDED = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ATTACH_FILES
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)


class Room:
    """A guild with a channel for questions, a moderators' channel and two members."""

    def __init__(self, fake: FaultyDiscord, *, locale: str = "en-GB") -> None:
        self.fake = fake
        self.anna: DiscordPerson = fake.person("anna", locale=locale)
        self.ben: DiscordPerson = fake.person("ben")
        self.guild: Guild = fake.guild("Support", members=[self.anna, self.ben], bot_permissions=NEEDED, locale=locale)
        self.channel: Channel = fake.text_channel(self.guild, "support-info")
        self.mods: Channel = fake.text_channel(self.guild, "mods", private_to=[fake.bot])


@asynccontextmanager
async def running(
    fake: FaultyDiscord,
    folder: Path,
    model: ScriptedModel | None = None,
    *,
    discord_settings: Mapping[str, Any] | None = None,
    gate: Any = None,
    feedback: Any = None,
    wait: bool = True,
    **settings: Any,
) -> AsyncIterator[DiscordBot]:
    """The bot, from its being ready to the end of the block."""
    chosen = DiscordSettings(**{"token": fake.token, **(discord_settings or {})})
    given = {} if feedback is None else {"feedback": feedback}
    chats = chats_in(folder, model, given=given, discord=chosen, **settings)
    async with chats.application.closing:
        await chats.begin()
        bot = discord_bot(chats, gate)
        bot.options = {"guild_ready_timeout": 0.05}
        bot.restart_seconds = (0.05,)
        task = asyncio.create_task(bot.run())
        try:
            if wait:
                await ready(fake, bot, task)
            yield bot
        finally:
            bot.stopping.set()
            await task


async def ready(fake: FaultyDiscord, bot: DiscordBot, task: asyncio.Task[None] | None = None) -> None:
    """The bot has registered its commands and looked for what it missed."""
    await fake.wait_for(lambda: bot.is_ready or (task is not None and task.done()), seconds=10)
    if task is not None and task.done():
        task.result()


async def agreed(bot: DiscordBot, person: DiscordPerson, place: Channel | DiscordPerson) -> None:
    """The person has read the disclaimer and agreed; in a guild only they see either."""
    asked = person.slash(place, "ask", question="hello")
    welcome = await asked.reply()
    pressed = person.press(welcome, BEGIN)
    if isinstance(place, DiscordPerson):  # where nobody else reads it, the country is asked
        pressed = person.press(await pressed.reply(), ANYWHERE)
    await pressed.reply(number=2)
    await bot.dispatch.idle()


async def answer_to(interaction: Interaction, *, number: int = 1) -> DiscordMessage:
    """What answers an interaction."""
    return await interaction.reply(number=number, seconds=10)


def pinged(fake: FaultyDiscord) -> list[object]:
    """Whom the bot has notified."""
    return [one for one in fake.pings if one.message.author is fake.bot]
