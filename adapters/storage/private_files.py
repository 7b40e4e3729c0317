"""Files that only the account CAFI runs under may read: made so from the start, and found where they are not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
"""Only a file that is not there yet, and no link to one: in a shared folder somebody else may have put it there."""


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for this account alone; raises OSError.

    What is there stays as it is: an operator may have widened it on purpose.
    """
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def make_private_file(file: Path) -> None:
    """Make an empty file for this account alone where there is none yet; raises OSError."""
    try:
        os.close(os.open(file, _NEW, PRIVATE_FILE))
    except FileExistsError:
        return


def write_private(file: Path, text: str) -> None:
    """Write a file for this account alone, whole or not at all, and make its folder; raises OSError."""
    make_private_folder(file.parent)
    with private_draft(file) as draft:
        draft.write(text.encode())


@contextmanager
def private_draft(file: Path) -> Iterator[BinaryIO]:
    """What is written here stands in `file` afterwards, for this account alone; nothing does after an error.

    Raises OSError.
    """
    beside = file.with_name(file.name + ".new")
    beside.unlink(missing_ok=True)  # left by a process that was ended here, or put here by somebody else
    try:
        with os.fdopen(os.open(beside, _NEW, PRIVATE_FILE), "wb") as draft:
            yield draft
            draft.flush()
            os.fsync(draft.fileno())
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def sync_file(file: Path) -> None:
    """Have on the disk what another library has written into a file; raises OSError."""
    handle = os.open(file, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_by_others(path: Path) -> bool:
    """Whether accounts other than the owner's may read or write a file or folder; False for one that is not there."""
    if os.name == "nt":  # rights are not told by these bits there
        return False
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False


def sync_folder(folder: Path) -> None:
    """A new name is on the disk only with its folder; raises OSError."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
