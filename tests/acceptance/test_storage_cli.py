"""`cafi migrate` and `cafi state copy`: what they do, what they refuse, and what they say."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from typer.testing import CliRunner, Result

from adapters.storage.counts import month_of
from adapters.storage.database import Database
from adapters.storage.keyring_file import save
from adapters.storage.lock import alone
from adapters.storage.schema_version import migrate, newest, schema
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import (
    audit,
    boards,
    invitations,
    members,
    metadata,
    monthly,
    outbox,
    posts,
    proposals,
    reviews,
    sign_ins,
    standing,
    unanswered,
)
from adapters.weeks import today
from bots.cli import app
from tests.feedback import event
from tests.postgres import PASSWORD, PostgresServer
from tests.storage import ANNA, BERT, POLL, message, state, store_over

RUNNER = CliRunner()
RING = Keyring(current=Secret(bytes(range(32))))


@pytest.fixture(autouse=True)
def _account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account of its own, without settings of the developer's."""
    for name in [name for name in os.environ if name.startswith("CAFI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def cafi(*words: str, url: str = "") -> Result:
    return RUNNER.invoke(app, list(words), env={"CAFI_STORAGE__URL": url} if url else {})


async def filled(database: Database) -> None:
    """Something in every table, as the stores leave it."""
    from adapters.feedback.sinks import DatabaseSink

    store = store_over(database, RING)
    await store.take([message(text=f"{number}") for number in range(2_500)], ("telegram", 7))
    await store.finish(None, ANNA, state("words of Anna"), 0, ("p", POLL))
    await store.finish(None, BERT, state("words of Bert"), 0)
    await store.spend(20_000, 7, 0.1 + 0.2, {"main": (7, 0.3)})
    await DatabaseSink(database=database).add([event(), event(option="no")])
    rows: Mapping[Any, dict[str, object]] = {
        metadata.tables["asked"]: {"person": b"\x00" * 16, "day": 20_000},
        metadata.tables["secrets"]: {"id": RING.current.id, "day": 20_000},
        monthly: {"month": "2026-11", "subject": "referral", "name": "dying", "count": 3},
        metadata.tables["referrals"]: {"week": "2026-W47", "platform": "web", "count": 3},
        outbox: {"event": '{"a": "é"}'},
        reviews: {"review": b"r" * 16, "chat": b"c" * 16, "day": 20_000, "sealed": b"", "person": None},
        posts: {"post": b"p" * 16, "day": 20_000, "posted": 1, "sealed": b"\xff\x00"},
        audit: {"hour": 1, "action": "pause", "moderator": b"", "target": "bot", "sealed": None},
        standing: {"platform": "discord", "content": "{}"},
        members: {"member": b"m" * 16, "role": "editor", "day": 20_000, "sealed": b"\xff\x00"},
        invitations: {"token": b"t" * 32, "member": b"m" * 16, "until": 30_000_000},
        sign_ins: {"token": b"s" * 32, "member": b"", "until": 30_000_000},
        proposals: {
            "proposal": b"p" * 16,
            "assistant": "a",
            "language": "en",
            "source": "sleep",
            "day": 20_000,
            "state": "open",
            "proposer": b"m" * 16,
            "sealed": b"\xff\x00",
        },
        boards: {"chat": b"b" * 16, "version": 3, "seen_hour": 497_000, "sealed": b"\xff\x00"},
        unanswered: {"week": "2026-W45", "assistant": "a", "topic": "other", "count": 5},
    }
    for table, row in rows.items():
        await database.run(lambda one, table=table, row=row: one.execute(insert(table).values(row)))


def content(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table."""
    return {
        name: database.run_now(
            lambda one, table=table: [tuple(row) for row in one.execute(select(table).order_by(*table.primary_key))]
        )
        for name, table in metadata.tables.items()
    }


def test_everything_goes_to_postgresql_and_back(postgresql: PostgresServer, tmp_path: Path) -> None:
    """Every row of every table arrives, counted, in both directions; chats open, and new rows have new numbers."""
    postgresql.execute("CREATE DATABASE round_trip")
    urls = [f"sqlite:///{tmp_path}/a.db", postgresql.url("round_trip"), f"sqlite:///{tmp_path}/b.db"]
    first = Database(urls[0])
    migrate(first)
    asyncio.run(filled(first))
    expected = content(first)
    first.close()
    assert all(expected.values()), "a table is empty: its copy would prove nothing"
    for source, target in pairwise(urls):
        done = cafi("state", "copy", "--from", source, "--to", target, "--json")
        assert json.loads(done.stdout) == {name: len(rows) for name, rows in sorted(expected.items())}, done.output
        copied = Database(target)
        assert content(copied) == expected
        store = store_over(copied, RING)
        assert asyncio.run(store.load(ANNA)).state == state("words of Anna")
        (waiting,) = asyncio.run(store.take([message(text="later")]))
        assert waiting.row > max(row[0] for row in expected["inbox"] if isinstance(row[0], int))
        asyncio.run(store.finish(waiting.row, ANNA, None, 0))
        copied.close()
    postgresql.execute("DROP DATABASE round_trip")


def test_a_copy_is_refused_before_anything_is_lost(tmp_path: Path) -> None:
    """A target that is not empty, a source of another version or none, one database for both, one that is in use."""
    here, there, old = (f"sqlite:///{tmp_path}/{name}.db" for name in ("here", "there", "old"))
    databases = [Database(url) for url in (here, there, old)]
    for one in databases:
        migrate(one)
    asyncio.run(store_over(databases[0]).take([message()]))
    databases[1].run_now(lambda one: one.execute(insert(standing).values(platform="web", content="{}")))
    before = content(databases[1])
    databases[2].run_now(lambda one: one.execute(text("UPDATE alembic_version SET version_num = '0005'")))
    for words, said in (
        (
            ("--from", here, "--to", there),
            "there.db: It is not empty: something lies in standing. Name a new database.",
        ),
        (("--from", old, "--to", there), f"old.db: Its schema is 0005, and this CAFI's is {newest()}."),
        (("--from", f"sqlite:///{tmp_path}/none.db", "--to", there), "none.db: storage.url: There is no such database"),
        (("--from", here, "--to", here), "here.db: It is both source and target."),
        ((), "Neither --from nor --to is given."),
    ):
        done = cafi("state", "copy", *words)
        assert done.exit_code == 1 and said in done.stderr and "Traceback" not in done.output, done.output
    with alone(databases[0]):
        done = cafi("state", "copy", "--from", here, "--to", f"sqlite:///{tmp_path}/new.db")
    assert done.exit_code == 1 and "Another CAFI runs with this database. Stop it first" in done.stderr
    assert content(databases[1]) == before and not (tmp_path / "none.db").exists()
    for one in databases:
        one.close()


def test_the_secret_is_pointed_at_and_never_shown(tmp_path: Path) -> None:
    """After a copy both places of the secret are named where only the source's is there, and nothing of it is printed."""
    url = f"sqlite:///{tmp_path}/here.db"
    database = Database(url)
    migrate(database)
    database.close()
    (from_there,) = (tmp_path / "config" / "cafi" / name for name in (secret_name(url),))
    save(from_there, RING)
    done = cafi("state", "copy", "--to", f"sqlite:///{tmp_path}/there.db", url=url)
    assert done.exit_code == 0 and str(from_there) in done.stderr and "Copy it to" in done.stderr
    assert RING.current.value.hex() not in done.output


def secret_name(url: str) -> str:
    """The file in which the secret of a database is looked for."""
    from bots.secret_file import file_apart
    from bots.settings import CafiSettings, StorageSettings

    return file_apart(CafiSettings(storage=StorageSettings(url=url))).name


def test_the_secret_is_looked_for_by_server_and_database_alone() -> None:
    """A changed password, account or parameter does not lose the secret; another database has its own."""
    names = [
        secret_name(f"postgresql+psycopg://{rest}")
        for rest in (
            f"a:{PASSWORD}@db.invalid/cafi",
            "b@db.invalid:5432/cafi?sslmode=verify-full",
            "a@db.invalid/other",
        )
    ]
    assert names[0] == names[1] != names[2]


def test_migrating_says_from_which_to_which(empty_url: str) -> None:
    """An empty database gets its tables, one that has them is left alone, and both are told with the database's name."""
    done = cafi("migrate", url=empty_url)
    assert done.exit_code == 0 and done.stdout.endswith(f": from an empty database to {newest()}.\n"), done.output
    database = Database(empty_url)
    assert schema(database) == newest()
    assert database.place in cafi("migrate", url=empty_url).stdout
    assert json.loads(cafi("migrate", "--json", url=empty_url).stdout) == {
        "database": database.place,
        "from": newest(),
        "to": newest(),
    }
    database.run_now(lambda one: one.execute(text("UPDATE alembic_version SET version_num = '0005'")))
    with alone(database):
        refused = cafi("migrate", url=empty_url)
    assert refused.exit_code == 1 and "Another CAFI runs with this database" in refused.stderr
    database.close()


def test_what_the_law_wants_counted_is_told_without_small_counts(tmp_path: Path) -> None:
    """`cafi report` writes lines, JSON, CSV and a page of a year's referrals and notices; three of a kind are told with others
    only, nothing of the running month is; without a database it says so."""
    url = f"sqlite:///{tmp_path}/counted.db"
    refused = cafi("report", "referrals", "--year", "2025", url=url)
    assert refused.exit_code == 1 and "counted.db" in refused.stderr and "Traceback" not in refused.stderr
    database = Database(url)
    migrate(database)
    now = month_of(today())
    rows = [("2025-03", "dying", 3), ("2025-03", "medical", 9), ("2025-04", "dying", 2), (now, "fear", 50)]
    for month, kind, count in rows:
        row = insert(monthly).values(month=month, subject="referral", name=kind, count=count)
        database.run_now(lambda one, row=row: one.execute(row))
    database.close()
    files = ["--csv", "out.csv", "--html", "out.html"]
    done = cafi("report", "referrals", "--year", "2025", "--json", *files, url=url)
    told = json.loads(done.stdout)
    assert told["total"] == 12 and told["held_back"] == [f"2025-{one:02}" for one in range(4, 13)]
    assert {one["count"] for one in told["rows"]} == {0, 12}
    assert "2025,2025-03,2025-03,dying + others + voices + fear + medical,12" in Path("out.csv").read_text()
    assert "<td>12</td>" in Path("out.html").read_text() and 'fear", 50' not in done.stdout
    assert "50" not in cafi("report", "referrals", "--year", now[:4], url=url).stdout
    assert json.loads(cafi("report", "notices", "--year", "2025", "--json", url=url).stdout)["total"] == 0
