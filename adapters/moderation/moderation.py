"""Everything that moderators can do, put together; a platform brings commands and buttons."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from adapters.conversation.turns import Turns
from adapters.moderation.audit import Action, AuditEntry, AuditLog, Target, tally
from adapters.moderation.chat_moderator import ChatModerator, MemberNotices
from adapters.moderation.info_posts import PostStore
from adapters.moderation.post_drafts import Drafting
from adapters.moderation.rechecks import Recheck
from adapters.moderation.review_queue import ReviewQueue
from adapters.moderation.status import ModerationStatus, StatusStore
from adapters.moderation.texts import MemberTexts, ModerationTexts
from adapters.texts import ByLanguage
from engine import Engine, StorageError

STATS_HOURS = 30 * 24
SWEEP_SECONDS = 6 * 3600.0
_log = logging.getLogger("cafi.moderation")


@dataclass(kw_only=True)
class Moderation:
    """The parts. `language`: of what a whole channel reads."""

    engine: Engine
    status_store: StatusStore
    queue: ReviewQueue
    posts: PostStore
    drafting: Drafting
    recheck: Recheck
    audit: AuditLog
    texts: Mapping[str, ModerationTexts]
    language: str = "en"

    @property
    def members(self) -> ByLanguage[MemberTexts]:
        """What members are told, by language."""
        return ByLanguage(texts={one: texts.members for one, texts in self.texts.items()}, default=self.language)

    @property
    def notices(self) -> MemberNotices:
        """What the chat's pages say of moderators."""
        return MemberNotices(status_store=self.status_store, members=self.members, minutes=self.queue.minutes)

    def over(self, turns: Turns) -> ChatModerator:
        """What looks at the answers of a chat."""
        return ChatModerator(
            pages=turns.pages, turns=turns, status_store=self.status_store, queue=self.queue, members=self.members
        )

    def said(self, language: str | None = None) -> ModerationTexts:
        """The texts in a language, in the channel's where there are none."""
        return self.texts.get(language or self.language) or self.texts[self.language]

    # --- What holds -------------------------------------------------------------------------------------------------

    def change(self, action: Action, target: Target, moderator: str, **changes: object) -> ModerationStatus:
        """Let something hold at once; `save` writes it."""
        self.audit.note(action, target, moderator)
        return self.status_store.change(**changes)

    async def save(self) -> bool:
        """Write what is not written yet; whether all of it is. Raises nothing."""
        written, noted = await self.status_store.save(), await self.audit.save()
        return written and noted

    def blockable(self) -> dict[str, str]:
        """What can be blocked: `source:` or `topic:` and an id, with what people call it."""
        found = {f"topic:{one}": one.replace("_", " ") for one in self.engine.stakes.patterns}
        return found | {f"source:{one}": title for one, title in self.sources().items()}

    def sources(self) -> dict[str, str]:
        """Every source of every assistant: id and title."""
        return {
            source.id: source.title
            for assistant in self.engine.assistants.values()
            for source in assistant.knowledge.sources.values()
        }

    def blocked(self) -> list[str]:
        """What is blocked now, as people call it."""
        names, now = self.blockable(), self.status_store.now
        ids = (*(f"topic:{one}" for one in now.topics), *(f"source:{one}" for one in now.sources))
        return [names.get(one, one.partition(":")[2]) for one in ids]

    def block(self, what: str, moderator: str, *, remove: bool = False) -> None:
        """Block one of `blockable`, or allow it again."""
        kind, _, name = what.partition(":")
        field, target = ("topics", Target.TOPIC) if kind == "topic" else ("sources", Target.SOURCE)
        held = [one for one in getattr(self.status_store.now, field) if one != name]
        changes = {field: tuple(held if remove else [*held, name])}
        self.change(Action.UNBLOCK if remove else Action.BLOCK, target, moderator, **changes)

    # --- What was done ----------------------------------------------------------------------------------------------

    async def done(self) -> tuple[dict[str, int], list[AuditEntry]]:
        """Counts of the last thirty days by action, and the last ten actions. Raises StorageError.

        What the operator's people do with sources stands in the same log, and is for operators alone.
        """
        await self.audit.save()
        entries = [one for one in await self.audit.entries() if one.action in set(Action)]
        since = int(self.audit.now() // 3600) - STATS_HOURS
        return dict(tally(entries, since)), entries[:10]

    # --- Running ----------------------------------------------------------------------------------------------------

    async def run(self, seconds: float = 10.0) -> None:
        """Look after what waits and what is not written yet, until it is cancelled."""
        try:
            await self.audit.renew()
        except StorageError as error:
            _log.error("%s", error)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweeping())
            group.create_task(self.queue.run(seconds))
            group.create_task(self._writing(seconds))

    async def _sweeping(self) -> None:
        while True:
            try:
                await self.audit.sweep()
            except StorageError as error:
                _log.error("%s", error)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _writing(self, seconds: float) -> None:
        while True:
            await self.save()
            await asyncio.sleep(seconds)
