"""PostgreSQL: how its server is reached, and what its errors mean. psycopg is imported only where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Dialect, event, func, select
from sqlalchemy.engine import URL, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, TimeoutError

from engine import ConfigurationError, StorageError, StorageUnavailable

KEY = "storage.url"
DRIVER = "postgresql+psycopg"
OLDEST = 13
_PARAMETERS = {
    "connect_timeout": "10",  # seconds; without, a server that says nothing is waited for
    "keepalives_idle": "30",  # seconds until a silent server is asked whether it is still there
    "tcp_user_timeout": "20000",  # milliseconds; without, a network that swallows everything holds for a quarter of an hour
    "fallback_application_name": "cafi",
}
IDLE_SECONDS = 5
"""A transaction in which nobody asks anything for so long is ended: a frozen process would keep its rows from all others."""
_AGAIN = frozenset({"40001", "40P01"})
"""The server took a transaction back because of another one: a serialisation failure, a deadlock."""
_GONE = "The server went away. Nothing that was taken is lost; what waits is tried again."
_REMEDIES: Mapping[str, str] = {  # by SQLSTATE, or its class
    "08": _GONE,
    "53": "The server has no room left. Nothing that was taken is lost.",
    "57": _GONE,
    "25P03": "The server ended a transaction in which this program paused. Nothing that was taken is lost.",
    "25006": "The database can only be read. Connect to the primary server, or let the account write.",
    "42501": (
        "The account may not do this. Make it the owner of the database: ALTER DATABASE … OWNER TO …; "
        "docs/howto/postgresql.md tells which rights it needs."
    ),
    "42P01": "A table is missing. Bring the database up to date: cafi migrate",
    "42703": "A column is missing. Bring the database up to date: cafi migrate",
    "53100": "The server's disk is full. Make room; nothing that was taken is lost.",
    "53300": "The server has no connection left. Raise its max_connections, or lower storage.connections.",
    "55P03": "Another program keeps a table locked. Nothing that was taken is lost.",
    "57014": "The server ended a statement that took too long. Raise its statement_timeout.",
}
_UNREACHABLE = (
    "The server cannot be reached. Check that it runs and listens, and host and port in storage.url; "
    "nothing that was taken is lost."
)
_BUSY = "All connections to the server are in use. Raise storage.connections, or look what keeps the server."
_REFUSED = (
    ("pg_hba.conf", "The server lets nobody in from here so. Add a line to its pg_hba.conf, or another sslmode to it."),
    ("password", "The server does not take the password. Correct it in storage.url or in ~/.pgpass."),
    (
        'role "',
        "The server does not know the account, or does not let it log in. Correct it in storage.url, or create it.",
    ),
    ("authentication failed", "The server does not take the account. Correct it in storage.url, or its pg_hba.conf."),
    ('database "', "The server has no such database. Correct its name in storage.url, or make it: createdb."),
    ("certificate", "The server's certificate is not trusted. Give its authority in storage.url: sslrootcert=FILE."),
    ("SSL", "Server and address do not agree about TLS. Correct sslmode in storage.url, or switch TLS on there."),
    ("invalid ", "The address has a parameter with a wrong value. Correct it; docs/howto/postgresql.md has examples."),
)
"""By the words of an English server; those of another language count as unreachable."""
_WAIT = (
    ("starting up", "The server is starting. It is tried again."),
    ("shutting down", _GONE),
    ("recovery", "The server is recovering. It is tried again."),
    ("too many c", _REMEDIES["53300"]),  # clients of the server; connections of an account or to a database
    ("connection slots", _REMEDIES["53300"]),
)


def server_engine(url: URL, connections: int) -> Engine:
    """The engine of a server, which is not asked yet; raises ConfigurationError where psycopg is missing."""
    given = {name: value for name, value in _PARAMETERS.items() if name not in url.query}
    try:
        engine = sqlalchemy.create_engine(
            url.set(drivername=DRIVER),
            pool_size=connections,
            max_overflow=3,  # what is done beside the threads: in order, the lock, and reading at the start
            connect_args=given,
            hide_parameters=True,
        )
    except ImportError as error:
        raise ConfigurationError(
            "PostgreSQL needs psycopg, which is not installed.", key=KEY, remedy="pip install 'cafi[postgres]'"
        ) from error
    event.listen(engine, "do_connect", _connected)
    return engine


def server_parameters(engine: Engine) -> dict[str, Any]:
    """How psycopg itself is told to reach the engine's server, with our parameters."""
    given = {name: value for name, value in _PARAMETERS.items() if name not in engine.url.query}
    found: dict[str, Any] = dict(engine.dialect.create_connect_args(engine.url)[1])
    found.pop("context", None)
    return given | found


def server_place(url: URL) -> str:
    """Server and database as an operator knows them: no account, password or parameter, of which any may change."""
    query = url.normalized_query
    host, port = (",".join(query.get(name, (default,))) for name, default in (("host", "localhost"), ("port", "5432")))
    return f"postgresql://{url.host or host}:{url.port or port}/{url.database or ''}"


def server_clock(connection: Connection) -> float:
    """The time of the server, in seconds since 1970."""
    return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())


def one_moment(connection: Connection) -> None:
    """Have a transaction that has done nothing yet see one moment, whatever others write, and write nothing itself."""
    connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def take_time(connection: Connection) -> None:
    """Let this transaction pause for as long as it likes between its statements: whole tables are worked on."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")


def begins_again(error: DBAPIError) -> bool:
    """Whether the same work may go well at once: the connection was an old one, or another transaction had the way."""
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _AGAIN


def server_fault(error: SQLAlchemyError, place: str, *, served: bool) -> StorageError | ConfigurationError:
    """An error of psycopg or its pool in the house's words, which quote nothing.

    `served`: the server has let us in before. What it then refuses may pass; before that, somebody has to correct it.
    """
    from psycopg import OperationalError, ProgrammingError
    from psycopg.errors import ConnectionTimeout

    cause = (error.orig if isinstance(error, DBAPIError) else None) or error
    state, said = getattr(cause, "sqlstate", None), str(cause)
    remedy: str | None = None
    if state is not None:
        remedy = _REMEDIES.get(state) or _REMEDIES.get(state[:2])
    elif isinstance(cause, TimeoutError):
        remedy = _BUSY
    elif isinstance(cause, ConnectionTimeout):
        remedy = _UNREACHABLE
    elif isinstance(cause, ProgrammingError) or getattr(cause, "pgconn", None) is not None or "resolve host" in said:
        return _unconnected(said, place, served)
    elif isinstance(cause, OperationalError):
        remedy = _GONE
    return StorageUnavailable(f"{place}: {remedy or f'The database gave an error ({type(cause).__name__}).'}")


def _unconnected(said: str, place: str, served: bool) -> StorageError | ConfigurationError:
    """Why there is no connection; a server that refuses one says so in words alone."""
    remedy = next((one for mark, one in _WAIT if mark in said), None)
    if remedy is None:
        refused = next((one for mark, one in _REFUSED if mark in said), None)
        if refused is not None and not served:
            return ConfigurationError(refused, file=place, key=KEY)
        remedy = refused or _UNREACHABLE
    return StorageUnavailable(f"{place}: {remedy}")


def _connected(dialect: Dialect, record: object, arguments: Any, parameters: Any) -> Any:
    """Connect, and look whom to; raises ConfigurationError for a server that is too old.

    No option of the connection's start says how long a transaction may pause: poolers in between refuse those.
    """
    connection = dialect.connect(*arguments, **parameters)
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        connection.close()
        raise ConfigurationError(
            f"The server is PostgreSQL {version}.", key=KEY, remedy=f"CAFI needs PostgreSQL {OLDEST} or newer."
        )
    connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
    connection.commit()
    return connection
