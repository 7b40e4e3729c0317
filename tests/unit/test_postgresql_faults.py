"""What can be wrong with a PostgreSQL server: one sentence each, which names the database and a remedy, and no password."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, insert, select, text, update
from sqlalchemy.exc import TimeoutError as PoolTimeout

from adapters.delivery.storage_retry import StorageRetry
from adapters.storage.database import Database
from adapters.storage.postgresql import take_time
from adapters.storage.schema_version import migrate
from adapters.storage.tables import spending
from engine.exceptions import CafiError, ConfigurationError, StorageError, StorageUnavailable
from tests.chromium import free_port
from tests.fakes.old_postgresql import old_postgresql
from tests.postgres import PASSWORD, PostgresServer
from tests.storage import message, store_over

ONE = text("SELECT 1")


def said_of(url: str, kind: type[CafiError]) -> str:
    """What an operator reads who uses this address."""
    with pytest.raises(kind) as raised:
        database = Database(url, connections=1)
        try:
            database.run_now(lambda connection: connection.execute(ONE))
        finally:
            database.close()
    assert PASSWORD not in str(raised.value) and "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "cafi.db",
        "mysql://a@b/c",
        "postgresql+asyncpg://a@b/c",
        "sqlite+aiosqlite:///x.db",
        f"postgresql://a:{PASSWORD}@b:port/c",
    ],
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    """Neither a driver that nobody has nor a word that is no address goes further than the start."""
    assert said_of(url, ConfigurationError).startswith("storage.url: It is no address of a database. Write sqlite:///")


def test_without_the_driver_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where psycopg is not installed, the message says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert "cafi[postgres]" in said_of("postgresql://a@127.0.0.1/b", ConfigurationError)


@pytest.mark.parametrize(
    ("user", "password", "database", "query", "words"),
    [
        ("postgres", "wrong-" + PASSWORD[::-1], "cafi", "", "does not take the password. Correct it in storage.url"),
        ("nobody", PASSWORD, "cafi", "", "does not take the password"),  # a server does not tell who is unknown
        ("postgres", PASSWORD, "nowhere", "", "has no such database. Correct its name"),
        ("postgres", PASSWORD, "cafi", "?sslmode=require", "do not agree about TLS. Correct sslmode"),
        ("postgres", PASSWORD, "cafi", "?sslmode=sometimes", "parameter with a wrong value"),
        ("postgres", PASSWORD, "cafi", "?colour=green", "parameter with a wrong value"),
        ("locked", PASSWORD, "cafi", "", "does not let it log in"),
    ],
)
def test_a_server_that_refuses_says_what_to_correct(
    postgresql: PostgresServer, _migrated: str, user: str, password: str, database: str, query: str, words: str
) -> None:
    """A wrong password, account, database, encryption or parameter is a fault of the settings, told before anybody is served."""
    if user == "locked":
        postgresql.execute(f"CREATE ROLE locked NOLOGIN PASSWORD '{PASSWORD}'")
    said = said_of(postgresql.network_url(database, user=user, password=password) + query, ConfigurationError)
    assert words in said and said.startswith(f"postgresql://127.0.0.1:{postgresql.port}/{database}: storage.url: ")
    if user == "locked":
        postgresql.execute("DROP ROLE locked")


@pytest.mark.parametrize("place", ["127.0.0.1:{port}", "nobody.invalid", "/cafi?host=/nowhere"])
def test_a_server_that_is_not_there_may_come_back(place: str) -> None:
    """A closed port, an unknown name and a missing socket are told alike, as something that may pass."""
    url = f"postgresql://a@{place.format(port=free_port())}"
    said = said_of(url if "/" in place else f"{url}/cafi", StorageUnavailable)
    assert "cannot be reached. Check that it runs and listens, and host and port in storage.url" in said


def test_a_server_that_is_too_old_is_refused() -> None:
    """PostgreSQL 12 is told to be too old, and 13 named."""
    with old_postgresql("12.22") as port:
        said = said_of(f"postgresql://a@127.0.0.1:{port}/cafi", ConfigurationError)
    assert said == "storage.url: The server is PostgreSQL 12. CAFI needs PostgreSQL 13 or newer."


@pytest.fixture
def served(postgresql: PostgresServer, _migrated: str) -> Iterator[Database]:
    """A database that has answered, through the network."""
    made = Database(postgresql.network_url("cafi"), connections=2)
    made.run_now(lambda connection: connection.execute(spending.delete()))
    yield made
    made.close()


@pytest.mark.parametrize(("ahead", "told"), [(0.0, []), (300.0, ["300", "299"]), (-300.0, ["300", "299"])])
async def test_clocks_that_differ_are_told(
    served: Database, caplog: pytest.LogCaptureFixture, ahead: float, told: list[str]
) -> None:
    """A clock five minutes off is told at the start, with what to do; one that is right is not."""
    await served.check(lambda: time.time() + ahead)
    said = [one.getMessage() for one in caplog.records if one.name == "cafi.storage"]
    assert bool(said) == bool(told) and (
        not said or re.search(rf"are ({'|'.join(told)}) seconds apart. Set both", said[0])
    )


def test_a_database_that_can_only_be_read_says_so(postgresql: PostgresServer, _migrated: str) -> None:
    """Writing on a read-only server is refused with what to do."""
    database = Database(postgresql.url("cafi") + "&options=-c%20default_transaction_read_only=on")
    with pytest.raises(StorageUnavailable, match=r"can only be read\. Connect to the primary"):
        asyncio.run(store_over(database).take([message()]))
    database.close()


def test_an_account_without_rights_is_told_which_it_needs(postgresql: PostgresServer) -> None:
    """An account that may not make tables is told to become the owner, and as the owner it may."""
    for statement in ("CREATE ROLE guest LOGIN", "CREATE DATABASE guests"):
        postgresql.execute(statement)
    postgresql.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", "guests")  # before PostgreSQL 15 everybody may
    database = Database(postgresql.url("guests", user="guest"))
    with pytest.raises(StorageError, match=r"Make it the owner of the database: ALTER DATABASE"):
        migrate(database)
    postgresql.execute("ALTER DATABASE guests OWNER TO guest")
    postgresql.execute("GRANT CREATE ON SCHEMA public TO pg_database_owner", "guests")
    assert migrate(database).changed
    database.close()
    postgresql.execute("DROP DATABASE guests WITH (FORCE)")
    postgresql.execute("DROP ROLE guest")


def test_tables_that_are_missing_lead_to_the_migration(postgresql: PostgresServer) -> None:
    """Whoever reads a database without tables is told of `cafi migrate`."""
    database = Database(postgresql.url("postgres"))
    with pytest.raises(StorageError, match=r"A table is missing\. Bring the database up to date: cafi migrate"):
        database.run_now(lambda connection: connection.execute(select(spending)))
    database.close()


def test_a_server_without_room_for_connections_says_what_to_change(
    postgresql: PostgresServer, served: Database
) -> None:
    """One connection too many is refused with both numbers that can be changed."""
    postgresql.execute("CREATE ROLE single LOGIN CONNECTION LIMIT 0")
    said = said_of(postgresql.url("cafi", user="single"), StorageUnavailable)
    assert "no connection left" in said
    postgresql.execute("DROP ROLE single")
    assert "storage.connections" in str(served.translated(PoolTimeout("QueuePool limit")))


def test_lines_that_were_cut_meanwhile_are_not_noticed(postgresql: PostgresServer, served: Database) -> None:
    """After the server has ended every connection, or a work's own in its middle, the work is done once all the same."""
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cafi' AND pid <> pg_backend_pid()"
    begun = []

    def work(connection: Connection) -> None:
        connection.execute(insert(spending).values(day=len(begun), tokens=1, cost=0.0))
        begun.append(1)
        if len(begun) == 1:
            postgresql.execute(kill)
        connection.execute(ONE)

    postgresql.execute(kill)
    served.run_now(lambda connection: connection.execute(ONE))
    served.run_now(work)
    days = served.run_now(lambda connection: connection.execute(select(spending.c.day)).scalars().all())
    assert days == [1] and len(begun) == 2


def test_two_that_wait_for_each_other_both_end_well(served: Database) -> None:
    """Of two transactions in a deadlock the server takes one back, and it is begun again."""
    for day in (1, 2):
        served.run_now(lambda one, day=day: one.execute(insert(spending).values(day=day, tokens=0, cost=0.0)))
    meeting = threading.Barrier(2)
    begun: list[int] = []

    def work(connection: Connection, days: tuple[int, int]) -> None:
        begun.append(days[0])
        for day in days:
            connection.execute(update(spending).where(spending.c.day == day).values(tokens=spending.c.tokens + 1))
            if len(begun) <= 2 and day == days[0]:
                meeting.wait(10)

    async def together() -> None:
        await asyncio.gather(*(served.run(lambda one, days=days: work(one, days)) for days in ((1, 2), (2, 1))))

    asyncio.run(together())
    sums = served.run_now(lambda connection: connection.execute(select(spending.c.tokens)).scalars().all())
    assert sums == [2, 2] and len(begun) >= 3


def test_one_that_is_taken_back_more_than_once_ends_well(served: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever meets another transaction twice is begun a third time; one that never gets through ends with an error."""
    monkeypatch.setattr("adapters.storage.database._PAUSE_SECONDS", 0.0)
    begun: list[int] = []

    def work(connection: Connection, refusals: int) -> None:
        begun.append(len(begun))
        connection.execute(insert(spending).values(day=len(begun) + 7, tokens=1, cost=0.0))
        if len(begun) <= refusals:
            connection.execute(text("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'deadlock_detected'; END $$"))

    served.run_now(lambda one: one.execute(spending.delete()))
    served.run_now(lambda one: work(one, 2))
    assert served.run_now(lambda one: one.execute(select(spending.c.day)).scalars().all()) == [10] and len(begun) == 3
    with pytest.raises(StorageUnavailable):
        served.run_now(lambda one: work(one, 99))


def test_whoever_freezes_in_a_transaction_keeps_nobody_waiting(
    postgresql: PostgresServer, _migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a silent transaction has changed others may change, and it is done anew; one that takes its time may be silent."""
    monkeypatch.setattr("adapters.storage.postgresql.IDLE_SECONDS", 1)
    frozen, other = (Database(postgresql.network_url("cafi"), connections=1) for _ in range(2))
    frozen.run_now(lambda one: one.execute(spending.delete()))
    frozen.run_now(lambda one: one.execute(insert(spending).values(day=1, tokens=0, cost=0.0)))
    more = update(spending).where(spending.c.day == 1).values(tokens=spending.c.tokens + 1)
    begun: list[bool] = []

    def work(connection: Connection, patient: bool) -> None:
        begun.append(patient)
        if patient:
            take_time(connection)
        connection.execute(more)
        if len(begun) == 1:
            other.run_now(lambda one: one.execute(more))
        elif patient:
            time.sleep(1.5)
        connection.execute(ONE)

    frozen.run_now(lambda one: work(one, False))
    frozen.run_now(lambda one: work(one, True))
    assert frozen.run_now(lambda one: one.execute(select(spending.c.tokens)).scalar()) == 3
    assert begun == [False, False, True]
    for one in (frozen, other):
        one.close()


async def test_a_server_that_went_away_is_waited_for(postgresql: PostgresServer, served: Database) -> None:
    """While the server is down every work fails with one sentence; when it is back, what was retried is there once."""
    store = store_over(served)
    await store.spend(1, 1, 0.0)
    postgresql.stop()
    try:
        with pytest.raises(StorageUnavailable, match=r"cannot be reached|went away") as raised:
            await store.spend(1, 1, 0.0)
        assert PASSWORD not in str(raised.value)
        with pytest.raises(StorageUnavailable):
            await store.take([message()])
        retried = asyncio.create_task(StorageRetry(seconds=0.01).until_done(lambda: store.spend(1, 1, 0.0)))
        await asyncio.sleep(0)
    finally:
        postgresql.start()
    await retried
    assert await store.spent(1) == (2, 0.0)
