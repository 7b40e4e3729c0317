"""`cafi backup`: what is stored, and on request the keys, each as an encrypted file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.storage.backup_file import BackupContent, BackupHead, write_backup
from adapters.storage.backup_keys import BackupKeys
from adapters.storage.database import Database
from adapters.storage.private_files import private_draft
from adapters.storage.replacement import journals
from adapters.storage.snapshot import Snapshot, nothing_stored, revision, snapshot
from bots.chats import Chats
from bots.compose import Application
from bots.secret_file import database_file, secret_file
from bots.settings import CafiSettings
from engine import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Backup:
    """One backup to be made. `keys`: where the keys go, too; without `chats`, nothing in it is of one chat."""

    settings: CafiSettings
    file: Path
    keys: Path | None = None
    chats: bool = True
    force: bool = False

    def check(self) -> None:
        """Raise CafiError where it cannot be made."""
        used = files_in_use(self.settings)
        targets = [one for one in (self.file, self.keys) if one is not None]
        for one in targets:
            if one.resolve() in used:
                raise ConfigurationError("CAFI itself uses that file.", file=one, remedy="Name another one.")
            if not one.parent.is_dir():
                raise ConfigurationError("Its folder is not there.", file=one, remedy="Make it, or name another one.")
            if one.exists() and not (self.force and one.is_file()):
                raise ConfigurationError("It is there already.", file=one, remedy="Name another one, or add --force.")
        if len({one.resolve() for one in targets}) < len(targets):
            raise ConfigurationError("Database and keys need a file each.", file=self.file, remedy="Name two.")
        self._look()
        if self.keys is not None and not self._stored.has_secret:
            raise ConfigurationError(
                "There is no secret yet.", file=secret_file(self.settings), remedy="Leave out --keys."
            )

    def make(self, passphrase: str) -> list[str]:
        """Make it; what there is to say. Raises CafiError."""
        found = self._found()
        self._write(self.file, BackupContent.DATABASE, found.revision, found.content, passphrase)
        held = (
            "chats, counts and what moderators have set"
            if self.chats
            else "counts and what moderators have set, no chat"
        )
        said = [f"{self.file} holds {held}; encrypted, and without any key."]
        if self.keys is not None:
            keys = BackupKeys.of(self._stored.keyring, self.settings.sessions.inbox_key_file)
            self._write(self.keys, BackupContent.KEYS, found.revision, keys.to_bytes(), passphrase)
            said.append(f"{self.keys} holds the keys, encrypted. Keep the two apart.")
        elif self.chats:
            said.append("Its chats do not open without the secret: keep a safe copy of that apart, or add --keys FILE.")
        if self.chats:
            idle = self.settings.sessions.idle_hours
            said.append(f"What people erase from now on is still in it. After {idle} hours no chat in it is of use.")
        return said

    def _look(self) -> None:
        """Raise ConfigurationError where nothing is stored yet."""
        file = database_file(self.settings)
        if file is not None:
            if not file.is_file() or revision(file) is None:
                raise nothing_stored(file)
            return
        from adapters.storage.schema_version import schema

        with closing(Database(self.settings.storage.url)) as database:
            if schema(database) is None:
                raise nothing_stored(database.place)

    def _found(self) -> Snapshot:
        file = database_file(self.settings)
        if file is not None:
            return snapshot(file, chats=self.chats)
        from adapters.storage.server_copy import server_snapshot

        with closing(Database(self.settings.storage.url)) as database:
            return server_snapshot(database, chats=self.chats)

    def _write(self, file: Path, content: BackupContent, found: str, plain: bytes, passphrase: str) -> None:
        head = BackupHead(content=content, revision=found, hour=int(time.time() // 3600))
        with touching(file), private_draft(file) as draft:
            write_backup(draft, head, plain, passphrase)

    @property
    def _stored(self) -> Chats:
        return Chats(application=Application(settings=self.settings))


def files_in_use(settings: CafiSettings) -> set[Path]:
    """What a backup must not be written over."""
    database, used = database_file(settings), [settings.sessions.inbox_key_file]
    if database is not None:
        used += [database, *journals(database)]
    with suppress(ConfigurationError):  # an account without a home, whose secret is elsewhere
        used.append(secret_file(settings))
    return {one.resolve() for one in used}


@contextmanager
def touching(file: Path) -> Iterator[None]:
    """Turn what the system says of a file into one sentence."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be read or written: {error.strerror or type(error).__name__}.",
            file=file,
            remedy="Check the rights of file and folder, and the room there is.",
        ) from error
