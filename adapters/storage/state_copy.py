"""Everything that is stored, from one database to another: SQLite to PostgreSQL when one machine is not enough, and back."""

from __future__ import annotations

from sqlalchemy import Connection, Table, func, insert, inspect, select

from adapters.storage.database import Database
from adapters.storage.lock import alone
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
        filled = target.run_now(_filled)
        if filled:
            raise ConfigurationError(
                f"It is not empty: something lies in {', '.join(filled)}.",
                file=target.place,
                remedy="Name a new database.",
            )
        migrate(target)

        def read(connection: Connection) -> dict[str, int]:
            if not source.sqlite:  # SQLite's transactions see one moment anyway
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            return target.run_now(lambda to: {one.name: _copied(one, connection, to) for one in metadata.sorted_tables})

        return source.run_now(read)


def _filled(connection: Connection) -> list[str]:
    there = set(inspect(connection).get_table_names())
    tables = [one for one in metadata.sorted_tables if one.name in there]
    return [one.name for one in tables if connection.execute(select(one).limit(1)).first() is not None]


def _copied(table: Table, source: Connection, target: Connection) -> int:
    count = 0
    for rows in source.execute(select(table).execution_options(yield_per=_ROWS)).mappings().partitions():
        target.execute(insert(table), [dict(row) for row in rows])
        count += len(rows)
    number = table.autoincrement_column
    if count and number is not None and target.dialect.name == "postgresql":
        # Rows that came with their numbers have not moved the sequence that gives the next ones.
        sequence = func.pg_get_serial_sequence(table.name, number.name)
        target.execute(select(func.setval(sequence, select(func.max(number)).scalar_subquery())))
    return count
