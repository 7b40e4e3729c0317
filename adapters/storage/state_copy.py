"""Everything that is stored, from one database to another: SQLite to PostgreSQL when one machine is not enough, and back."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, Table, func, insert, inspect, literal, select

from adapters.storage.database import Database
from adapters.storage.lock import alone
from adapters.storage.postgresql import one_moment, take_time
from adapters.storage.schema_version import migrate, newest, schema
from adapters.storage.tables import metadata
from engine import ConfigurationError

_ROWS = 1_000
"""Of one statement."""


def copy_state(source: Database, target: Database) -> dict[str, int]:
    """Copy every row in one transaction of each database; how many of each table. Nobody else may use either meanwhile.

    Raises ConfigurationError, and changes nothing, where the source is of another version or the target holds anything.
    """
    if source.place == target.place:
        raise ConfigurationError("It is both source and target.", file=source.place, remedy="Name two databases.")
    with alone(source), alone(target):
        version = schema(source)
        if version != newest():
            raise ConfigurationError(
                f"Its schema is {version or 'not there yet'}, and this CAFI's is {newest()}.",
                file=source.place,
                remedy="Bring it up to date with cafi migrate, or use the CAFI that made it.",
            )
        filled = target.run_now(tables_in_use)
        if filled:
            raise ConfigurationError(
                f"It is not empty: something lies in {', '.join(filled)}.",
                file=target.place,
                remedy="Name a new database.",
            )
        migrate(target)

        def read(connection: Connection) -> dict[str, int]:
            if not source.sqlite:  # SQLite's transactions see one moment anyway
                one_moment(connection)
            return target.run_now(lambda to: copy_rows(connection, to, metadata.sorted_tables))

        return source.run_now(read)


def tables_in_use(connection: Connection) -> list[str]:
    """The names of those of our tables in which anything lies."""
    there = set(inspect(connection).get_table_names())
    tables = [one for one in metadata.sorted_tables if one.name in there]
    # No column is read: those of an earlier version are others.
    row = select(literal(1)).limit(1)
    return [one.name for one in tables if connection.execute(row.select_from(one)).first() is not None]


def copy_rows(source: Connection, target: Connection, tables: Iterable[Table]) -> dict[str, int]:
    """Copy every row of some tables, which are alike in both; how many of each."""
    for connection in (source, target):
        take_time(connection)
    return {one.name: _copied(one, source, target) for one in tables}


def _copied(table: Table, source: Connection, target: Connection) -> int:
    count = 0
    for rows in source.execute(select(table).execution_options(yield_per=_ROWS)).mappings().partitions():
        target.execute(insert(table), [dict(row) for row in rows])
        count += len(rows)
    number = table.autoincrement_column
    if count and number is not None and target.dialect.name == "postgresql":
        # Rows that came with their numbers have not moved the sequence that gives the next ones. It never goes back: a
        # number that was given before is not given again.
        sequence = func.pg_get_serial_sequence(table.name, number.name)
        last = func.greatest(select(func.max(number)).scalar_subquery(), func.nextval(sequence))
        target.execute(select(func.setval(sequence, last)))
    return count
