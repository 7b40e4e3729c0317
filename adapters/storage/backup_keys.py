"""What opens the database, as a backup of its own holds it: the operator's secrets, and the inbox's key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from adapters.storage.keyring_file import read_inbox_key, read_keyring, written_keyring
from adapters.storage.replacement import replace_text
from adapters.storage.seal import Keyring, Secret
from engine import ConfigurationError


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupKeys:
    """`keyring` and `inbox`: the texts of the two files, None where there is no key of the inbox."""

    keyring: str
    inbox: str | None

    @classmethod
    def of(cls, keyring: Keyring, inbox_key_file: Path) -> BackupKeys:
        """The keys in use; raises ConfigurationError."""
        inbox = read_inbox_key(inbox_key_file)
        return cls(keyring=written_keyring(keyring), inbox=None if inbox is None else inbox.value.hex())

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps({"keyring": self.keyring, "inbox": self.inbox}).encode()

    @classmethod
    def from_bytes(cls, plain: bytes, file: Path) -> BackupKeys:
        """The inverse; raises ConfigurationError."""
        try:
            content = json.loads(plain)
            keys = cls(keyring=content["keyring"], inbox=content["inbox"])
            read_keyring(keys.keyring)
            Secret(bytes.fromhex(keys.inbox or ""))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError("It holds no keys.", file=file, remedy="Use another backup.") from error
        return keys

    def place(self, secret_file: Path, inbox_key_file: Path) -> list[Path]:
        """Write the two files; where other ones were moved to. Raises OSError."""
        moved = [replace_text(secret_file, self.keyring)]
        if self.inbox is not None:
            moved.append(replace_text(inbox_key_file, self.inbox))
        return [one for one in moved if one is not None]
