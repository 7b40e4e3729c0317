"""What holds for every test: no real network, and no waiting between retries."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina
import stamina.instrumentation
from hypothesis import settings

from adapters.storage.database import Database
from adapters.storage.schema_version import migrate
from adapters.storage.tables import metadata
from tests import postgres
from tests.read_once import read_once

# No test asserts how long something takes: on a busy machine the first example alone may be slow.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Warnings are errors, but for one that discord.py raises on being imported: it plays sound, which CAFI does not."""
    config.addinivalue_line("filterwarnings", "ignore:'audioop' is deprecated:DeprecationWarning:discord.player")


class RealNetwork(RuntimeError):
    """A test tried to leave the machine."""


class _Guard:
    """Keeps connections on the machine; notes those that would leave it, as callers may swallow errors."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._connect, self._connect_ex = socket.socket.connect, socket.socket.connect_ex
        self._getaddrinfo = socket.getaddrinfo

    def connect(self, sock: socket.socket, address: Any) -> None:
        self._check(sock, address)
        return self._connect(sock, address)

    def connect_ex(self, sock: socket.socket, address: Any) -> int:
        self._check(sock, address)
        return self._connect_ex(sock, address)

    def getaddrinfo(self, host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is None or _is_local(name):
            return self._getaddrinfo(host, *args, **kwargs)
        # RFC 6761: names under .invalid never resolve, so tests may use them to see what a wrong name does.
        if not name.rstrip(".").endswith(".invalid"):
            self._refuse(name)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def _check(self, sock: socket.socket, address: Any) -> None:
        if sock.family in {socket.AF_INET, socket.AF_INET6} and not _is_local(address[0]):
            self._refuse(str(address[0]))

    def _refuse(self, host: str) -> None:
        self.attempts.append(host)
        raise RealNetwork(f"A test tried to reach {host}.")


def _is_local(host: str) -> bool:
    if host in {"", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture(scope="session", autouse=True)
def _network_guard() -> Iterator[_Guard]:
    guard = _Guard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda sock, address: guard.connect(sock, address))
        patch.setattr(socket.socket, "connect_ex", lambda sock, address: guard.connect_ex(sock, address))
        patch.setattr(socket, "getaddrinfo", guard.getaddrinfo)
        # A proxy of the developer's would take loopback requests elsewhere.
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patch.delenv(name, raising=False)
            patch.delenv(name.lower(), raising=False)
        yield guard


@pytest.fixture(autouse=True)
def _no_real_network(_network_guard: _Guard) -> Iterator[None]:
    _network_guard.attempts.clear()
    yield
    assert not _network_guard.attempts, f"The test tried to reach {_network_guard.attempts}."


@pytest.fixture(scope="session", autouse=True)
def _files_read_once() -> Iterator[None]:
    with read_once():
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_real_account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What belongs into an account's configuration folder goes elsewhere, and the developer's own is not read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("account")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_retries() -> Iterator[None]:
    with stamina.set_testing(True, attempts=1):
        yield


@pytest.fixture
def retries(_no_retries: None) -> Iterator[None]:
    """Retries happen as often as configured, without waiting in between."""
    with stamina.set_testing(True, attempts=100, cap=True):
        yield


@pytest.fixture
def real_waits(_no_retries: None) -> Iterator[None]:
    """Retries happen as in production, with their waits; only for tests whose waits are milliseconds."""
    with stamina.set_testing(False):
        yield


@pytest.fixture(autouse=True)
def _retry_hooks() -> Iterator[None]:
    """An application switches stamina's hooks off for the process; the next test finds them as they were."""
    hooks = stamina.instrumentation.get_on_retry_hooks()
    yield
    stamina.instrumentation.set_on_retry_hooks(hooks)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.PostgresServer]:
    """A PostgreSQL server for all tests of this run; they are skipped where it is not installed."""
    programs = postgres.binaries()
    if programs is None:
        pytest.skip(postgres.MISSING)
    with postgres.running(programs) as server:
        yield server


@pytest.fixture(scope="session")
def _migrated(postgresql: postgres.PostgresServer) -> str:
    """The address of a PostgreSQL database with the present tables."""
    postgresql.execute("CREATE DATABASE cafi")
    url = postgresql.url("cafi")
    database = Database(url)
    migrate(database)
    database.close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, once of SQLite and once of PostgreSQL; the latter has its tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/cafi.db"
    url: str = request.getfixturevalue("_migrated")
    server: postgres.PostgresServer = request.getfixturevalue("postgresql")
    server.execute(f"TRUNCATE {', '.join(metadata.tables)} RESTART IDENTITY", "cafi")
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database without tables, once of SQLite and once of PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/cafi.db"
        return
    server: postgres.PostgresServer = request.getfixturevalue("postgresql")
    server.execute("CREATE DATABASE fresh")
    yield server.url("fresh")
    server.execute("DROP DATABASE fresh WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty database with the present tables, once of SQLite and once of PostgreSQL."""
    made = Database(database_url)
    migrate(made)
    yield made
    made.close()
