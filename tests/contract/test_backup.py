"""Backups of a server's database: of one moment, into either kind of database, and nothing lost when one cannot be restored."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlalchemy import Connection, event, insert, select, text, update

from adapters.storage import tables
from adapters.storage.backup_file import BackupContent, BackupHead, write_backup
from adapters.storage.backup_keys import BackupKeys
from adapters.storage.database import Database
from adapters.storage.lock import alone, together
from adapters.storage.schema_version import migrate
from adapters.storage.server_copy import file_url, server_snapshot
from adapters.storage.snapshot import Snapshot, snapshot
from bots.chats import Chats
from bots.restore import Restore
from bots.settings import CafiSettings, SessionSettings, StorageSettings
from bots.workers import prepare
from engine.exceptions import ConfigurationError, StorageDamaged, StorageUnavailable
from tests.acceptance.test_storage_cli import content, filled
from tests.postgres import PostgresServer
from tests.storage import ANNA, BERT, POLL, message, state
from tests.team import shipped
from tests.unit.test_migrating import REVISIONS, at_revision

PASSPHRASE = "a passphrase of the tests"
NAMES = ("here", "there")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where CAFI is: a folder for its files, and its database."""

    folder: Path
    url: str
    queue: Literal["process", "workers"] = "process"

    @property
    def settings(self) -> CafiSettings:
        return CafiSettings(
            storage=StorageSettings(url=self.url),
            sessions=SessionSettings(
                secret_file=self.folder / "secret.json", inbox_key_file=self.folder / "var" / "inbox.key"
            ),
            queue=self.queue,
        )

    def chats(self) -> Chats:
        return Chats(application=shipped(self.settings), given={"feedback": None})

    @contextmanager
    def database(self) -> Iterator[Database]:
        with closing(Database(self.url)) as database:
            yield database

    def snapshot(self) -> Snapshot:
        with self.database() as database:
            return server_snapshot(database) if database.file is None else snapshot(database.file)

    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        with self.database() as database:
            return content(database)

    async def live(self, told: str) -> None:
        """A start, a chat, and somebody who waits."""
        chats = self.chats()
        async with chats.application.closing:
            await (prepare(chats) if self.queue == "workers" else chats.begin())
            version = (await chats.store.load(ANNA)).version
            await chats.store.finish(None, ANNA, state(told), version, ("a poll", POLL))
            enqueue = None if chats.queue is None else chats.queue.enqueue
            await chats.store.take([message(BERT, "waits")], ("telegram", 7), enqueue)

    async def found(self) -> tuple[str, list[str]]:
        """What ANNA's chat holds, and who waits, after the usual start."""
        chats = self.chats()
        async with chats.application.closing:
            await chats.begin()
            kept = (await chats.store.load(ANNA)).state
            waiting, _ = await chats.store.unanswered("telegram")
        return "" if kept is None else kept.conversation.danger.held, [one.incoming.text for one in waiting]

    async def restored(
        self, file: Path, keys: Path | None = None, passphrase: str = PASSPHRASE, **options: bool
    ) -> str:
        """What was said of a restore."""
        wanted = Restore(settings=self.settings, file=file, keys=keys, **options)
        with wanted.alone():
            wanted.check()
            return "\n".join(await wanted.make(passphrase))

    def backed_up(self, hours_ago: int = 0) -> tuple[Path, Path]:
        """A backup and its keys, at little cost, so that tests are quick."""
        self.folder.mkdir(exist_ok=True)
        found = self.snapshot()
        keys = BackupKeys.of(self.chats().keyring, self.folder / "var" / "inbox.key").to_bytes()
        made = self.folder / "monday", self.folder / "monday.keys"
        for file, kind, plain in zip(made, BackupContent, (found.content, keys), strict=True):
            hour = int(time.time() // 3600) - hours_ago
            head = BackupHead(content=kind, revision=found.revision, hour=hour, cost=10)
            with file.open("wb") as target:
                write_backup(target, head, plain, PASSPHRASE)
        return made

    @property
    def copies(self) -> list[Path]:
        """Files with something of the database in them."""
        return sorted((self.folder / "var").glob("cafi-*"))


@pytest.fixture
def server(postgresql: PostgresServer, tmp_path: Path) -> Iterator[Callable[[str], Place]]:
    """Places with an empty database on a server."""
    made: list[str] = []

    def place(name: str) -> Place:
        postgresql.execute(f"CREATE DATABASE {name}")
        made.append(name)
        return Place(folder=tmp_path / name, url=postgresql.url(name))

    yield place
    for name in made:
        postgresql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["postgresql to sqlite", "sqlite to postgresql", "postgresql to postgresql"])
def places(request: pytest.FixtureRequest, server: Callable[[str], Place], tmp_path: Path) -> tuple[Place, Place]:
    """Two, of which a server's database is one at least."""
    here, there = (
        server(name) if kind == "postgresql" else Place(folder=tmp_path / name, url=f"sqlite:///{tmp_path}/{name}.db")
        for name, kind in zip(NAMES, request.param.split(" to "), strict=True)
    )
    return here, there


def meanwhile(database: Database, table: str, work: Callable[[Connection], Any]) -> None:
    """Do something from elsewhere, once, just before a table is read."""
    done: list[str] = []

    def look(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        if f"FROM {table}" in statement and not done:
            done.append(statement)
            with closing(Database(database.url)) as other:
                other.run_now(work)

    event.listen(database.engine, "before_cursor_execute", look)


def test_a_backup_is_one_moment_while_others_write(server: Callable[[str], Place]) -> None:
    """What is committed to two tables while they are read is in neither of them, and in both the next time."""
    with server("here").database() as database:
        migrate(database)

        def pair(connection: Connection) -> None:
            connection.execute(insert(tables.standing).values(platform="web", content="{}"))
            connection.execute(insert(tables.audit).values(hour=1, action="pause", moderator=b"", target="bot"))

        meanwhile(database, "standing", pair)
        found = [_rows_in(server_snapshot(database)) for _ in range(2)]
    assert [[len(one["standing"]), len(one["audit"])] for one in found] == [[0, 0], [1, 1]]


def _rows_in(found: Snapshot) -> dict[str, list[tuple[object, ...]]]:
    with closing(Database("sqlite://")) as database:
        raw = database.engine.raw_connection()
        raw.driver_connection.deserialize(found.content)  # type: ignore[union-attr]
        raw.close()
        return content(database)


async def test_every_row_is_in_it_and_without_chats_none_of_any(server: Callable[[str], Place]) -> None:
    """A backup has each row of each table as it is; one without chats those of no chat, and no byte of them."""
    with server("here").database() as database:
        migrate(database)
        await filled(database)
        expected = content(database)
        assert all(expected.values()), "a table is empty: its copy would prove nothing"
        whole, without = server_snapshot(database), server_snapshot(database, chats=False)
    assert _rows_in(whole) == expected and whole.revision == REVISIONS[0]
    ours = {name: [] if tables.metadata.tables[name].info["of_a_chat"] else rows for name, rows in expected.items()}
    assert _rows_in(without) == ours
    sealed = [row[-1] for row in expected["chats"]]
    assert all(isinstance(one, bytes) and one in whole.content and one not in without.content for one in sealed)


def test_what_cannot_be_backed_up_is_told(server: Callable[[str], Place]) -> None:
    """An empty database, one of a newer CAFI, and one whose tables a migration changes meanwhile are named, with the remedy."""
    with server("here").database() as database:
        with pytest.raises(
            ConfigurationError, match=r"here: storage\.url: Nothing is stored there yet\. Start CAFI first"
        ):
            server_snapshot(database)
        at_revision(database, REVISIONS[1])
        newest = text("UPDATE alembic_version SET version_num = :newest").bindparams(newest=REVISIONS[0])
        meanwhile(database, "chats", lambda one: one.execute(newest))
        with pytest.raises(
            StorageUnavailable, match=r"here: Its tables were changed while they were copied\. Do it again"
        ):
            server_snapshot(database)
        database.run_now(lambda one: one.execute(text("UPDATE alembic_version SET version_num = '9999'")))
        with pytest.raises(StorageDamaged, match="newer CAFI"):
            server_snapshot(database)


async def test_a_chat_goes_on_in_either_kind_of_database(places: tuple[Place, Place]) -> None:
    """Restored elsewhere with its keys, chat, poll and waiting message open; new messages have later numbers."""
    here, there = places
    await here.live("told before")
    assert "is what it was on" in await there.restored(*here.backed_up())
    assert await there.found() == ("told before", ["waits"])
    chats = there.chats()
    async with chats.application.closing:
        await chats.begin()
        assert await chats.store.answered_poll("telegram", "a poll") == POLL
        old, _ = await chats.store.unanswered("telegram")
        (new,) = await chats.store.take([message(ANNA, "later")])
        assert new.row > old[0].row
    assert there.copies == []


async def test_what_is_there_is_given_up_on_request_only_and_kept_in_a_file(places: tuple[Place, Place]) -> None:
    """Without --force nothing changes; with it what was there is in a file of this account's alone, from which it opens."""
    here, there = places
    await here.live("told before")
    await there.live("told there")
    file, keys = here.backed_up()
    former, secret = there.rows(), (there.folder / "secret.json").read_bytes()
    key = (there.folder / "var" / "inbox.key").read_bytes()
    with pytest.raises(ConfigurationError, match=r"there.*: Something is there already\. Add --force"):
        await there.restored(file, keys)
    assert there.rows() == former
    said = await there.restored(file, keys, force=True)
    assert await there.found() == ("told before", ["waits"])
    aside = next(Path(line.split()[4]) for line in said.splitlines() if "replaced now" in line and ".db" in line)
    assert aside.stat().st_mode & 0o777 == 0o600
    again = Place(folder=there.folder / "again", url=file_url(aside))
    assert again.rows() == former
    (again.folder / "var").mkdir(parents=True)
    (again.folder / "secret.json").write_bytes(secret)
    (again.folder / "var" / "inbox.key").write_bytes(key)
    assert await again.found() == ("told there", ["waits"])


async def test_an_older_backup_brings_back_what_would_still_be_there(places: tuple[Place, Place]) -> None:
    """Two hours on nothing that waited comes back; what has expired is left out, and with --without-chats every chat is."""
    here, there = places
    await here.live("told before")
    with here.database() as database:
        row = {"chat": b"0" * 16, "version": 1, "seen_hour": int(time.time() // 3600) - 25, "sealed": b"0"}
        database.run_now(lambda one: one.execute(insert(tables.chats).values(row)))
    file, keys = here.backed_up(hours_ago=2)
    said = await there.restored(file, keys)
    assert "were left out: 1." in said and "What waited for an answer then is not taken up again." in said
    assert await there.found() == ("told before", [])
    assert "No chat was restored" in await there.restored(file, keys, force=True, chats=False)
    assert await there.found() == ("", [])


@pytest.mark.parametrize("queue", ["process", "workers"])
async def test_a_backup_that_is_not_good_changes_nothing(server: Callable[[str], Place], queue: str) -> None:
    """With another passphrase, a changed byte, a cut or keys that cannot be written, rows and jobs are as they were, and no
    file is left."""
    here = replace(server("here"), queue=queue)
    await here.live("told before")
    file, keys = here.backed_up()
    whole, before = file.read_bytes(), (here.rows(), _jobs(here), here.copies)
    for changed in (whole[:-20], whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:]):
        file.write_bytes(changed)
        with pytest.raises(ConfigurationError, match=r"monday: It is cut off or damaged\. Use another backup"):
            await here.restored(file, keys, force=True)
        assert (here.rows(), _jobs(here), here.copies) == before
    file.write_bytes(whole)
    with pytest.raises(ConfigurationError, match="The passphrase does not open it"):
        await here.restored(file, passphrase="another passphrase", force=True)
    assert (here.rows(), _jobs(here), here.copies) == before
    (here.folder / "secret.json").unlink()
    (here.folder / "secret.json.new").mkdir()
    with pytest.raises(ConfigurationError, match=r"secret\.json: It cannot be read or written"):
        await here.restored(file, keys, force=True)
    assert (here.rows(), _jobs(here), here.copies) == before


def _jobs(place: Place) -> list[tuple[Any, ...]]:
    rows = "SELECT id, (args ->> 'row')::bigint FROM procrastinate_jobs ORDER BY id"
    if place.queue == "process":
        return []
    with place.database() as database:
        return [tuple(row) for row in database.run_now(lambda one: one.execute(text(rows)).all())]


@pytest.mark.parametrize("held", [alone, together])
async def test_nothing_is_restored_under_a_running_program(
    server: Callable[[str], Place], held: Callable[[Database], AbstractContextManager[None]]
) -> None:
    """While one process has the database, or several share it, a backup is made and none is restored."""
    here = server("here")
    await here.live("told before")
    with here.database() as database, held(database):
        file, keys = here.backed_up()
        with pytest.raises(
            ConfigurationError, match=r"here: storage\.url: Another CAFI runs with this database\. Stop it"
        ):
            await here.restored(file, keys, force=True)


async def test_what_waits_has_jobs_again_after_a_restore(server: Callable[[str], Place]) -> None:
    """With workers, jobs after a restore are those of the messages that were restored, and workers begin with them."""
    here = replace(server("here"), queue="workers")
    await here.live("told before")
    file, keys = here.backed_up()
    await here.live("told since")
    before = _jobs(here)
    assert len(before) == 2
    await here.restored(file, keys, force=True)
    ((job, row),) = _jobs(here)
    assert row == before[0][1] and job > before[1][0]
    assert await here.found() == ("told before", ["waits"])


async def test_workers_wait_for_the_keys_of_what_was_restored(server: Callable[[str], Place]) -> None:
    """Restored without its secret, chats and messages are kept, nobody begins, and it is told what to do."""
    here, there = replace(server("here"), queue="workers"), replace(server("there"), queue="workers")
    await here.live("told before")
    await there.live("told there")
    said = await there.restored(here.backed_up()[0], force=True)
    assert "under a secret that is not here" in said and "No worker begins yet:" in said
    assert said.endswith("cafi migrate") and _jobs(there) == [] and len(there.rows()["inbox"]) == 1
    chats = there.chats()
    async with chats.application.closing:
        for name in ("secret.json", "var/inbox.key"):
            (there.folder / name).write_bytes((here.folder / name).read_bytes())
        with pytest.raises(ConfigurationError, match=r"What waits has no jobs yet.* cafi migrate"):
            await chats.begin()
    chats = there.chats()
    async with chats.application.closing:
        await prepare(chats)
    assert len(_jobs(there)) == 1 and await there.found() == ("told before", ["waits"])


async def test_a_backup_of_an_earlier_version_goes_over_an_earlier_one(server: Callable[[str], Place]) -> None:
    """Both are of the first revision: after the restore the tables are today's, and what was there is kept as it was."""
    here = server("here")
    with here.database() as database:
        at_revision(database, REVISIONS[-1])
        database.run_now(lambda one: one.exec_driver_sql("INSERT INTO outbox (event) VALUES ('before')"))
        file, _ = here.backed_up()
        outbox = update(tables.outbox).values(event="since")
        database.run_now(lambda one: one.execute(outbox))
    assert "replaced now" in await here.restored(file, force=True)
    with here.database() as database:
        assert database.run_now(lambda one: one.execute(select(tables.outbox.c.event)).scalars().all()) == ["before"]
    (aside,) = here.copies
    with closing(Database(file_url(aside))) as database:
        assert database.run_now(lambda one: one.execute(select(tables.outbox.c.event)).scalars().all()) == ["since"]
        assert migrate(database).before == REVISIONS[-1]
