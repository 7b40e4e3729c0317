"""One program a database: a lock that the operating system lets go of when the program ends, however it ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from engine.exceptions import ConfigurationError


class DatabaseLock:
    """Held from its making to `release`; raises ConfigurationError where another program holds it.

    `file` is the database's; the lock is an empty file beside it, which stays.
    """

    def __init__(self, file: Path) -> None:
        self.path = file.with_name(file.name + ".lock")
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigurationError(
                f"The file cannot be made: {error.strerror}.", file=self.path, remedy="Check the folder's rights."
            ) from error
        try:
            _lock(self._handle)
        except OSError as error:
            os.close(self._handle)
            raise ConfigurationError(
                "Another CAFI runs with this database.",
                file=file,
                key="storage.url",
                remedy="Stop it first, or give this one a database of its own.",
            ) from error

    def release(self) -> None:
        """Let go of it."""
        with suppress(OSError):
            os.close(self._handle)


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
