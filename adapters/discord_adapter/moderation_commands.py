"""`/mod` and its subcommands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import discord
from discord import app_commands

from adapters.discord_adapter.info_posts import InfoPosts
from adapters.discord_adapter.moderation_definitions import POLL_HOURS
from adapters.discord_adapter.moderation_desk import DiscordDesk, lines_of, review_buttons
from adapters.moderation.audit import Action, Target
from adapters.moderation.moderation import Moderation
from adapters.moderation.policy import Mode
from adapters.moderation.texts import ModerationTexts

OFFERED, SHOWN = 25, 5


@dataclass(frozen=True, kw_only=True)
class Subcommand:
    """What a moderator has given with a subcommand."""

    name: str
    options: Mapping[str, Any]
    focused: str = ""
    channel: int = 0

    @classmethod
    def read(cls, data: Mapping[str, Any], channel: int = 0) -> Subcommand:
        """From an interaction's data. Raises KeyError or IndexError for another form."""
        subcommand = data["options"][0]
        options = subcommand.get("options") or []
        focused = next((str(one["name"]) for one in options if one.get("focused")), "")
        values = {str(one["name"]): one.get("value") for one in options}
        return cls(name=str(subcommand["name"]), options=values, focused=focused, channel=channel)

    def text(self, name: str) -> str:
        """An option's text, empty where it was not given."""
        value = self.options.get(name)
        return "" if value is None else str(value)


@dataclass(kw_only=True)
class Commands:
    """Carries subcommands out. `reviewed`: there is a channel where moderators read what waits."""

    moderation: Moderation
    desk: DiscordDesk
    info_posts: InfoPosts
    reviewed: bool

    async def run(
        self, interaction: discord.Interaction, data: Mapping[str, Any], moderator: str, language: str | None
    ) -> None:
        """Answer a subcommand ephemerally. Raises StorageError."""
        given = Subcommand.read(data, interaction.channel_id or 0)
        said = self.moderation.said(language)
        if given.name in {"pause", "resume"}:
            await self._pause(interaction, said, moderator, paused=given.name == "pause")
            return
        # Everything else may take a while; the pause must not even wait for this.
        await interaction.response.defer(ephemeral=True, thinking=True)
        if given.name == "review":
            await self._review(interaction, said)
            return
        text = await self._text(given, said, moderator, language)
        for part in lines_of(text):
            await interaction.followup.send(part, ephemeral=True, suppress_embeds=True)

    async def _text(self, given: Subcommand, said: ModerationTexts, moderator: str, language: str | None) -> str:
        match given.name:
            case "status":
                return await self._status(said)
            case "mode":
                return await self._mode(given.text("mode"), said, moderator)
            case "stats":
                return await self._stats(said)
            case "block-topic":
                return await self._block(given, said, moderator)
            case "post":
                place = int(given.text("channel") or given.channel)
                source = self._meant(given.text("source"), self.moderation.sources())
                return await self.info_posts.draft(source, place, moderator, language)
            case "poll":
                answers = [one.strip() for one in given.text("answers").split(";") if one.strip()]
                hours = int(given.text("hours") or POLL_HOURS)
                question = given.text("question").strip()
                return await self.info_posts.poll(given.channel, question, answers, hours, moderator, language)
            case _:
                return said.moderators.unknown

    # --- Pause, mode, blocks ----------------------------------------------------------------------------------------

    async def _pause(
        self, interaction: discord.Interaction, said: ModerationTexts, moderator: str, *, paused: bool
    ) -> None:
        """In memory first: it holds before Discord, disk or database have said a word."""
        action = Action.PAUSE if paused else Action.RESUME
        self.moderation.change(action, Target.BOT, moderator, paused=paused)
        text = said.moderators.paused if paused else said.moderators.resumed
        await interaction.response.send_message(text, ephemeral=True, suppress_embeds=True)
        if not await self.moderation.save():
            await interaction.followup.send(said.moderators.not_written, ephemeral=True)

    async def _mode(self, wanted: str, said: ModerationTexts, moderator: str) -> str:
        if wanted not in {one.value for one in Mode}:
            return said.moderators.unknown
        if wanted != Mode.OPEN and not self.reviewed:
            return said.moderators.no_channel
        self.moderation.change(Action.MODE, Target.BOT, moderator, mode=wanted)
        text = said.moderators.mode_set.format(mode=said.names.modes[wanted])
        return await self._written(text, said)

    async def _block(self, given: Subcommand, said: ModerationTexts, moderator: str) -> str:
        names = self.moderation.blockable()
        if not given.text("topic"):
            return said.moderators.blocked_list.format(blocked=self._list(self.moderation.blocked(), said))
        what = self._meant(given.text("topic"), names)
        if what not in names:
            return said.moderators.unknown
        remove = given.options.get("remove") is True
        self.moderation.block(what, moderator, remove=remove)
        line = said.moderators.unblocked if remove else said.moderators.blocked
        return await self._written(line.format(what=names[what]), said)

    async def _written(self, text: str, said: ModerationTexts) -> str:
        return text if await self.moderation.save() else f"{text}\n{said.moderators.not_written}"

    # --- Looking ----------------------------------------------------------------------------------------------------

    async def _status(self, said: ModerationTexts) -> str:
        now = self.moderation.status_store.now
        return said.moderators.status.format(
            state=said.moderators.paused if now.paused else said.moderators.answering,
            mode=said.names.modes[now.mode],
            waiting=len(await self.moderation.queue.store.waiting()),
            blocked=self._list(self.moderation.blocked(), said),
            days=self.moderation.audit.days,
        )

    async def _stats(self, said: ModerationTexts) -> str:
        counts, last = await self.moderation.done()
        words = said.names.actions
        return said.moderators.stats.format(
            counts="\n".join(f"{words[one]}: {count}" for one, count in sorted(counts.items()))
            or said.moderators.nothing,
            waiting=len(await self.moderation.queue.store.waiting()),
            entries="\n".join(f"{one.when}, {one.who}: {words[one.action]}" for one in last) or said.moderators.nothing,
        )

    async def _review(self, interaction: discord.Interaction, said: ModerationTexts) -> None:
        """What waits, for this moderator alone; the way to decide when their channel is closed to us."""
        waiting = await self.moderation.queue.store.waiting()
        if not waiting:
            await interaction.followup.send(said.moderators.nothing_waits, ephemeral=True)
        for review in waiting[:SHOWN]:
            *first, last = self.desk.review_texts(review, said)
            for text in first:
                await interaction.followup.send(text, ephemeral=True, suppress_embeds=True)
            await interaction.followup.send(
                last, ephemeral=True, suppress_embeds=True, view=review_buttons(review.id, said)
            )

    def _list(self, names: Sequence[str], said: ModerationTexts) -> str:
        return "; ".join(names) or said.moderators.nothing

    # --- Names ------------------------------------------------------------------------------------------------------

    def offered(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What fits the words typed so far: names and values."""
        given = Subcommand.read(data)
        names = self.moderation.blockable() if given.focused == "topic" else self.moderation.sources()
        typed = given.text(given.focused).casefold().split()
        fitting = [(name, value) for value, name in names.items() if all(word in name.casefold() for word in typed)]
        return fitting[:OFFERED]

    def _meant(self, typed: str, names: Mapping[str, str]) -> str:
        """The value of what was chosen, or typed as a name; what was typed where there is none."""
        if typed in names:
            return typed
        wanted = typed.strip().casefold()
        return next((value for value, name in names.items() if name.casefold() == wanted), typed)


def choices(offered: Sequence[tuple[str, str]]) -> list[app_commands.Choice[str]]:
    """As Discord takes them."""
    return [app_commands.Choice(name=name[:100], value=value[:100]) for name, value in offered]
