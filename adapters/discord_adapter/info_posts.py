"""Info posts and community polls on Discord: drafted, approved, posted, marked when their source has changed."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import discord

from adapters.conversation.texts import Languages
from adapters.discord_adapter.message_text import messages, plain
from adapters.discord_adapter.moderation_definitions import LONGEST_POLL_HOURS
from adapters.discord_adapter.moderation_desk import DiscordDesk
from adapters.moderation.audit import Action, Target
from adapters.moderation.info_posts import Post, changed
from adapters.moderation.moderation import Moderation
from engine import Assistant, Source, StorageError, clean

TO_POST, TO_POLL = "View Channel, Send Messages", "View Channel, Send Messages, Create Polls"
MOST_ANSWERS, LONGEST_ANSWER = 10, 55
_log = logging.getLogger("cafi.discord")


@dataclass(kw_only=True)
class InfoPosts:
    """Posts what moderators have approved. Everything answers with a line for the moderator who asked."""

    moderation: Moderation
    desk: DiscordDesk
    languages: Languages
    _order: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def draft(self, source_id: str, place: int, moderator: str, language: str | None) -> str:
        """Draft a post and show it to moderators. Raises StorageError."""
        lines = self.moderation.said(language).moderators
        found = self.moderation.drafting.find(source_id)
        if found is None:
            return lines.unknown
        assistant, source = found
        post = await self.moderation.drafting.post(source_id, self._question(assistant, source), place)
        if post is None:
            return lines.post_refused
        origin = self.moderation.said().members.post_from.format(source=source.with_references())
        notice = assistant.knowledge.manifest.notice
        post = replace(
            post, before=f"{source.title}\n\n", after="".join(f"\n\n{one}" for one in (origin, notice) if one)
        )
        if not await self._show_draft(post, source.title):
            return lines.no_desk
        self.moderation.audit.note(Action.DRAFT, Target.INFO_POST, moderator)
        return lines.post_shown

    async def _show_draft(self, post: Post, title: str) -> bool:
        """Show a new draft to moderators; where they have no place for it, it is not kept. Raises StorageError."""
        await self.moderation.posts.put(post)
        notes = await self.desk.show_draft(post, title)
        if not notes:
            await self.moderation.posts.remove(post.id)
            return False
        await self.moderation.posts.note(replace(post, notes=tuple(notes)))
        return True

    async def approve(self, post_id: str, moderator: str, language: str | None) -> str:
        """Count a moderator's approval, and post where that was the last one needed. Raises StorageError."""
        lines = self.moderation.said(language).moderators
        async with self._order:
            post = await self.moderation.posts.get(post_id)
            if post is None or post.posted:
                return lines.gone
            post = post.approved_by(self._as_known(post, moderator))
            if not post.ready:
                await self.moderation.posts.note(post)
                self.moderation.audit.note(*_done(post), moderator)
                return lines.post_counted
            try:
                await (self._started(post) if post.answers else self._posted(post))
            except discord.HTTPException:
                needed = TO_POLL if post.answers else TO_POST
                return lines.not_allowed.format(channel=f"<#{post.place}>", permission=needed)
        self.moderation.audit.note(*_done(post), moderator, post.shown)
        await self.desk.replace(post.notes, self.moderation.said().moderators.posted)
        return lines.poll_started if post.answers else lines.posted

    def _as_known(self, post: Post, moderator: str) -> bytes:
        """A moderator's pseudonym; the one that the draft knows them by, though the secret was changed since."""
        names = self.moderation.audit.pseudonyms(moderator)
        return next((one for one in names if one.hex() in {post.author, *post.approvals}), names[0])

    async def _posted(self, post: Post) -> None:
        sent = await self._send(post)
        await self.moderation.posts.note(replace(post, posted=True, notes=sent))

    async def _started(self, post: Post) -> None:
        """Start Discord's own poll, with a notice that everybody sees the votes; it is nothing of ours from then on."""
        poll = discord.Poll(question=post.text, duration=dt.timedelta(hours=post.hours))
        for one in post.answers:
            poll.add_answer(text=one)
        notice = self.moderation.said().members.poll_notice
        await self._place(post).send(plain(notice), poll=poll, allowed_mentions=discord.AllowedMentions.none())
        await self.moderation.posts.remove(post.id)

    async def edit(self, post_id: str, words: str, moderator: str, language: str | None) -> str:
        """Put a moderator's words in a draft, if they pass the checks; approvals begin anew. Raises StorageError."""
        lines, post = self.moderation.said(language).moderators, await self.waiting(post_id)
        if post is None:
            return lines.gone
        author = self.moderation.audit.pseudonym(moderator)
        new = await self.moderation.drafting.reworded(post, words, self._asked(post), author)
        if not isinstance(new, Post):
            return lines.post_not_edited.format(reasons="\n".join(new))
        async with self._order:
            return await self._exchanged(post, new, moderator, language)

    async def _exchanged(self, post: Post, new: Post, moderator: str, language: str | None) -> str:
        """Show the new draft, then let it wait in place of the former one, which may have been decided meanwhile."""
        lines, channel = self.moderation.said(language).moderators, self.moderation.said().moderators
        notes = await self.desk.show_draft(new, self.moderation.sources().get(new.source, new.source))
        if not notes:
            return lines.no_desk
        try:
            waited = await self.moderation.posts.exchange(post.id, replace(new, notes=tuple(notes)))
        except StorageError:
            await self.desk.replace(notes, channel.gone)
            raise
        if not waited:
            await self.desk.replace(notes, channel.gone)
            return lines.gone
        self.moderation.audit.note(Action.REWORD, Target.INFO_POST, moderator)
        await self.desk.replace(post.notes, channel.post_edited)
        return lines.post_edited

    async def waiting(self, post_id: str) -> Post | None:
        """A draft of an info post that nobody has decided on yet. Raises StorageError."""
        post = await self.moderation.posts.get(post_id)
        return None if post is None or post.posted or post.answers else post

    def _asked(self, post: Post) -> str:
        """What a person would ask about the source of a draft; empty where there is no such source any more."""
        found = self.moderation.drafting.find(post.source)
        return "" if found is None else self._question(*found)

    def _question(self, assistant: Assistant, source: Source) -> str:
        return self.languages.choose(assistant.settings.texts).topic_question.format(title=source.title)

    async def drop(self, post_id: str, moderator: str, language: str | None) -> str:
        """Drop a draft. Raises StorageError."""
        lines = self.moderation.said(language).moderators
        async with self._order:
            post = await self.moderation.posts.get(post_id)
            if post is None or post.posted:
                return lines.gone
            await self.moderation.posts.remove(post_id)
        done = (Action.POLL_DROP, Target.POLL) if post.answers else (Action.DROP, Target.INFO_POST)
        self.moderation.audit.note(*done, moderator)
        await self.desk.replace(post.notes, self.moderation.said().moderators.dropped)
        return lines.dropped

    async def mark_changed(self) -> None:
        """Say in every post whose source is another one now that its text has changed since. Raises nothing."""
        try:
            await self.moderation.posts.sweep()
            await self.moderation.posts.renew()
            for post in changed(await self.moderation.posts.posted(), self.moderation.drafting.present):
                await self._mark(post)
        except StorageError as error:
            _log.error("%s", error)

    async def _mark(self, post: Post) -> None:
        client = self.desk.client
        if client is None:
            return
        place, note = client.get_partial_messageable(post.place), self.moderation.said().members.post_changed
        before, after = messages(post.shown), messages(f"{post.shown}\n\n{note}")
        last = place.get_partial_message(post.notes[-1])
        try:
            if len(before) == len(after):
                await last.edit(content=after[-1], allowed_mentions=discord.AllowedMentions.none())
            else:
                await last.reply(plain(note), allowed_mentions=discord.AllowedMentions.none())
        except discord.NotFound:
            await self.moderation.posts.remove(post.id)  # moderators have deleted it
        except (discord.HTTPException, OSError) as error:
            _log.error("an info post could not be marked as changed: %s", type(error).__name__)
        else:
            await self.moderation.posts.note(replace(post, marked=True))

    async def _send(self, post: Post) -> tuple[int, ...]:
        place = self._place(post)
        return tuple([await _sent(place, text) for text in messages(post.shown)])

    def _place(self, post: Post) -> discord.PartialMessageable:
        client = self.desk.client
        if client is None:
            raise RuntimeError("a button was pressed before there was a client")
        return client.get_partial_messageable(post.place)

    async def poll(
        self, place: int, question: str, answers: Sequence[str], hours: int, moderator: str, language: str | None
    ) -> str:
        """Draft a poll and show it to moderators; another one than its author lets it start. Raises StorageError."""
        lines, author = self.moderation.said(language).moderators, self.moderation.audit.pseudonym(moderator)
        question, *answers = (" ".join(clean(one).text.split()) for one in (question, *answers))
        fitting = all(0 < len(one) <= LONGEST_ANSWER for one in answers)
        if not fitting or not 2 <= len(answers) <= MOST_ANSWERS or not 1 <= hours <= LONGEST_POLL_HOURS:
            return lines.poll_unfit.format(most=MOST_ANSWERS, characters=LONGEST_ANSWER)
        drafting = self.moderation.drafting
        post = await drafting.poll(question, tuple(answers), hours=hours, place=place, author=author)
        if not isinstance(post, Post):
            unfit = lines.poll_unfit.format(most=MOST_ANSWERS, characters=LONGEST_ANSWER)
            return lines.poll_refused.format(reasons="\n".join((*post, unfit)))
        if not await self._show_draft(post, ""):
            return lines.no_desk
        self.moderation.audit.note(Action.POLL_DRAFT, Target.POLL, moderator)
        return lines.post_shown


def _done(post: Post) -> tuple[Action, Target]:
    """What an approval is called in the log."""
    return (Action.POLL, Target.POLL) if post.answers else (Action.POST, Target.INFO_POST)


async def _sent(place: discord.PartialMessageable, text: str) -> int:
    message = await place.send(text, allowed_mentions=discord.AllowedMentions.none(), suppress_embeds=True)
    return message.id
