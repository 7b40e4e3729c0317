"""The moderators' channel on Discord: what waits is shown there, and taken away when it is decided."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import discord

from adapters.discord_adapter.message_text import MESSAGE_UNITS, label, messages, plain
from adapters.moderation.info_posts import Post
from adapters.moderation.moderation import Moderation
from adapters.moderation.redaction import as_shown
from adapters.moderation.reviews import ReviewOutcome, WaitingReply
from adapters.moderation.texts import ModerationTexts

_CHANNEL = re.compile("<\N{WORD JOINER}#(\\d+)>")
NEEDED = "View Channel, Send Messages"
_log = logging.getLogger("cafi.discord")


def buttons(*made: tuple[str, str, discord.ButtonStyle]) -> discord.ui.View:
    """Buttons with labels, custom ids and colours; stopped, so that the library keeps none of them in memory."""
    view = discord.ui.View(timeout=None)
    for text, custom_id, style in made:
        view.add_item(discord.ui.Button(label=label(text), custom_id=custom_id, style=style))
    view.stop()
    return view


def review_buttons(review_id: str, said: ModerationTexts) -> discord.ui.View:
    """Approve, edit, discard."""
    labels = said.labels
    return buttons(
        (labels.approve, f"mod|r|approve|{review_id}", discord.ButtonStyle.success),
        (labels.edit, f"mod|r|edit|{review_id}", discord.ButtonStyle.secondary),
        (labels.discard, f"mod|r|discard|{review_id}", discord.ButtonStyle.danger),
    )


def post_buttons(post_id: str, said: ModerationTexts, *, changeable: bool = True) -> discord.ui.View:
    """Approve, edit where it can be changed, discard."""
    labels = said.labels
    edit = (labels.edit, f"mod|p|edit|{post_id}", discord.ButtonStyle.secondary)
    return buttons(
        (labels.approve, f"mod|p|approve|{post_id}", discord.ButtonStyle.success),
        *((edit,) if changeable else ()),
        (labels.discard, f"mod|p|discard|{post_id}", discord.ButtonStyle.danger),
    )


def lines_of(text: str) -> list[str]:
    """An answer to a moderator in messages; channels that it names can be followed."""
    return [_CHANNEL.sub(r"<#\1>", one) for one in messages(text)]


def packed(parts: Sequence[str]) -> list[str]:
    """Texts one below the other, in as few messages as take them; each is at most one message long."""
    packs: list[str] = []
    for part in parts:
        if packs and len(packs[-1]) + len(part) + 1 <= MESSAGE_UNITS:
            packs[-1] += f"\n{part}"
        else:
            packs.append(part)
    return packs


@dataclass(kw_only=True)
class DiscordDesk:
    """The moderators' channel. Nothing raises; what Discord refuses is written to the log, without content."""

    moderation: Moderation
    channel: int
    client: discord.Client | None = None
    _complained: bool = False

    async def show(self, review: WaitingReply) -> Sequence[int]:
        """Show a reply with its buttons; the ids of the messages."""
        texts = self.review_texts(review, self.moderation.said())
        return await self._send(texts, review_buttons(review.id, self.moderation.said()))

    async def show_draft(self, post: Post, title: str) -> Sequence[int]:
        """Show a draft of a post with its buttons; the ids of the messages."""
        said = self.moderation.said()
        lines, channel = said.moderators, f"<#{post.place}>"
        changed = lines.post_other if post.author else lines.post_one
        needed = lines.post_two if post.needed > 1 else changed
        head = lines.post_draft.format(channel=channel, title=plain(title), needed=needed)
        if post.answers:
            head = lines.poll_draft.format(channel=channel, hours=post.hours)
        view = post_buttons(post.id, said, changeable=not post.answers)
        return await self._send(packed([head, *messages(post.shown)]), view)

    def review_texts(self, review: WaitingReply, said: ModerationTexts) -> list[str]:
        """A waiting reply in messages: why it waits, until when, the question as far as it is shown, the reply."""
        lines = said.moderators
        titles = self.moderation.sources()
        cited = "; ".join(f"“{titles.get(one, one)}”" for one in review.answered.sources)
        parts = [
            lines.review.format(reason=said.names.reasons[review.reason], until=f"<t:{int(review.due)}:t>"),
            lines.question,
            *messages(as_shown(review.asked)),
            lines.reply,
            *messages(review.draft),
            plain(lines.sources.format(titles=cited) if cited else lines.no_source),
        ]
        if review.doubts:
            parts += [lines.doubts, *messages("\n".join(review.doubts))]
        return packed(parts)

    async def clear(self, notes: Sequence[int], outcome: ReviewOutcome | None) -> None:
        """Take a reply away and say what became of it."""
        lines = self.moderation.said().moderators
        await self.replace(notes, lines.withdrawn if outcome is None else lines.outcomes[outcome])

    async def replace(self, notes: Sequence[int], text: str) -> None:
        """Put one line in place of messages."""
        place = self._place()
        if place is None or not notes:
            return
        first, *rest = notes
        try:
            await place.get_partial_message(first).edit(
                content=text, view=None, allowed_mentions=discord.AllowedMentions.none()
            )
            for one in rest:
                await place.get_partial_message(one).delete()
        except discord.NotFound:
            return  # a moderator has deleted it
        except (discord.HTTPException, OSError) as error:
            _log.error("a message to moderators could not be changed: %s", type(error).__name__)

    async def _send(self, texts: Sequence[str], view: discord.ui.View) -> Sequence[int]:
        place = self._place()
        if place is None:
            return ()
        sent: list[int] = []
        try:
            for at, text in enumerate(texts):
                below: dict[str, Any] = {"view": view} if at == len(texts) - 1 else {}
                message = await place.send(
                    text, allowed_mentions=discord.AllowedMentions.none(), suppress_embeds=True, **below
                )
                sent.append(message.id)
        except discord.Forbidden:
            if not self._complained:
                _log.error("I may not write in the moderators' channel. I need there: %s", NEEDED)
            self._complained = True
        except (discord.HTTPException, OSError) as error:
            _log.error("moderators could not be shown what waits: %s", type(error).__name__)
        else:
            self._complained = False
            return sent
        await self.replace(sent, "…")
        return ()

    def _place(self) -> discord.PartialMessageable | None:
        client = self.client
        if client is None or client.is_closed():
            return None
        return client.get_partial_messageable(self.channel)
