"""What chats are called on disk, and what their state is sealed under: slow to guess, known while a chat is active.

The ids of a platform are numbers that can be counted through. Whoever has the database and the secret, from a stolen
disk, could so find and open every chat. Therefore names and keys of a chat are made of its identity by a function that is
slow on purpose, once while the chat is active; what it gives is let go of soon after the last message.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from adapters.storage.identity import ChatIdentity
from adapters.storage.seal import Keyring, Secret
from engine import SealBroken

KEEP_SECONDS = 600.0
"""How long after its last use what was made of an identity is still known."""
_THREADS = min(4, os.cpu_count() or 1)
"""Each works in 16 MB, and leaves the event loop alone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pseudonym:
    """One chat under one secret; `root` is what its names and keys are made of."""

    secret: Secret
    root: bytes = field(repr=False)

    def name(self, purpose: str) -> bytes:
        """16 bytes under which something of the chat lies; other purposes give unrelated ones."""
        return self.secret.keyed(purpose, self.root)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pseudonyms:
    """One chat under every secret and in every form that may still be on disk; the present one is written."""

    present: Pseudonym
    former: tuple[Pseudonym, ...] = ()

    def __iter__(self) -> Iterator[Pseudonym]:
        yield self.present
        yield from self.former

    def names(self, purpose: str) -> tuple[bytes, ...]:
        """Every name under which something may lie, the present one first."""
        return tuple(one.name(purpose) for one in self)

    def seal(self, purpose: str, plain: bytes) -> bytes:
        """Encrypt for this chat and one purpose."""
        return self.present.secret.seal(purpose, self.present.root, plain)

    def open(self, purpose: str, sealed: bytes) -> bytes:
        """What was sealed under any of them; raises SealBroken where none opens it."""
        for one in self:
            with suppress(SealBroken):
                return one.secret.open(purpose, one.root, sealed)
        raise SealBroken


@dataclass(kw_only=True, slots=True)
class _Active:
    """A chat that is talked in, or was a moment ago."""

    made: asyncio.Future[tuple[bytes, ...]]
    ending: asyncio.TimerHandle | None = None


class Naming:
    """Gives chats their pseudonyms under a keyring."""

    def __init__(self, keyring: Keyring, *, keep_seconds: float = KEEP_SECONDS) -> None:
        self.keyring = keyring
        self._keep_seconds = keep_seconds
        self._active: dict[ChatIdentity, _Active] = {}
        self._threads = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="naming")

    async def of(self, identity: ChatIdentity) -> Pseudonyms:
        """A chat's pseudonyms; about 50 ms of a thread where the chat was not active."""
        if not identity.guessable:
            return pseudonyms(self.keyring, identity)
        person = own(identity)
        loop = asyncio.get_running_loop()
        active = self._active.get(person)
        if active is None:
            active = _Active(made=loop.run_in_executor(self._threads, _roots, self.keyring, person))
            self._active[person] = active
        if active.ending is not None:
            active.ending.cancel()
        active.ending = loop.call_later(self._keep_seconds, self.forget, person)
        # Shielded: whoever else waits for the same must not lose it with a caller who is cancelled.
        return _named(self.keyring, identity, await asyncio.shield(active.made))

    def forget(self, identity: ChatIdentity) -> None:
        """Know nothing of a chat any more."""
        active = self._active.pop(own(identity), None)
        if active is not None and active.ending is not None:
            active.ending.cancel()

    def __len__(self) -> int:
        """How many chats are known at the moment."""
        return len(self._active)


def pseudonyms(keyring: Keyring, identity: ChatIdentity) -> Pseudonyms:
    """The pseudonyms of a chat; slow for an identity that can be guessed."""
    return _named(keyring, identity, _roots(keyring, own(identity)) if identity.guessable else ())


def own(identity: ChatIdentity) -> ChatIdentity:
    """The person in the place, whatever the thread: only that is slow, so that nobody in a rush waits for threads."""
    return replace(identity, thread="") if identity.thread else identity


def _roots(keyring: Keyring, person: ChatIdentity) -> tuple[bytes, ...]:
    return tuple(secret.slowly(person.canonical()) for secret in keyring)


def _named(keyring: Keyring, identity: ChatIdentity, roots: tuple[bytes, ...]) -> Pseudonyms:
    plain = identity.canonical()
    unguessed = [Pseudonym(secret=one, root=plain) for one in keyring]
    if not roots:
        return Pseudonyms(present=unguessed[0], former=tuple(unguessed[1:]))
    slow = (hmac.digest(one, plain, hashlib.sha256) for one in roots)
    present, *former = (Pseudonym(secret=secret, root=root) for secret, root in zip(keyring, slow, strict=True))
    # Chats of versions that used the identity itself are found, and written anew when somebody next writes in them.
    return Pseudonyms(present=present, former=(*former, *unguessed))
