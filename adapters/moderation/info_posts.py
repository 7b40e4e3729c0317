"""Info posts: a text from one source, approved by moderators and posted plainly; marked when the source changes later.

A poll waits for its approval like a post; once it runs, it is the platform's."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pydantic import TypeAdapter
from pydantic_core import from_json
from sqlalchemy import Connection, delete, insert, select, update

from adapters.storage.database import Database
from adapters.storage.seal import Keyring
from adapters.storage.tables import posts
from engine import Referrals, SealBroken, Source

_PURPOSE = "post"
DRAFT_DAYS = 7
"""A draft that nobody has approved by then is forgotten."""
_LONG_NUMBER = re.compile(r"(?<![\w.])[+(]?\d[\d ()/.-]{4,}\d(?!\w)")
_NUMBER = re.compile(r"\d[\d \u00a0-]*")
_YEARS = re.compile(r"(?:19|20)\d\d\s*[-–/]\s*(?:19|20)\d\d")


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """A text from a source. `digest`: the source's content when it was written. `approvals`: pseudonyms of moderators.

    `text` is what moderators may change; `before` and `after` it stand title, origin and notice.
    `place`: the channel it goes to; `notes`: the platform's ids of the messages, of the draft first and of the post then.
    `marked`: it has been said in the post that its source has changed. `author`: the pseudonym of the moderator whose words
    these are, empty where they are the source's or an agent's. `answers`: of a poll, open for `hours`; `text` asks it then.
    """

    id: str
    source: str
    assistant: str
    text: str
    digest: str
    place: int
    before: str = ""
    after: str = ""
    approvals: tuple[str, ...] = ()
    needed: int = 1
    notes: tuple[int, ...] = ()
    posted: bool = False
    marked: bool = False
    author: str = ""
    answers: tuple[str, ...] = ()
    hours: int = 0

    def approved_by(self, moderator: bytes) -> Post:
        """The same with one more approval; a moderator counts once."""
        return replace(self, approvals=tuple(dict.fromkeys((*self.approvals, moderator.hex()))))

    @property
    def shown(self) -> str:
        """The whole text as members read it."""
        return "\n- ".join((f"{self.before}{self.text}{self.after}", *self.answers))

    @property
    def ready(self) -> bool:
        """Whether enough moderators have approved, one of them another than the author."""
        return len(self.approvals) >= self.needed and any(one != self.author for one in self.approvals)


_POST = TypeAdapter(Post)


@dataclass(frozen=True, kw_only=True)
class PostStore:
    """Drafts and posts on disk. Every method is one transaction and raises StorageError."""

    database: Database
    keyring: Keyring
    now: Callable[[], float] = time.time

    async def put(self, post: Post) -> None:
        """Keep a new draft."""
        values = {"post": bytes.fromhex(post.id), "day": int(self.now() // 86_400), **self._values(post)}
        await self.database.run(lambda connection: connection.execute(insert(posts).values(values)))

    async def note(self, post: Post) -> bool:
        """Keep what has changed of one; whether it is still there."""
        this, values = posts.c.post == bytes.fromhex(post.id), self._values(post)
        return await self.database.run(
            lambda connection: connection.execute(update(posts).where(this).values(values)).rowcount > 0
        )

    async def exchange(self, post_id: str, new: Post) -> bool:
        """Keep a draft in place of another one; False, and nothing done, where that one does not wait any more."""
        values = {"post": bytes.fromhex(new.id), "day": int(self.now() // 86_400), **self._values(new)}
        waits = (posts.c.post == bytes.fromhex(post_id)) & (posts.c.posted == 0)

        def work(connection: Connection) -> bool:
            gone = connection.execute(delete(posts).where(waits)).rowcount > 0
            if gone:
                connection.execute(insert(posts).values(values))
            return gone

        return await self.database.run(work)

    async def get(self, post_id: str) -> Post | None:
        """One draft or post."""
        this = posts.c.post == bytes.fromhex(post_id)
        sealed = await self.database.run(
            lambda connection: connection.execute(select(posts.c.sealed).where(this)).scalar()
        )
        return None if sealed is None else self._opened(post_id, bytes(sealed))

    async def posted(self) -> list[Post]:
        """All that members can read."""
        query = select(posts.c.post, posts.c.sealed).where(posts.c.posted == 1).order_by(posts.c.day)
        rows = await self.database.run(lambda connection: connection.execute(query).all())
        opened = (self._opened(bytes(name).hex(), bytes(sealed)) for name, sealed in rows)
        return [one for one in opened if one is not None]

    async def renew(self) -> None:
        """Put posts under the present secret, so that a former one need not be kept for them."""
        for post in await self.posted():
            await self.note(post)

    async def remove(self, post_id: str) -> bool:
        """Let go of one; whether it was there."""
        this = posts.c.post == bytes.fromhex(post_id)
        return await self.database.run(lambda connection: connection.execute(delete(posts).where(this)).rowcount > 0)

    async def sweep(self) -> None:
        """Forget drafts that nobody has approved."""
        oldest = int(self.now() // 86_400) - DRAFT_DAYS

        def work(connection: Connection) -> None:
            connection.execute(delete(posts).where((posts.c.posted == 0) & (posts.c.day < oldest)))

        await self.database.run(work)

    def _values(self, post: Post) -> dict[str, object]:
        sealed = self.keyring.current.seal(_PURPOSE, bytes.fromhex(post.id), _POST.dump_json(post))
        return {"posted": int(post.posted), "sealed": sealed}

    def _opened(self, post_id: str, sealed: bytes) -> Post | None:
        try:
            opened = self.keyring.open(_PURPOSE, bytes.fromhex(post_id), sealed)
            # Short texts would stay in a cache of the process.
            return _POST.validate_python(from_json(opened, cache_strings="none"))
        except (SealBroken, ValueError):
            return None


def holds_a_phone_number(text: str, referrals: Referrals) -> bool:
    """Whether a text gives a number to call: a long one, or a short one that some country's contacts have.

    A wrong number is the one mistake in a post that nobody notices before they need it.
    """
    if any(not _YEARS.fullmatch(found.strip()) for found in _LONG_NUMBER.findall(text)):
        return True
    known = {_digits(one.number) for country in referrals.countries.values() for one in country.contacts} - {""}
    said = {_digits(found) for found in _NUMBER.findall(text)}
    return bool(said & known)


def changed(posted: Iterable[Post], sources: Callable[[Post], Source | None]) -> list[Post]:
    """The posts whose source is another one now, or gone, and that do not say so yet."""
    found = []
    for post in posted:
        source = sources(post)
        if not post.marked and (source is None or source.content_hash != post.digest):
            found.append(post)
    return found


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)
