"""Where the operator's secret lies: apart from the database, so that a copy of one folder does not hold both."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bots.settings import CafiSettings
from engine import ConfigurationError

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

BESIDE = Path("var") / "secret.json"
"""Where earlier versions made it, beside the database; it goes on being read there."""


def secret_file(settings: CafiSettings) -> Path:
    """The file as set; else the one apart from the database, or one that an earlier version has made beside it."""
    if settings.sessions.secret_file is not None:
        return settings.sessions.secret_file
    apart = file_apart(settings)
    return BESIDE if BESIDE.exists() and not apart.exists() else apart


def file_apart(settings: CafiSettings) -> Path:
    """The file in this account's configuration folder, one for each database; raises ConfigurationError."""
    try:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    except RuntimeError as error:  # an account without a home
        raise ConfigurationError(
            "This account has no folder for the secret.",
            key="sessions.secret_file",
            remedy="Set it to a file that is not where the database is; docs/howto/telegram.md tells of systemd.",
        ) from error
    file = database_file(settings)
    place = _place(_url(settings)) if file is None else str(file.resolve())
    name = "cafi" if file is None else file.stem
    return base / "cafi" / f"{name}-{_mark(place)}.json"


def database_file(settings: CafiSettings) -> Path | None:
    """SQLite's file; None for another database."""
    url = _url(settings)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def copied_beside(settings: CafiSettings) -> Path | None:
    """The file beside which copies of the database lie: its own, or for a server's, one that is never there and gives
    them their names, where the inbox's key is. None for a database in memory."""
    file, url = database_file(settings), _url(settings)
    if file is not None or url.get_backend_name() == "sqlite":
        return file
    return settings.sessions.inbox_key_file.with_name(f"cafi-{_mark(_place(url))}.db")


def is_beside(settings: CafiSettings) -> bool:
    """Whether the secret lies in the database's folder."""
    file, database = secret_file(settings), database_file(settings)
    return database is not None and file.exists() and file.resolve().parent == database.resolve().parent


def _mark(place: str) -> str:
    return hashlib.sha256(place.encode()).hexdigest()[:8]


def _place(url: URL) -> str:
    """A server's database by what stays the same when its account, password or parameters change."""
    from adapters.storage.postgresql import server_place

    return str(url) if url.get_backend_name() == "sqlite" else server_place(url)


def _url(settings: CafiSettings) -> URL:
    from adapters.storage.database import address  # a fifth of a second, which every command would pay

    return address(settings.storage.url)
