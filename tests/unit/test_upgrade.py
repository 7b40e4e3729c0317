"""An upgrade over what people have in their chats: from every revision there was, by the start that operators use."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.storage.database import Database
from adapters.storage.schema_version import migrate, schema
from adapters.storage.snapshot import copies
from adapters.storage.state_copy import copy_state
from bots.chats import Chats
from bots.secret_file import copied_beside
from bots.settings import CafiSettings, SessionSettings, StorageSettings
from engine.exceptions import ConfigurationError
from tests.postgres import PostgresServer
from tests.storage import ANNA, BERT, POLL, message, state, store_over
from tests.team import shipped
from tests.unit.test_migrating import REVISIONS, at_revision


def chats_in(folder: Path, url: str = "", *, copied: bool = True) -> Chats:
    """Everything around turns, as `cafi run` builds it."""
    return Chats(
        application=shipped(
            CafiSettings(
                storage=StorageSettings(url=url or f"sqlite:///{folder}/cafi.db"),
                sessions=SessionSettings(secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key"),
            )
        ),
        given={"feedback": None},
        copied=copied,
    )


async def with_keys(folder: Path) -> None:
    """The keys of a first start, without its database."""
    chats = chats_in(folder)
    async with chats.application.closing:
        await chats.begin()
    (folder / "cafi.db").unlink()


async def lived_in(folder: Path, revision: str, url: str = "") -> None:
    """A database of a revision in which somebody talked, somebody waits, and a poll was shown."""
    chats = chats_in(folder)
    database = Database(url or f"sqlite:///{folder}/cafi.db")
    at_revision(database, revision)
    store = store_over(database, chats.keyring, chats.clock, chats.inbox_secret.secret)
    await store.finish(None, ANNA, state("what was told", answered=3), 0, ("a poll", POLL))
    await store.take([message(BERT, "still waiting")])
    if revision < "0004":
        database.run_now(lambda one: one.exec_driver_sql("INSERT INTO cursors VALUES ('telegram', 41)"))
    else:
        await store.put_cursor("telegram", 41)
    if revision >= "0002":
        database.run_now(lambda one: one.exec_driver_sql("INSERT INTO standing VALUES ('discord', '{}')"))
    await database.aclose()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_chats_of_every_earlier_version_open_after_the_upgrade(
    tmp_path: Path, empty_url: str, revision: str
) -> None:
    """After the start the chat, the waiting message, the poll and the last number are there, and beside them the copy,
    from which chats expire."""
    await with_keys(tmp_path)
    await lived_in(tmp_path, revision, empty_url)
    chats = chats_in(tmp_path, empty_url)
    beside = copied_beside(chats.application.settings)
    assert beside is not None
    async with chats.application.closing:
        await chats.begin()
        kept = await chats.store.load(ANNA)
        assert kept.state == state("what was told", answered=3) and kept.version == 1
        await chats.store.finish(None, ANNA, state("more"), kept.version)
        waiting, closed = await chats.store.unanswered("telegram")
        assert [one.incoming.text for one in waiting] == ["still waiting"] and closed == 0
        assert await chats.store.answered_poll("telegram", "a poll") == POLL
        assert await chats.store.cursor("telegram") == 41
        found = copies(beside)
        assert all(rows(one, "chats") == 1 and one.stat().st_mode & 0o777 == 0o600 for one in found)
        for one in found:
            os.utime(one, (0, 0))
        await chats.sweep()
        assert all(rows(one, "chats") == 0 and rows(one, "alembic_version") == 1 for one in found)
    assert found == ([] if revision == REVISIONS[0] else [beside.with_name(f"{beside.name}.revision-{revision}")])


def drafts(folder: Path) -> list[Path]:
    return [one for one in folder.iterdir() if ".new" in one.name]


def rows(file: Path, table: str) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - ours


async def test_the_copy_of_a_servers_tables_goes_back_onto_a_server(tmp_path: Path, postgresql: PostgresServer) -> None:
    """What was copied before each upgrade is copied into a new database, as today's revision and row by row."""
    postgresql.execute("CREATE DATABASE newer")
    postgresql.execute("CREATE DATABASE earlier")
    url, other = postgresql.url("newer"), postgresql.url("earlier")
    await with_keys(tmp_path)
    await lived_in(tmp_path, REVISIONS[-1], url)
    chats = chats_in(tmp_path, url)
    async with chats.application.closing:
        await chats.begin()
    (copy,) = copies(copied_beside(chats.application.settings) or tmp_path)
    # The earlier version would do without this: its tables are these.
    with closing(Database(f"sqlite:///{copy}")) as database:
        assert migrate(database).before == REVISIONS[-1]
        with closing(Database(other)) as target:
            assert copy_state(database, target)["inbox"] == 1
    chats = chats_in(tmp_path, other)
    async with chats.application.closing:
        await chats.begin()
        assert (await chats.store.load(ANNA)).state == state("what was told", answered=3)
    for name in ("newer", "earlier"):
        postgresql.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_the_way_back_is_the_copy_in_place_of_the_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The start says in one line where the copy is; put in place by hand, it is what the earlier version left."""
    await with_keys(tmp_path)
    await lived_in(tmp_path, REVISIONS[1])
    chats = chats_in(tmp_path)
    async with chats.application.closing:
        await chats.begin()
    (told,) = [one.message for one in caplog.records if "revision-" in one.message]
    shutil.copyfile(told.split(" is the database as it was")[0], tmp_path / "cafi.db")
    connection = sqlite3.connect(tmp_path / "cafi.db")
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISIONS[1],)
    assert connection.execute("SELECT count(*) FROM chats").fetchone() == (1,)
    connection.close()


async def test_without_room_for_the_copy_nothing_is_changed(tmp_path: Path, empty_url: str) -> None:
    """Where the database cannot be copied the start ends with the place and the remedy, the tables stay as they were, and
    nothing is left of the copy; on request they are changed without."""
    await with_keys(tmp_path)
    await lived_in(tmp_path, REVISIONS[-1], empty_url)
    chats = chats_in(tmp_path, empty_url)
    beside = copied_beside(chats.application.settings)
    assert beside is not None
    beside.with_name(f"{beside.name}.revision-{REVISIONS[-1]}").mkdir()
    told = r": It cannot be copied before its tables are changed: .* go on: cafi migrate --without-copy"
    async with chats.application.closing:
        with pytest.raises(ConfigurationError, match=told):
            await chats.begin()
        assert schema(chats.database) == REVISIONS[-1]
    assert not drafts(tmp_path)
    chats = chats_in(tmp_path, empty_url, copied=False)
    async with chats.application.closing:
        assert chats.migrate().changed
