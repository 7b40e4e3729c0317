"""Update or insert: what is on disk afterwards, and what both dialects say."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from sqlalchemy import Table, select
from sqlalchemy.dialects import postgresql

from adapters.storage.database import Database
from adapters.storage.schema_version import migrate
from adapters.storage.tables import asked, cursors, events, polls, referrals, spending, standing
from adapters.storage.upsert import upsert

WEEK = {"week": "2026-W47", "platform": "telegram"}


async def put(database: Database, table: Table, row: dict[str, Any], *adding: str) -> None:
    await database.run(
        lambda connection: connection.execute(upsert(connection.dialect.name, table, row, adding=adding))
    )


async def rows(database: Database, table: Table) -> list[tuple[Any, ...]]:
    found = await database.run(lambda connection: connection.execute(select(table)).all())
    return [tuple(row) for row in found]


async def test_a_row_comes_once_and_is_changed_then(database: Database) -> None:
    """A second row with the same key takes the place of the first one; another key has its own."""
    for name, sealed in (("telegram", b"5"), ("telegram", b"3"), ("discord", b"8")):
        await put(database, cursors, {"name": name, "sealed": sealed})
    assert sorted(await rows(database, cursors)) == [("discord", b"8"), ("telegram", b"3")]


async def test_sums_grow_and_the_rest_is_replaced(database: Database) -> None:
    """Of a row that is there only the columns that are named grow."""
    await put(database, spending, {"day": 9, "tokens": 10, "cost": 0.5}, "tokens")
    await put(database, spending, {"day": 9, "tokens": 7, "cost": 0.25}, "tokens")
    assert await rows(database, spending) == [(9, 17, 0.25)]


async def test_a_key_of_several_columns_counts_as_a_whole(database: Database) -> None:
    """Rows that share a part of their key are different rows."""
    for platform in ("telegram", "web", "telegram"):
        await put(database, referrals, {**WEEK, "platform": platform, "count": 2}, "count")
    assert sorted(await rows(database, referrals)) == [("2026-W47", "telegram", 4), ("2026-W47", "web", 2)]


async def test_nothing_is_lost_between_two_programs(database_url: str) -> None:
    """Two hundred additions through two connections to one database add up, the first of them too."""
    both = [Database(database_url), Database(database_url)]
    migrate(both[0])
    row = {"day": 9, "tokens": 1, "cost": 0.25}
    await asyncio.gather(*(put(both[number % 2], spending, row, "tokens", "cost") for number in range(200)))
    assert await rows(both[0], spending) == [(9, 200, 50.0)]
    for one in both:
        await one.aclose()


@pytest.mark.parametrize(
    ("table", "adding", "change"),
    [
        (cursors, (), "(name) DO UPDATE SET sealed = excluded.sealed"),
        (asked, (), "(person) DO UPDATE SET day = excluded.day"),
        (standing, (), "(platform) DO UPDATE SET content = excluded.content"),
        (polls, (), "(poll) DO UPDATE SET chat = excluded.chat, day = excluded.day, sealed = excluded.sealed"),
        (
            spending,
            ("tokens", "cost"),
            "(day) DO UPDATE SET tokens = (spending.tokens + excluded.tokens), cost = (spending.cost + excluded.cost)",
        ),
        (referrals, ("count",), "(week, platform) DO UPDATE SET count = (referrals.count + excluded.count)"),
        (
            events,
            ("count",),
            "(week, platform, assistant, question, option, sources, decision) "
            "DO UPDATE SET count = (events.count + excluded.count)",
        ),
    ],
    ids=lambda one: one.name if isinstance(one, Table) else "",
)
def test_postgresql_does_it_in_one_statement_too(table: Table, adding: tuple[str, ...], change: str) -> None:
    """For PostgreSQL the row is changed inside one insert, so that concurrent ones lose nothing."""
    row = dict.fromkeys(table.columns.keys(), 1)
    said = str(upsert("postgresql", table, row, adding=adding).compile(dialect=postgresql.dialect()))
    assert re.sub(r"\s+", " ", said).partition(" ON CONFLICT ")[2] == change
