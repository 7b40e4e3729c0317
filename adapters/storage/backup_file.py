"""The form of a backup: a head, and what it holds, encrypted in pieces under a passphrase.

    head    magic, form, what it holds, scrypt's cost, hour, salt, revision; then its tag
    piece   up to 64 KB and a tag, as many as are needed; the last one is marked as such

Encrypted is with AES-256-GCM under a key made of the passphrase and a salt of its own (scrypt, RFC 7914). Each piece is tied
to the head, to its number and to whether it is the last (as STREAM does: Hoang, Reyhanitabar, Rogaway and Vizár 2015), so
that nothing of it can be cut off, exchanged or put together from two files.
"""

from __future__ import annotations

import os
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from engine import ConfigurationError

COST = 17
"""Of scrypt, as a power of two: 128 MB and about half a second for each guess at a passphrase."""
_COSTS = range(10, 19)
_MAGIC, _FORM = b"CAFIcopy", 1
_HEAD = struct.Struct(">8sBBBI16s32s")
_PIECE, _TAG = 65_536, 16
_OF_HEAD = b"\xff" * 12
"""The nonce of the head's tag; those of pieces end in 0 or 1."""
_ANOTHER = "Use another backup."


class BackupContent(IntEnum):
    """What a backup holds."""

    DATABASE = 1
    KEYS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupHead:
    """What a backup says of itself, in clear. `hour`: hours since 1970, UTC; `revision`: of the database's tables."""

    content: BackupContent
    revision: str
    hour: int
    cost: int = COST
    salt: bytes = field(default_factory=lambda: os.urandom(16))

    def to_bytes(self) -> bytes:
        """The head as it stands in the file."""
        revision = self.revision.encode()
        return _HEAD.pack(_MAGIC, _FORM, self.content, self.cost, self.hour, self.salt, revision)


def write_backup(target: BinaryIO, head: BackupHead, plain: bytes, passphrase: str) -> None:
    """Write a whole backup; raises OSError."""
    told, cipher = head.to_bytes(), _cipher(head, passphrase)
    target.write(told + cipher.encrypt(_OF_HEAD, b"", told))
    view = memoryview(plain)
    for number in count():
        view, piece = view[_PIECE:], view[:_PIECE]
        target.write(cipher.encrypt(_nonce(number, last=not view), piece, told))
        if not view:
            return


def read_head(source: BinaryIO, file: Path, wanted: BackupContent) -> BackupHead:
    """The head of a backup, not yet known to be true; raises ConfigurationError for what is none of that kind."""
    told = source.read(_HEAD.size)
    if told[: len(_MAGIC)] != _MAGIC:
        raise ConfigurationError("It is no backup of CAFI's.", file=file, remedy="Name a file that `cafi backup` made.")
    if len(told) < _HEAD.size:
        raise _damaged(file)
    _, form, content, cost, hour, salt, revision = _HEAD.unpack(told)
    if form != _FORM:
        raise ConfigurationError("It was made by a newer CAFI.", file=file, remedy="Restore it with that one.")
    try:
        name = revision.rstrip(b"\0").decode("ascii")
        head = BackupHead(content=BackupContent(content), revision=name, hour=hour, cost=cost, salt=salt)
    except ValueError:
        raise _damaged(file) from None
    if cost not in _COSTS or head.to_bytes() != told:
        raise _damaged(file)
    if head.content is not wanted:
        held = "keys and no database" if wanted is BackupContent.DATABASE else "a database and no keys"
        raise ConfigurationError(f"It holds {held}.", file=file, remedy="Write: cafi restore FILE --keys KEYS")
    return head


def read_backup(source: BinaryIO, file: Path, head: BackupHead, passphrase: str) -> Iterator[bytes]:
    """What stands behind the head, piece by piece; not before the last one is it known to be whole.

    Raises ConfigurationError for another passphrase, and for a file that is cut off or changed.
    """
    told, cipher = head.to_bytes(), _cipher(head, passphrase)
    if _opened(cipher, _OF_HEAD, source.read(_TAG), told) is None:
        raise ConfigurationError("The passphrase does not open it.", file=file, remedy="Write it as it was then.")
    piece = source.read(_PIECE + _TAG)
    for number in count():
        following = source.read(_PIECE + _TAG)
        plain = _opened(cipher, _nonce(number, last=not following), piece, told)
        if plain is None:
            raise _damaged(file)
        yield plain
        if not following:
            return
        piece = following


def _cipher(head: BackupHead, passphrase: str) -> AESGCM:
    # The same letters come as other bytes from another keyboard; the environment may hold bytes that are no letters.
    words = unicodedata.normalize("NFC", passphrase).encode(errors="surrogateescape")
    try:
        return AESGCM(Scrypt(salt=head.salt, length=32, n=2**head.cost, r=8, p=1).derive(words))
    except MemoryError as error:
        needed = 2**head.cost >> 10
        raise ConfigurationError(
            f"There is not enough memory: {needed} MB are needed for the passphrase alone.",
            remedy="Close other programs, or do it on another computer.",
        ) from error


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _opened(cipher: AESGCM, nonce: bytes, sealed: bytes, told: bytes) -> bytes | None:
    try:
        return cipher.decrypt(nonce, sealed, told)
    except (InvalidTag, ValueError):
        return None


def _damaged(file: Path) -> ConfigurationError:
    return ConfigurationError("It is cut off or damaged.", file=file, remedy=_ANOTHER)
