"""The files with the operator's secret and with the inbox's key: readable by their owner only.

Only the program that holds the database for itself writes them (`bots/chats.py`); everybody else reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adapters.storage.private_files import write_private
from adapters.storage.seal import SECRET_BYTES, Keyring, Secret
from engine import ConfigurationError

_HEX = 2 * SECRET_BYTES
_DIGITS = re.compile(rf"[0-9a-fA-F]{{{_HEX},}}")
_DIFFERENT = 8
"""Of sixteen digits, so many occur in any secret that was made by chance."""
_REMEDY = (
    "Put the file back from your safe copy. If there is none, remove the file; what it sealed cannot be opened any more "
    "and goes with: cafi secret erase-lost"
)


def from_texts(current: str, former: Iterable[str] = ()) -> Keyring:
    """A keyring from settings; raises ConfigurationError for a secret that can be guessed.

    The present one is of random digits: the id that names it in the database would let a phrase be guessed. Former ones may
    still be what earlier versions took.
    """
    if not _DIGITS.fullmatch(current) or len(set(current.lower())) < _DIFFERENT:
        raise ConfigurationError(
            f"The secret is not {_HEX} random hexadecimal digits.",
            key="sessions.secret",
            remedy="Make one with: openssl rand -hex 32. One that was in use before goes into sessions.former_secrets.",
        )
    return Keyring(current=Secret(current.encode()), former=tuple(_former(one) for one in former))


def _former(text: str) -> Secret:
    if len(text) < SECRET_BYTES:
        raise ConfigurationError(
            f"A former secret is shorter than {SECRET_BYTES} characters.",
            key="sessions.former_secrets",
            remedy="Write it there as it was, or leave it out.",
        )
    return Secret(text.encode())


def load(path: Path) -> Keyring:
    """The keyring in a file; raises ConfigurationError."""
    try:
        found = read_keyring(path.read_text(encoding="ascii"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError("The secret file cannot be read.", file=path, remedy=_REMEDY) from error
    if any(len(one.value) < SECRET_BYTES for one in found):
        raise ConfigurationError("The secret file is cut off.", file=path, remedy=_REMEDY)
    return found


def read_keyring(text: str) -> Keyring:
    """The keyring in a file's text; raises ValueError, KeyError and TypeError."""
    content = json.loads(text)
    current, former = Secret(bytes.fromhex(content["current"])), content["former"]
    return Keyring(current=current, former=tuple(Secret(bytes.fromhex(one)) for one in former))


def written_keyring(keyring: Keyring) -> str:
    """A keyring as its file's text."""
    return json.dumps({"current": keyring.current.value.hex(), "former": [one.value.hex() for one in keyring.former]})


def save(path: Path, keyring: Keyring) -> None:
    """Write a keyring, whole or not at all."""
    _write(path, written_keyring(keyring))


def rotated(keyring: Keyring) -> Keyring:
    """A keyring with a new secret in use; the former one stays until nothing lies under it."""
    return Keyring(current=Secret.random(), former=tuple(keyring))


def pruned(keyring: Keyring, unused: Collection[bytes]) -> Keyring:
    """A keyring without those former secrets whose ids are named."""
    return Keyring(current=keyring.current, former=tuple(one for one in keyring.former if one.id not in unused))


@dataclass(frozen=True)
class InboxKey:
    """The key of waiting messages and held replies, apart from database and secret; read when it is first needed.

    Every method raises ConfigurationError where there is none yet, or it cannot be read.
    """

    path: Path

    @cached_property
    def secret(self) -> Secret:
        """The key itself."""
        found = read_inbox_key(self.path)
        if found is None:
            raise ConfigurationError("There is no key of the inbox.", file=self.path, remedy="`cafi run` makes one.")
        return found

    def keyed(self, purpose: str, value: bytes) -> bytes:
        """As of Secret."""
        return self.secret.keyed(purpose, value)

    def seal(self, purpose: str, context: bytes, plain: bytes) -> bytes:
        """As of Secret."""
        return self.secret.seal(purpose, context, plain)

    def open(self, purpose: str, context: bytes, sealed: bytes) -> bytes:
        """As of Secret."""
        return self.secret.open(purpose, context, sealed)


def read_inbox_key(path: Path) -> Secret | None:
    """The key in a file; None where there is no file or it is damaged. Raises ConfigurationError."""
    try:
        value = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        return None
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be read: {error.strerror}.", file=path, remedy="Check the rights of the file."
        ) from error
    return Secret(value) if len(value) >= SECRET_BYTES else None


def make_inbox_key(path: Path) -> None:
    """Write a new key: what was sealed under the old one, in any copy of the database, is gone for good."""
    _write(path, Secret.random().value.hex())


def _write(path: Path, text: str) -> None:
    try:
        write_private(path, text)
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be written: {error.strerror}.", file=path, remedy="Check the folder's rights and its space."
        ) from error
