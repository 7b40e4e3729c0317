"""A moderated community on the stand-in for Discord: members, moderators, their channel, and the bot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from adapters.discord_adapter.adapter import DiscordBot
from adapters.discord_adapter.moderation_gate import ModerationGate
from adapters.moderation.moderation import Moderation
from bots.chats import Chats
from bots.discord import moderated_bot
from bots.settings import DiscordSettings, ModerationSettings
from engine.models.scripted import ScriptedModel
from rehearsal.discord_world import DiscordPerson, Interaction, Permission
from tests.discord import ANYWHERE, BEGIN, NEEDED, ready
from tests.fakes.faulty_discord import FaultyDiscord
from tests.team import knowledge_folder
from tests.telegram import chats_in


class Community:
    """Anna and Ben ask; Mia has the moderators' role, Olaf may manage the server."""

    def __init__(self, fake: FaultyDiscord, *, locale: str = "en-US") -> None:
        self.fake = fake
        self.sources: dict[str, str] = {}
        self.anna, self.ben = fake.person("anna", locale=locale), fake.person("ben")
        self.mia, self.olaf = fake.person("mia"), fake.person("olaf")
        people = [self.anna, self.ben, self.mia, self.olaf]
        self.guild = fake.guild(
            "Support", members=people, bot_permissions=NEEDED | Permission.SEND_POLLS, locale=locale
        )
        self.channel = fake.text_channel(self.guild, "support-info")
        self.role = fake.role(self.guild, "moderators", members=[self.mia])
        managers = fake.role(self.guild, "managers", Permission.MANAGE_GUILD, members=[self.olaf])
        self.mods = fake.text_channel(self.guild, "mods", private_to=[fake.bot, self.role, managers])

    def chats(self, folder: Path, model: ScriptedModel | None, moderation: Mapping[str, Any], **discord: Any) -> Chats:
        """What the bot is made of; a second bot over the same folder finds what the first one left."""
        plain = {
            "channels": (self.channel.id,),
            "moderators_channel": self.mods.id,
            "moderator_roles": (self.role.id,),
        }
        chosen = DiscordSettings(token=SecretStr(self.fake.token), **{**plain, **discord})
        given = ModerationSettings(file=folder / "standing.json", **moderation)
        chats = chats_in(folder, model, discord=chosen, moderation=given)
        if self.sources:
            knowledge_folder(folder / "kb", **self.sources)
        return chats

    @asynccontextmanager
    async def running(
        self,
        folder: Path,
        model: ScriptedModel | None = None,
        *,
        moderation: Mapping[str, Any] | None = None,
        **discord: Any,
    ) -> AsyncIterator[DiscordBot]:
        """The bot, from its being ready to the end of the block."""
        chats = self.chats(folder, model, moderation or {}, **discord)
        async with chats.application.closing:
            await chats.begin()
            bot = moderated_bot(chats)
            bot.options, bot.restart_seconds = {"guild_ready_timeout": 0.05}, (0.05,)
            gate = bot.gate
            assert isinstance(gate, ModerationGate)
            gate.round_seconds = 0.02
            self.moderation: Moderation = gate.moderation
            task = asyncio.create_task(bot.run())
            try:
                await ready(self.fake, bot, task)
                yield bot
            finally:
                bot.stopping.set()
                await task


async def said(interaction: Interaction) -> str:
    """What a moderator's command or press is answered with."""
    return (await interaction.reply(seconds=10)).content


async def agree(person: DiscordPerson, place: Any) -> None:
    """The person has read the disclaimer and agreed."""
    pressed = person.press(await person.slash(place, "ask", question="hello").reply(), BEGIN)
    if isinstance(place, DiscordPerson):  # where they are is asked once, where nobody else reads it
        pressed = person.press(await pressed.reply(), ANYWHERE)
    await pressed.reply(number=2)
    await person.fake.world.settled()  # the consent is on disk
