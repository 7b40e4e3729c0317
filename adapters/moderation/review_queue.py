"""The replies that wait: shown to moderators, decided by one of them, or given up when their time has run out.

A decision goes to its chat through the chat's own line, as one more message: in order with what the person writes
meanwhile, durable, and delivered at least once. Only when it is on disk there does the review go.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapters.conversation.incoming import Incoming
from adapters.moderation.audit import Action, AuditLog, Target
from adapters.moderation.reviews import Decided, ReviewOutcome, ReviewStore, WaitingReply
from adapters.storage.identity import ChatIdentity
from engine import StorageError

DECIDED = "decided"
"""The command under which a decision comes to its chat."""
_ACTIONS = {
    ReviewOutcome.APPROVED: Action.APPROVE,
    ReviewOutcome.EDITED: Action.EDIT,
    ReviewOutcome.DISCARDED: Action.DISCARD,
    ReviewOutcome.EXPIRED: Action.EXPIRE,
}
_log = logging.getLogger("cafi.moderation")


class Desk(Protocol):
    """Where moderators read what waits. Nothing raises: what cannot be shown is tried again."""

    async def show(self, review: WaitingReply) -> Sequence[int]:
        """Show a reply with its buttons; the platform's ids of the messages, none where it could not be shown."""
        ...

    async def clear(self, notes: Sequence[int], outcome: ReviewOutcome | None) -> None:
        """Take question and reply away again; None where the person has withdrawn them."""
        ...


Take = Callable[[Sequence[Incoming]], Awaitable[None]]


@dataclass(kw_only=True)
class ReviewQueue:
    """Keeps what waits. `minutes`: how long a reply waits at most. `take`: puts messages into their chats' lines.

    `most` replies wait at a time, `most_a_member` of one person's in a community, whichever thread they asked in.
    """

    store: ReviewStore
    audit: AuditLog
    minutes: int = 60
    most: int = 50
    most_a_member: int = 3
    now: Callable[[], float] = time.time
    desk: Desk | None = None
    take: Take | None = None
    _notes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    any_lost: bool = field(default=False, init=False)
    _order: asyncio.Lock = field(default_factory=asyncio.Lock)
    _room: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, review: WaitingReply) -> bool:
        """Keep a reply until somebody has decided; False where too many wait already. Raises StorageError."""
        async with self._room:
            waiting = await self.store.waiting()
            theirs = sum(one.member == review.member for one in waiting)
            if len(waiting) >= self.most or theirs >= self.most_a_member:
                return False
            await self.store.put(review)
        self._changed.set()
        return True

    async def decide(
        self, review_id: str, outcome: ReviewOutcome, words: str = "", *, moderator: str | None = None
    ) -> WaitingReply | None:
        """Decide; None where nothing waits under this name any more. Raises StorageError, and then it still waits."""
        async with self._order:
            review = await self.store.get(review_id)
            if review is None or self.take is None:
                return None
            sealed = self.store.seal_decided(Decided(review=review, outcome=outcome, words=words or review.draft))
            await self.take([replace(review.incoming, command=DECIDED, text=sealed, about=None, at=0.0)])
            await self.store.remove(review_id)
            self._notes.pop(review_id, None)
        self.audit.note(_ACTIONS[outcome], Target.REPLY, moderator)
        if self.desk is not None:
            await self.desk.clear(review.notes, outcome)
        return review

    async def tell_lost(self, identity: ChatIdentity) -> bool:
        """Whether somebody is to be told, once, that a reply they waited for is lost; raises StorageError."""
        return await self.store.tell_lost(identity)

    def withdrawn(self) -> None:
        """A chat was erased: look soon for what moderators should not see any longer."""
        self._changed.set()

    async def look(self) -> None:
        """One round: give up what is due, show what moderators have not seen, take away what was withdrawn.

        Raises StorageError.
        """
        waiting = await self.store.waiting()
        self.any_lost = await self.store.any_lost()
        present = {one.id for one in waiting}
        for name in [one for one in self._notes if one not in present]:
            notes = self._notes.pop(name)
            if self.desk is not None:
                await self.desk.clear(notes, None)
        for review in waiting:
            if review.due <= self.now():
                await self.decide(review.id, ReviewOutcome.EXPIRED)
            elif review.notes:
                self._notes[review.id] = review.notes
            else:
                await self._show(review)

    async def _show(self, review: WaitingReply) -> None:
        notes = () if self.desk is None else tuple(await self.desk.show(review))
        if not notes or self.desk is None:
            return
        async with self._order:
            if await self.store.note(replace(review, notes=notes)):
                self._notes[review.id] = notes
                return
        await self.desk.clear(notes, None)

    async def run(self, seconds: float = 10.0) -> None:
        """Look now, whenever something waits anew, and every few seconds, until it is cancelled."""
        while True:
            self._changed.clear()
            try:
                await self.look()
            except StorageError as error:
                _log.error("%s", error)
            except Exception as error:  # a moderators' channel out of order must not end the round for ever
                _log.error("looking after waiting replies failed: %s", type(error).__name__)
            try:
                await asyncio.wait_for(self._changed.wait(), seconds)
            except TimeoutError:
                continue
