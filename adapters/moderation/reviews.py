"""A reply that waits for a moderator, and where it lies meanwhile: sealed under the inbox's own key, as it must be shown
after a restart, when nobody has brought the identity of its chat."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import Connection, delete, insert, select, update

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Picture
from adapters.conversation.state import Answered
from adapters.moderation.policy import Reason
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming, Pseudonyms
from adapters.storage.seal import Seal
from adapters.storage.tables import reviews
from engine import Basis, SealBroken

_PURPOSE, _PERSON = "review", "waits for a review"
_LOST = b""
"""In place of what does not open any more: who waited for it is known by the chat's name alone, when they write again."""
LOST_DAYS = 7
"""Whoever has not written again by then is not told."""
_log = logging.getLogger("cafi.moderation")


def new_id() -> str:
    """A new name of a review or post, of 32 hexadecimal digits."""
    return secrets.token_hex(16)


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingReply:
    """A reply that waits.

    `incoming`: where it goes, and to whom; no moderator is shown that. `asked`: what the reply answers. `draft`: the words
    that judges have read; `before` and `after`: the house's own around them. `waiting`: what was shown in place of all of
    it. `answered`: what buttons under it will speak of. `due`: seconds since 1970 when it stops waiting. `notes`: the
    platform's ids of the messages that show it to moderators. `doubts`: what the judges object to.
    """

    id: str
    incoming: Incoming
    asked: str
    draft: str
    answered: Answered
    due: float
    reason: Reason
    basis: Basis
    before: str = ""
    after: str = ""
    waiting: str = ""
    doubts: tuple[str, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[int, ...] = ()

    @property
    def member(self) -> ChatIdentity:
        """The person in their community, whichever thread they asked in."""
        return replace(self.incoming.identity, thread="")

    @property
    def shown(self) -> str:
        """The whole text as it would be shown."""
        return self.text(self.draft)

    def text(self, words: str) -> str:
        """The whole text with other words in place of the draft's."""
        return f"{self.before}{words}{self.after}"


class ReviewOutcome(StrEnum):
    """What becomes of a reply that waited."""

    APPROVED = "approved"
    EDITED = "edited"
    DISCARDED = "discarded"
    EXPIRED = "expired"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """A review with its outcome; `words` stand in place of the draft's."""

    review: WaitingReply
    outcome: ReviewOutcome
    words: str = ""


_REVIEW, _DECIDED = TypeAdapter(WaitingReply), TypeAdapter(Decided)
_read = partial(from_json, cache_strings="none")  # short texts would stay in a cache of the process


@dataclass(frozen=True, kw_only=True)
class ReviewStore:
    """Waiting reviews on disk. Every method is one transaction and raises StorageError."""

    database: Database
    naming: Naming
    secret: Seal
    now: Callable[[], float] = time.time

    async def put(self, review: WaitingReply) -> None:
        """Keep a new one."""
        values = {
            "review": bytes.fromhex(review.id),
            "chat": (await self.naming.of(review.incoming.identity)).present.name("chat"),
            "day": int(self.now() // 86_400),
            "sealed": self._sealed(review),
            "person": (await self._person(review.incoming.identity)).present.name(_PERSON),
        }
        await self.database.run(lambda connection: connection.execute(insert(reviews).values(values)))

    async def note(self, review: WaitingReply) -> bool:
        """Keep what has changed of one; whether it is still there."""
        this, sealed = reviews.c.review == bytes.fromhex(review.id), self._sealed(review)
        return await self.database.run(
            lambda connection: connection.execute(update(reviews).where(this).values(sealed=sealed)).rowcount > 0
        )

    async def get(self, review_id: str) -> WaitingReply | None:
        """One that still waits."""
        this = reviews.c.review == bytes.fromhex(review_id)
        sealed = await self.database.run(
            lambda connection: connection.execute(select(reviews.c.sealed).where(this)).scalar()
        )
        return None if not sealed else self._opened(review_id, bytes(sealed))

    async def waiting(self) -> list[WaitingReply]:
        """All that wait, the earliest due first. Of one that cannot be opened any more a mark is left for its chat."""
        rows = await self.database.run(
            lambda connection: connection.execute(
                select(reviews.c.review, reviews.c.sealed).where(reviews.c.sealed != _LOST)
            ).all()
        )
        found, closed = [], []
        for name, sealed in rows:
            review = self._opened(bytes(name).hex(), bytes(sealed))
            if review is None:
                closed.append(bytes(name))
            else:
                found.append(review)
        if closed:
            lost = update(reviews).where(reviews.c.review.in_(closed)).values(sealed=_LOST)
            await self.database.run(lambda connection: connection.execute(lost))
            _log.warning("%d waiting replies could not be opened: the inbox key is another one", len(closed))
        return sorted(found, key=lambda one: one.due)

    async def any_lost(self) -> bool:
        """Whether anybody is still to be told that their reply is lost; after some days nobody is."""
        old = delete(reviews).where(
            (reviews.c.sealed == _LOST) & (reviews.c.day + LOST_DAYS < int(self.now() // 86_400))
        )

        def work(connection: Connection) -> bool:
            connection.execute(old)
            return connection.execute(select(reviews.c.review).where(reviews.c.sealed == _LOST)).first() is not None

        return await self.database.run(work)

    async def tell_lost(self, identity: ChatIdentity) -> bool:
        """Whether a reply is lost that this person waited for, in whichever thread, and has not been told of; they are now."""
        names = (await self._person(identity)).names(_PERSON)
        lost = delete(reviews).where(reviews.c.person.in_(names) & (reviews.c.sealed == _LOST))
        return await self.database.run(lambda connection: connection.execute(lost).rowcount > 0)

    async def remove(self, review_id: str) -> bool:
        """Let go of one; whether it was there."""
        this = reviews.c.review == bytes.fromhex(review_id)

        def work(connection: Connection) -> bool:
            return connection.execute(delete(reviews).where(this)).rowcount > 0

        return await self.database.run(work)

    async def _person(self, identity: ChatIdentity) -> Pseudonyms:
        """Somebody in one place, in all of its threads."""
        return await self.naming.of(replace(identity, thread=""))

    # --- Seals ------------------------------------------------------------------------------------------------------

    def _sealed(self, review: WaitingReply) -> bytes:
        return self.secret.seal(_PURPOSE, bytes.fromhex(review.id), _REVIEW.dump_json(review))

    def _opened(self, review_id: str, sealed: bytes) -> WaitingReply | None:
        try:
            return _REVIEW.validate_python(_read(self.secret.open(_PURPOSE, bytes.fromhex(review_id), sealed)))
        except (SealBroken, ValueError):
            return None

    def seal_decided(self, decided: Decided) -> str:
        """A decision on its way to its chat, as a text that nobody else can make."""
        context = decided.review.incoming.identity.canonical()
        return self.secret.seal("decided", context, _DECIDED.dump_json(decided)).hex()

    def open_decided(self, incoming: Incoming) -> Decided | None:
        """The inverse; None for a text that is not ours, or was made for another chat."""
        try:
            sealed = bytes.fromhex(incoming.text)
            return _DECIDED.validate_python(_read(self.secret.open("decided", incoming.identity.canonical(), sealed)))
        except (SealBroken, ValueError):
            return None
