"""Moderation on Discord: who may do what where, and `/mod` with everything under it.

Commands are acknowledged at once and answered ephemerally: what moderators do is between them and the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import discord

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.texts import Languages
from adapters.delivery.dispatch import Dispatch
from adapters.discord_adapter.gate import Release, Where
from adapters.discord_adapter.info_posts import InfoPosts
from adapters.discord_adapter.message_text import plain
from adapters.discord_adapter.moderation_buttons import ModerationButtons
from adapters.discord_adapter.moderation_commands import Commands, choices
from adapters.discord_adapter.moderation_definitions import mod_definition
from adapters.discord_adapter.moderation_desk import DiscordDesk
from adapters.moderation.moderation import Moderation
from adapters.moderation.policy import Admission
from engine import StorageError

OURS = "mod|"
_log = logging.getLogger("cafi.discord")


@dataclass(kw_only=True)
class ModerationGate:
    """The gate that moderators hold. `channel`: theirs, None where they have none; `roles`: who they are; `open`: others
    see the answers, so that there is something to review.

    Whoever may manage the server is a moderator too. Only the server with the moderators' channel moderates; without
    one, the only server that the bot is in.
    """

    moderation: Moderation
    languages: Languages
    admission: Admission
    channel: int | None = None
    roles: frozenset[int] = frozenset()
    open: bool = True
    round_seconds: float = 10.0
    desk: DiscordDesk = field(init=False)
    _running: asyncio.Task[None] | None = None
    _client: discord.Client | None = None

    def __post_init__(self) -> None:
        self.desk = DiscordDesk(moderation=self.moderation, channel=self.channel or 0)
        if self.channel is not None:
            self.moderation.queue.desk = self.desk
        info_posts = InfoPosts(moderation=self.moderation, desk=self.desk, languages=self.languages)
        self._info_posts = info_posts
        reviewed = self.channel is not None and self.open
        self._commands = Commands(moderation=self.moderation, desk=self.desk, info_posts=info_posts, reviewed=reviewed)
        self._buttons = ModerationButtons(moderation=self.moderation, info_posts=info_posts)

    def over(self, dispatch: Dispatch) -> None:
        """Decided replies go through the lines of this dispatch."""

        async def take(decided: Sequence[Incoming]) -> None:
            # Whoever asked by a command has been told that it waits; nobody is "thinking" any more.
            await dispatch.take([replace(one, place={**one.place, "thinking": None}) for one in decided])

        self.moderation.queue.take = take

    # --- What the adapter asks ----------------------------------------------------------------------------------------

    @property
    def paused(self) -> bool:
        """Whether moderators have paused the bot; from memory."""
        return self.moderation.status_store.now.paused

    def allowed(self, where: Where, roles: frozenset[int]) -> bool:
        """Whether the bot answers somebody with these roles in this place; moderators' own channel is not such a place."""
        here = self.admission.place(where.channel, where.parent, category=where.category)
        return here and self.channel not in where.places and self.admission.person(roles)

    async def held(self, incoming: Incoming, outgoing: Outgoing) -> bool:
        """Never: the chat itself has held back what waits, before it was remembered as said."""
        return False

    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """`/mod`."""
        return [mod_definition(self.moderation.texts, for_roles=bool(self.roles))]

    async def begin(self, client: discord.Client, release: Release) -> None:
        """A client is ready: mark what has changed since, and look after what waits from now on."""
        self._client = self.desk.client = client
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run())

    async def _run(self) -> None:
        await self._info_posts.mark_changed()
        await self.moderation.run(self.round_seconds)

    async def aclose(self) -> None:
        """Stop looking; what is not written yet is written."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await self.moderation.save()

    # --- Interactions -------------------------------------------------------------------------------------------------

    async def interaction(self, interaction: discord.Interaction) -> bool:
        """Whether an interaction was for moderators; it has then been acknowledged."""
        data: Mapping[str, Any] = interaction.data or {}
        named = data.get("name") == "mod" and int(data.get("type", 1)) == 1
        if not named and not str(data.get("custom_id", "")).startswith(OURS):
            return False
        language = self.languages.known(str(interaction.locale.value))
        refusal = self._refusal(interaction, language)
        if interaction.type is discord.InteractionType.autocomplete:
            offered = [] if refusal else self._commands.offered(data)
            await interaction.response.autocomplete(choices(offered))
        elif refusal:
            await interaction.response.send_message(plain(refusal), ephemeral=True, suppress_embeds=True)
        else:
            await self._answered(interaction, data, language)
        return True

    async def _answered(self, interaction: discord.Interaction, data: Mapping[str, Any], language: str | None) -> None:
        """Carry it out; a database that is away is said so, and nothing has changed then."""
        moderator = str(interaction.user.id)
        try:
            if interaction.type is discord.InteractionType.application_command:
                await self._commands.run(interaction, data, moderator, language)
            else:
                await self._buttons.run(interaction, data, moderator, language)
        except StorageError as error:
            _log.error("%s", error)
            text = plain(self.moderation.said(language).moderators.storage_down)
            if interaction.response.is_done():
                await interaction.followup.send(text, ephemeral=True)
            else:
                await interaction.response.send_message(text, ephemeral=True)
        await self.moderation.audit.save()

    def _refusal(self, interaction: discord.Interaction, language: str | None) -> str:
        """Why somebody may not; empty where they may."""
        lines = self.moderation.said(language).moderators
        if interaction.guild_id is None or not self._home(interaction.guild_id):
            return lines.elsewhere
        member = interaction.user
        held = frozenset(one.id for one in member.roles) if isinstance(member, discord.Member) else frozenset()
        if held & self.roles or interaction.permissions.manage_guild:
            return ""
        return lines.not_moderator

    def _home(self, guild: int) -> bool:
        """Whether this is the server that moderates."""
        client = self._client
        if client is None:
            return False
        theirs = None if self.channel is None else client.get_channel(self.channel)
        home = getattr(getattr(theirs, "guild", None), "id", None)
        return guild == home if home is not None else [one.id for one in client.guilds] == [guild]
