"""A PostgreSQL server of the tests' own: a cluster in a folder that goes afterwards, as an account that is not root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.chromium import free_port

MISSING = "PostgreSQL is not installed, so nothing is tested on it. On Debian or Ubuntu: sudo apt install postgresql"
_SETTINGS = {
    "fsync": "off",  # nothing here outlives the tests
    "full_page_writes": "off",
    "max_connections": "60",
    "lc_messages": "C",
    "deadlock_timeout": "20ms",
}
PASSWORD = "right-horse"


def binaries() -> Path | None:
    """Where `initdb` and `pg_ctl` are; None where they are not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = [one.parent for one in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda one: int(one.parent.name), default=None)


@dataclass(frozen=True, kw_only=True)
class PostgresServer:
    """A running server; `url` of a database is one an account without a password opens through the folder's socket."""

    folder: Path
    programs: Path
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)

    def url(self, database: str, *, user: str = "postgres") -> str:
        """The address of a database, as `storage.url` has it."""
        return f"postgresql+psycopg://{user}@/{database}?host={self.folder}&port={self.port}"

    def network_url(self, database: str, *, user: str = "postgres", password: str = PASSWORD) -> str:
        """The same through the loopback address, where a password is asked for."""
        return f"postgresql+psycopg://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """One statement as the server's owner, outside of any transaction."""
        with psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True
        ) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [f"-p {self.port}", f"-c unix_socket_directories={self.folder}", "-c listen_addresses=127.0.0.1"]
        options += [f"-c {name}={value}" for name, value in {**_SETTINGS, **self.settings}.items()]
        self._run("pg_ctl", "start", "-w", "-D", "data", "-l", "log", "-o", " ".join(options))

    def stop(self, mode: str = "immediate") -> None:
        """Stop it without further ado, as if its machine had gone; or as a `mode` of pg_ctl's says."""
        self._run("pg_ctl", "stop", "-w", "-D", "data", "-m", mode)

    def _run(self, program: str, *arguments: str) -> None:
        root: dict[str, Any] = (
            {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        )
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would be held open by the server
            stderr=subprocess.DEVNULL,
            check=False,
            **root,
        )
        assert done.returncode == 0, f"{program} ended with {done.returncode}"

    def make(self) -> None:
        """Make the cluster: through its socket everybody is let in, through the network with a password."""
        (self.folder / "password").write_text(PASSWORD)
        auth = ("--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile=password")
        if os.geteuid() == 0:
            for path in (self.folder, self.folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        self._run("initdb", "-D", "data", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync", *auth)


@contextmanager
def running(programs: Path, place: Path | None = None, **settings: str) -> Iterator[PostgresServer]:
    """A new server until the block ends. `place`: where its folder is made, `settings`: of the server, beside ours."""
    # Not in pytest's folder: when root runs the tests, the server's account cannot enter that.
    folder = Path(tempfile.mkdtemp(prefix="cafi-pg-", dir=place))
    server = PostgresServer(folder=folder, programs=programs, port=free_port(), settings=settings)
    try:
        server.make()
        server.start()
        yield server
    finally:
        with suppress(AssertionError):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
