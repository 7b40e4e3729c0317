"""Who is talking where: the identity of a chat. It lives in memory and inside sealed texts, never in clear."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

_UNGUESSABLE = frozenset({"web"})
"""Platforms on which a chat's id is a random number of 256 bits."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatIdentity:
    """A conversation of one person in one place.

    `chat` is the platform's id of the place; in groups `user` keeps the members apart, and `thread` the topics.
    """

    platform: str
    chat: str
    user: str = ""
    thread: str = ""

    @property
    def guessable(self) -> bool:
        """Whether somebody could try every identity there may be: accounts have numbers that can be counted through."""
        return self.platform not in _UNGUESSABLE

    def canonical(self) -> bytes:
        """The identity as bytes; two identities never share them, as lengths go before the parts."""
        parts = (self.platform, self.chat, self.user, self.thread)
        return b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)


@dataclass(frozen=True, kw_only=True)
class Passing:
    """Names for what somebody did, to know it again for a moment: they mean nothing outside this object.

    What is held by such a name in memory leads neither to a person nor to a word, as the key is nowhere else.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def name(self, identity: ChatIdentity, said: bytes = b"") -> bytes:
        """The name of a chat, or of something said in it."""
        known = identity.canonical()
        return hashlib.blake2b(len(known).to_bytes(4, "big") + known + said, key=self.key, digest_size=16).digest()
