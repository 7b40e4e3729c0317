"""The file with the operator's secret: made on the first start, readable by its owner only, apart from the database."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable
from pathlib import Path

from adapters.storage.sealing import SECRET_BYTES, Keyring, Secret
from engine.exceptions import ConfigurationError

_REMEDY = (
    "Put the file back from your safe copy. If there is none, remove the file; what it sealed cannot be opened any more "
    "and goes with: cafi secret erase-lost"
)


def from_texts(current: str, former: Iterable[str] = ()) -> Keyring:
    """A keyring from settings; raises ConfigurationError for a secret that can be guessed."""
    return Keyring(current=_from_text(current), former=tuple(_from_text(one) for one in former))


def _from_text(text: str) -> Secret:
    if len(text) < SECRET_BYTES:
        raise ConfigurationError(
            f"The secret is shorter than {SECRET_BYTES} characters.",
            key="sessions.secret",
            remedy="Make one with: python3 -c 'import secrets; print(secrets.token_hex(32))'",
        )
    return Secret(text.encode())


def load(path: Path) -> Keyring:
    """The keyring in a file; raises ConfigurationError."""
    try:
        content = json.loads(path.read_text(encoding="ascii"))
        current, former = bytes.fromhex(content["current"]), [bytes.fromhex(one) for one in content["former"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError("The secret file cannot be read.", file=path, remedy=_REMEDY) from error
    if any(len(one) < SECRET_BYTES for one in (current, *former)):
        raise ConfigurationError("The secret file is cut off.", file=path, remedy=_REMEDY)
    return Keyring(current=Secret(current), former=tuple(Secret(one) for one in former))


def save(path: Path, keyring: Keyring) -> None:
    """Write a keyring, whole or not at all."""
    text = json.dumps({"current": keyring.current.value.hex(), "former": [one.value.hex() for one in keyring.former]})
    _write_private(path, text)


def rotated(keyring: Keyring) -> Keyring:
    """A keyring with a new secret in use; the former one stays until nothing lies under it."""
    return Keyring(current=Secret.random(), former=tuple(keyring))


def pruned(keyring: Keyring, unused: Collection[bytes]) -> Keyring:
    """A keyring without those former secrets whose ids are named."""
    return Keyring(current=keyring.current, former=tuple(one for one in keyring.former if one.id not in unused))


def inbox_secret(path: Path) -> Secret:
    """The key of waiting messages, apart from database and secret; made where there is none or it is damaged.

    Messages that wait under a lost key cannot be opened; the platform has them, and the person can send them again.
    """
    try:
        value = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        value = b""
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be read: {error.strerror}.", file=path, remedy="Check the rights of the file."
        ) from error
    return Secret(value) if len(value) >= SECRET_BYTES else renewed_inbox_secret(path)


def renewed_inbox_secret(path: Path) -> Secret:
    """A new key of waiting messages: what was sealed under the old one, in any copy of the database, is gone for good."""
    secret = Secret.random()
    _write_private(path, secret.value.hex())
    return secret


def _write_private(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be written: {error.strerror}.", file=path, remedy="Check the folder's rights and its space."
        ) from error
