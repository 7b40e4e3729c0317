"""A PostgreSQL cluster of the laboratory's own: how it is killed, frozen, started anew, and what its disk holds."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.postgres import PostgresServer, binaries, running

MISSING = "PostgreSQL is not installed. On Debian or Ubuntu: sudo apt install postgresql"
CONNECTIONS = 120
DISK_MEGABYTES = 192
BACK_SECONDS = 60.0
_START_AGAIN = 0.3


@dataclass(kw_only=True)
class Cluster:
    """A running server. `wanted`: whether it is started when it has ended. `disk`: a small one of its own, if it has one."""

    server: PostgresServer
    disk: Path | None = None
    wanted: bool = True

    @property
    def processes(self) -> list[int]:
        """The server's processes, the first of them first; none where it has ended."""
        try:
            first = int((self.server.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        except (OSError, ValueError, IndexError):
            return []
        found = [first, *_children(first)]
        return found if Path(f"/proc/{first}").exists() else []

    @property
    def there(self) -> bool:
        """Whether its first process has not ended."""
        return bool(self.processes) or not self.wanted

    def send(self, number: signal.Signals) -> None:
        """A signal to all its processes."""
        for pid in self.processes:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def keep(self) -> None:
        """Start it if it has ended and should not have; a server whose processes are still ending is tried again later."""
        if not self.there:
            with suppress(AssertionError):
                self.server.start()

    def back(self) -> float:
        """Wait until it answers; when that was, by the clock that never jumps."""
        end = time.monotonic() + BACK_SECONDS
        while time.monotonic() < end:
            self.keep()
            with suppress(psycopg.Error):
                self.server.execute("SELECT 1")
                return time.monotonic()
            time.sleep(_START_AGAIN)
        raise RuntimeError("PostgreSQL does not come back.")


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            if int(path.read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
    return found


@contextmanager
def cluster(*, own_disk: bool = False) -> Iterator[Cluster]:
    """A new cluster until the block ends; with `own_disk` on a small file system in memory, which needs root."""
    programs = binaries()
    if programs is None:
        raise RuntimeError(MISSING)
    with ExitStack() as stack:
        disk = stack.enter_context(_disk()) if own_disk else None
        server = stack.enter_context(running(programs, disk, max_connections=str(CONNECTIONS)))
        made = Cluster(server=server, disk=disk)
        try:
            yield made
        finally:
            made.wanted = False
            made.send(signal.SIGCONT)


@contextmanager
def _disk() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="cafi-disk-"))
    mount = ("mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m,mode=0755", "tmpfs", str(place))
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(("umount", "-l", str(place)), check=False, capture_output=True)
        place.rmdir()
