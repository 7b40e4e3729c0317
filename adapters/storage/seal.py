"""Pseudonyms under the operator's secret, and what is sealed under keys derived from it.

A pseudonym is an HMAC of a value under the secret. Sealing is AES-256-GCM under a key derived (HKDF, RFC 5869) from the
secret *and* a context. For a chat both are made of its identity (`adapters/storage/pseudonyms.py`), which arrives with every
message and is not stored beside the state: with the database alone nothing opens, and with the secret as well each chat
has to be guessed by itself.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from engine import SealBroken

SECRET_BYTES = 32
_NONCE = 12
_ID = 4
_FORMAT = b"\x01"
_COST, _BLOCK = 2**14, 8
"""Of scrypt: 16 MB and about 50 ms of one core. Another cost gives other names: chats under the former would be lost."""


class Seal(Protocol):
    """What seals and opens, and gives values their pseudonyms."""

    def keyed(self, purpose: str, value: bytes) -> bytes:
        """A pseudonym of 16 bytes for a value."""
        ...

    def seal(self, purpose: str, context: bytes, plain: bytes) -> bytes:
        """Encrypt for one purpose and context."""
        ...

    def open(self, purpose: str, context: bytes, sealed: bytes) -> bytes:
        """The inverse of `seal`; raises SealBroken."""
        ...


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret of the operator's; `value` are at least 32 bytes."""

    value: bytes = field(repr=False)

    @classmethod
    def random(cls) -> Secret:
        """A new one."""
        return cls(os.urandom(SECRET_BYTES))

    @property
    def id(self) -> bytes:
        """Four bytes that name the secret and tell nothing about it."""
        return self._keyed(b"cafi key id")[:_ID]

    def keyed(self, purpose: str, value: bytes) -> bytes:
        """A pseudonym of 16 bytes for a value; other purposes give unrelated ones."""
        return hmac.digest(self._keyed(b"cafi name " + purpose.encode()), value, hashlib.sha256)[:16]

    def seal(self, purpose: str, context: bytes, plain: bytes) -> bytes:
        """Encrypt for one purpose and context; the same context opens it again."""
        nonce = os.urandom(_NONCE)
        head = _FORMAT + self.id
        sealed = _cipher(self.value, purpose, context).encrypt(nonce, plain, head + purpose.encode())
        return head + nonce + sealed

    def open(self, purpose: str, context: bytes, sealed: bytes) -> bytes:
        """The inverse of `seal`; raises SealBroken where secret, purpose, context or content are not the same."""
        head, nonce, rest = sealed[: 1 + _ID], sealed[1 + _ID : 1 + _ID + _NONCE], sealed[1 + _ID + _NONCE :]
        if head != _FORMAT + self.id:
            raise SealBroken
        try:
            return _cipher(self.value, purpose, context).decrypt(nonce, rest, head + purpose.encode())
        except (InvalidTag, ValueError):
            raise SealBroken from None

    def slowly(self, value: bytes) -> bytes:
        """32 bytes made of a value that can be guessed, so that each guess costs time and memory (scrypt, RFC 7914)."""
        salt = self._keyed(b"cafi slow")
        memory = 2 * 128 * _COST * _BLOCK  # as much as is needed, and room for the rest of it
        return hashlib.scrypt(value, salt=salt, n=_COST, r=_BLOCK, p=1, maxmem=memory, dklen=SECRET_BYTES)

    def _keyed(self, label: bytes) -> bytes:
        return _derived(self.value, label)


@lru_cache(maxsize=64)  # a few labels a secret, several times a turn
def _derived(secret: bytes, label: bytes) -> bytes:
    return hmac.digest(secret, label, hashlib.sha256)


def _cipher(secret: bytes, purpose: str, context: bytes) -> AESGCM:
    derived = HKDF(algorithm=SHA256(), length=32, salt=b"cafi 1 " + purpose.encode(), info=context).derive(secret)
    return AESGCM(derived)


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyring:
    """The secret in use, and former ones under which state may still lie until it expires."""

    current: Secret
    former: tuple[Secret, ...] = ()

    def __iter__(self) -> Iterator[Secret]:
        yield self.current
        yield from self.former

    def names(self, purpose: str, value: bytes) -> tuple[bytes, ...]:
        """The pseudonyms of a value under every secret, the present one first."""
        return tuple(secret.keyed(purpose, value) for secret in self)

    def open(self, purpose: str, context: bytes, sealed: bytes) -> bytes:
        """What was sealed under any of the secrets; raises SealBroken where none of them opens it."""
        for secret in self:
            with suppress(SealBroken):
                return secret.open(purpose, context, sealed)
        raise SealBroken
