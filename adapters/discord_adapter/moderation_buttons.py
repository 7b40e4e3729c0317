"""Buttons and the form under what waits for moderators. A button carries the name of what it decides: a restart or a
second moderator changes nothing about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import discord

from adapters.discord_adapter.info_posts import InfoPosts
from adapters.discord_adapter.interpreter import filled_in
from adapters.discord_adapter.message_text import MESSAGE_UNITS
from adapters.discord_adapter.moderation_desk import lines_of
from adapters.moderation.moderation import Moderation
from adapters.moderation.reviews import ReviewOutcome
from adapters.moderation.texts import ModerationTexts
from engine import clean

_ID = re.compile(r"mod\|(?P<kind>[rpfq])\|(?P<deed>approve|edit|discard)\|(?P<name>[0-9a-f]{32})")
"""r: a reply that waits, p: a draft of a post; f and q: the forms in which they are changed."""
LONGEST_POST = 4000
"""What a form takes. A quotation may be longer than a message; cut short in the form, its end would be lost unseen."""


@dataclass(kw_only=True)
class ModerationButtons:
    """Carries out what moderators press and fill in."""

    moderation: Moderation
    info_posts: InfoPosts

    async def run(
        self, interaction: discord.Interaction, data: Mapping[str, Any], moderator: str, language: str | None
    ) -> None:
        """Answer a press or a form ephemerally. Raises StorageError, and ValueError for an id of another form."""
        found = _ID.fullmatch(str(data["custom_id"]))
        if found is None:
            raise ValueError("a button of another version")
        said = self.moderation.said(language)
        if found["kind"] in "rp" and found["deed"] == "edit":
            opened = self._open_form if found["kind"] == "r" else self._open_post_form
            await opened(interaction, found["name"], said)
            return
        await interaction.response.defer(ephemeral=True, thinking=True)
        if found["kind"] == "p":
            do = self.info_posts.approve if found["deed"] == "approve" else self.info_posts.drop
            text = await do(found["name"], moderator, language)
        elif found["kind"] in "fq":
            words = clean(next(filled_in(data.get("components") or []), "")).text
            if found["kind"] == "q":
                text = await self.info_posts.edit(found["name"], words, moderator, language)
            else:
                text = await self._edited(found["name"], words, moderator, said)
        else:
            outcome = ReviewOutcome.APPROVED if found["deed"] == "approve" else ReviewOutcome.DISCARDED
            text = await self._decided(found["name"], outcome, "", moderator, said)
        for part in lines_of(text):
            await interaction.followup.send(part, ephemeral=True, suppress_embeds=True)

    async def _decided(
        self, name: str, outcome: ReviewOutcome, words: str, moderator: str, said: ModerationTexts
    ) -> str:
        review = await self.moderation.queue.decide(name, outcome, words, moderator=moderator)
        return said.moderators.gone if review is None else said.moderators.outcomes[outcome]

    async def _open_form(self, interaction: discord.Interaction, name: str, said: ModerationTexts) -> None:
        review = await self.moderation.queue.store.get(name)
        if review is None:
            await interaction.response.send_message(said.moderators.gone, ephemeral=True)
            return
        labels = said.labels
        form = _form(labels.edit_title, labels.edit_field, f"mod|f|edit|{name}", review.draft, MESSAGE_UNITS)
        await interaction.response.send_modal(form)

    async def _open_post_form(self, interaction: discord.Interaction, name: str, said: ModerationTexts) -> None:
        post = await self.info_posts.waiting(name)
        if post is None:
            await interaction.response.send_message(said.moderators.gone, ephemeral=True)
            return
        labels = said.labels
        form = _form(labels.edit_post_title, labels.edit_post_field, f"mod|q|edit|{name}", post.text, LONGEST_POST)
        await interaction.response.send_modal(form)

    async def _edited(self, name: str, words: str, moderator: str, said: ModerationTexts) -> str:
        """What a moderator has written passes checks and judges first, or the reply goes on waiting."""
        review = await self.moderation.queue.store.get(name)
        if review is None:
            return said.moderators.gone
        reasons = await self.moderation.recheck.edited(review, words)
        if reasons:
            return said.moderators.refused.format(reasons="\n".join(reasons))
        return await self._decided(name, ReviewOutcome.EDITED, words, moderator, said)


def _form(title: str, label: str, custom_id: str, text: str, longest: int) -> discord.ui.Modal:
    """A form with a text to change."""
    form = discord.ui.Modal(title=title, custom_id=custom_id)
    words = discord.ui.TextInput[discord.ui.Modal](
        label=label,
        custom_id="words",
        style=discord.TextStyle.paragraph,
        default=text[:longest],
        max_length=longest,
    )
    form.add_item(words)
    form.stop()  # what is filled in comes back as an event, so the library need not keep the form
    return form
