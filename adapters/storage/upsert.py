"""Update or insert, insert or leave: one statement, so that nobody's row comes in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Insert, Table
from sqlalchemy.dialects import postgresql, sqlite


def upsert(dialect: str, table: Table, row: Mapping[str, Any], *, adding: Collection[str] = ()) -> Insert:
    """The statement that puts a row into a table, or changes the one with the same primary key.

    Of a row that is there, the columns in `adding` grow by the new values and the others take them. `dialect` is
    SQLAlchemy's name, `sqlite` or `postgresql`: both write this alike, but not in one class.
    """
    key = [column.name for column in table.primary_key]
    statement = _insert(dialect, table, row)
    new = {name: statement.excluded[name] for name in row if name not in key}
    changed: Insert = statement.on_conflict_do_update(
        index_elements=key,
        set_={name: table.c[name] + value if name in adding else value for name, value in new.items()},
    )
    return changed


def insert_new(dialect: str, table: Table, row: Mapping[str, Any]) -> Insert:
    """The statement that puts a row into a table where none has its primary key yet; its `rowcount` tells."""
    made: Insert = _insert(dialect, table, row).on_conflict_do_nothing()
    return made.execution_options(preserve_rowcount=True)


def _insert(dialect: str, table: Table, row: Mapping[str, Any]) -> Any:
    return (sqlite if dialect == "sqlite" else postgresql).insert(table).values(row)
