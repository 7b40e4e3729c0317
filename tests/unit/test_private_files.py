"""Files for one account alone: from the start, whole, and never through a link that somebody else has put there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.storage.keyring_file import make_inbox_key, save
from adapters.storage.lock import DatabaseLock
from adapters.storage.private_files import make_private_folder, read_by_others, write_private
from adapters.storage.seal import Keyring, Secret
from engine.exceptions import ConfigurationError
from tests.storage import ANNA, database_in, message, store_over


@pytest.fixture(autouse=True)
def _usual_rights() -> Iterator[None]:
    """Rights as most accounts give them: everybody reads."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_everything_the_bot_makes_is_its_owners_alone_from_the_start(tmp_path: Path) -> None:
    """Database, journals, lock, keys and folders are closed to other accounts under the usual umask as well."""
    folder = tmp_path / "var" / "of" / "cafi"
    make_private_folder(folder)
    lock, database = DatabaseLock(folder / "cafi.db"), database_in(folder)
    await store_over(database).take([message(ANNA)])
    save(folder / "secret.json", Keyring(current=Secret.random()))
    make_inbox_key(folder / "inbox.key")
    write_private(folder / "standing.json", "{}")
    made = {one.name for one in folder.iterdir()}
    assert {
        "cafi.db",
        "cafi.db-wal",
        "cafi.db-shm",
        "cafi.db.lock",
        "secret.json",
        "inbox.key",
        "standing.json",
    } == made
    assert {rights(one) for one in folder.iterdir()} == {0o600}
    assert {rights(one) for one in (tmp_path / "var", tmp_path / "var" / "of", folder)} == {0o700}
    assert not any(map(read_by_others, [folder, *folder.iterdir()]))
    lock.release()
    await database.aclose()


def test_a_link_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    """A link or a file that somebody else has put beside is replaced, and what the link leads to stays as it was."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs", encoding="utf-8")
    for name in ("secret.json", "secret.json.new"):
        (tmp_path / name).symlink_to(elsewhere)
    write_private(tmp_path / "secret.json", "ours")
    assert elsewhere.read_text(encoding="utf-8") == "theirs"
    assert (tmp_path / "secret.json").read_text(encoding="utf-8") == "ours"
    assert not (tmp_path / "secret.json").is_symlink() and rights(tmp_path / "secret.json") == 0o600


def test_an_open_draft_of_somebody_elses_is_not_written_into(tmp_path: Path) -> None:
    """Whoever has made the draft's file beforehand and holds it open reads nothing through it."""
    with (tmp_path / "secret.json.new").open("w+", encoding="utf-8") as theirs:
        write_private(tmp_path / "secret.json", "ours")
        theirs.seek(0)
        assert theirs.read() == ""


def test_what_is_there_keeps_its_rights(tmp_path: Path) -> None:
    """A folder and a database that an operator has opened to a group stay so; `cafi check` speaks of them."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "cafi.db").touch(0o640)
    database_in(folder).close()
    assert (rights(folder), rights(folder / "cafi.db")) == (0o755, 0o640)
    assert read_by_others(folder) and read_by_others(folder / "cafi.db") and not read_by_others(folder / "nothing")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the way of the database's folder is told with its name."""
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"cafi\.db: .*It cannot be made"):
        database_in(tmp_path / "file")
