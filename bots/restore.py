"""`cafi restore`: a backup in place of what is stored, which is moved aside. Nothing changes before all of it is known
to be good."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, delete

from adapters.storage.backup_file import BackupContent, BackupHead, read_backup, read_head
from adapters.storage.backup_keys import BackupKeys
from adapters.storage.keyring_file import read_keyring
from adapters.storage.private_files import make_private_folder, private_draft
from adapters.storage.replacement import holds_something, journals
from adapters.storage.restore_target import FileTarget, RestoreTarget, ServerTarget
from adapters.storage.schema_version import is_known, migrate
from adapters.storage.server_copy import file_url
from adapters.storage.snapshot import erase_chats
from adapters.storage.tables import cursors, inbox, reviews
from bots.backup import touching
from bots.chats import Chats
from bots.compose import Application
from bots.secret_file import copied_beside, database_file, secret_file
from bots.settings import CafiSettings
from bots.workers import PREPARED, prepare
from engine import CafiError, ConfigurationError

WAITING_HOURS = 1
"""What waited for an answer in an older backup is not taken up again: it was, as a rule, answered long ago."""


@dataclass(frozen=True, kw_only=True)
class Restore:
    """One backup to be put in place; without `chats`, nothing in it that is of one chat."""

    settings: CafiSettings
    file: Path
    keys: Path | None = None
    chats: bool = True
    force: bool = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the database for this program; raises ConfigurationError."""
        target = self._target
        with touching(target.file.parent):
            make_private_folder(target.file.parent)
        with target.alone():
            yield

    def check(self) -> None:
        """Raise ConfigurationError where it cannot be restored, as far as that shows without the passphrase."""
        for file, content in ((self.file, BackupContent.DATABASE), (self.keys, BackupContent.KEYS)):
            if file is not None:
                with touching(file), file.open("rb") as source:
                    _known_head(read_head(source, file, content), file)
        target = self._target
        if target.in_use():
            self._keep(target.place)
        if self.keys is not None and self.settings.sessions.secret is not None:
            raise ConfigurationError(
                "The settings give the secret.",
                key="sessions.secret",
                remedy="Restore without --keys, or leave the setting out.",
            )

    async def make(self, passphrase: str) -> list[str]:
        """Put it in place; what there is to say. Raises CafiError, and has changed nothing then."""
        target = self._target
        staged = target.file.with_name(f"{target.file.name}.restored")
        keys = self._opened_keys(passphrase)
        _remove(staged)  # left by a restore that was ended half-way
        try:
            head = self._stage(staged, passphrase)
            said = await self._prepare(staged, head, keys)
            said += self._place(staged, target, keys)
        finally:
            _remove(staged)
        made = datetime.fromtimestamp(head.hour * 3600, UTC)
        said += await self._prepare_queue(target)
        return [f"{target.place} is what it was on {made:%Y-%m-%d %H} h UTC.", *said]

    @property
    def _target(self) -> RestoreTarget:
        beside = copied_beside(self.settings)
        if beside is None:
            raise ConfigurationError(
                "It is in memory, and goes with its program.", key="storage.url", remedy="Name a file, or a server's."
            )
        if database_file(self.settings) is not None:
            return FileTarget(file=beside)
        return ServerTarget(url=self.settings.storage.url, file=beside)

    def _keep(self, place: Path | str) -> None:
        """Raise ConfigurationError where nobody has given up what stands there."""
        if not self.force:
            raise ConfigurationError(
                "Something is there already.",
                file=place,
                remedy="Add --force: what is there is moved aside, not deleted.",
            )

    def _opened_keys(self, passphrase: str) -> BackupKeys | None:
        if self.keys is None:
            return None
        with touching(self.keys), self.keys.open("rb") as source:
            head = read_head(source, self.keys, BackupContent.KEYS)
            plain = b"".join(read_backup(source, self.keys, head, passphrase))
        found, kept = BackupKeys.from_bytes(plain, self.keys), secret_file(self.settings)
        with touching(kept):
            if holds_something(kept) and kept.read_bytes() != found.keyring.encode():
                self._keep(kept)
        return found

    def _stage(self, staged: Path, passphrase: str) -> BackupHead:
        with touching(self.file), self.file.open("rb") as source:
            head = _known_head(read_head(source, self.file, BackupContent.DATABASE), self.file)
            with touching(staged), private_draft(staged) as draft:
                for piece in read_backup(source, self.file, head, passphrase):
                    draft.write(piece)
        return head

    async def _prepare(self, staged: Path, head: BackupHead, keys: BackupKeys | None) -> list[str]:
        """Bring what was restored to the present: its tables, and what has expired meanwhile. What there is to say."""
        here = Chats(application=Application(settings=self.settings))
        keyring = here.keyring if keys is None else read_keyring(keys.keyring)
        chats = Chats(application=Application(settings=_over(self.settings, staged)), given={"keyring": keyring})
        async with chats.application.closing:
            await chats.database.check()
            migrate(chats.database)
            expired = await chats.store.sweep(chats.questions.policy.every_days)
            late = chats.store.hour() - head.hour > WAITING_HOURS
            await chats.database.run(_drop_waiting if late else _drop_mark)
            lost = [one for one in await chats.vault.report() if one.chats and not one.given]
        if not self.chats:
            erase_chats(staged)
            return ["No chat was restored."]
        idle = self.settings.sessions.idle_hours
        told = (
            (expired, f"Chats that have expired since, and were left out: {expired}."),
            (late, "What waited for an answer then is not taken up again."),
            (lost, "Its chats lie under a secret that is not here: put that back, or restore with --keys."),
            (True, f"A chat that somebody has erased since then is back, until {idle} hours after its last message."),
            (True, "To restore no chat: --without-chats"),
        )
        return [sentence for holds, sentence in told if holds]

    def _place(self, staged: Path, target: RestoreTarget, keys: BackupKeys | None) -> list[str]:
        """Put keys and database in their places; what there is to say."""
        said: list[str] = []
        moved: list[Path] = []

        def place_keys() -> None:
            if keys is not None:
                kept = secret_file(self.settings)
                with touching(kept):
                    moved.extend(keys.place(kept, self.settings.sessions.inbox_key_file))
                said[:] = [f"The keys are in {kept}."]

        with touching(target.file):
            aside = target.put(staged, place_keys)
        if aside is not None:
            moved.append(aside)
        return [*said, *(f"What was there is {one} now. Delete it when nobody needs it any more." for one in moved)]

    async def _prepare_queue(self, target: RestoreTarget) -> list[str]:
        """Jobs for what waits, where workers answer; what there is to say."""
        if self.settings.queue != "workers" or not isinstance(target, ServerTarget):
            return []
        chats = Chats(application=Application(settings=self.settings), held=True)
        try:
            async with chats.application.closing:
                await prepare(chats)
        except CafiError as error:  # what was restored is in its place
            return [f"No worker begins yet: {error} Then: cafi migrate"]
        return []


def _remove(staged: Path) -> None:
    for one in (staged, *journals(staged)):
        one.unlink(missing_ok=True)


def _known_head(head: BackupHead, file: Path) -> BackupHead:
    """The same; raises ConfigurationError for one of a newer CAFI."""
    if not is_known(head.revision):
        raise ConfigurationError(
            "It was made by a newer CAFI, or its beginning is damaged.", file=file, remedy="Restore it with that one."
        )
    return head


def _over(settings: CafiSettings, staged: Path) -> CafiSettings:
    """The settings for a database elsewhere."""
    return settings.model_copy(update={"storage": settings.storage.model_copy(update={"url": file_url(staged)})})


def _drop_waiting(connection: Connection) -> None:
    """With the numbers of last updates, after which Discord's channels would be looked through again."""
    for table in (inbox, reviews, cursors):
        connection.execute(delete(table))


def _drop_mark(connection: Connection) -> None:
    """Workers begin only after what waits has jobs again: `bots/workers.py`."""
    connection.execute(delete(cursors).where(cursors.c.name == PREPARED))
