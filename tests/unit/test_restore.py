"""What a restore puts in place, and that it changes nothing when it cannot."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import insert

from adapters.storage import tables
from adapters.storage.backup_file import BackupContent, BackupHead, write_backup
from adapters.storage.backup_keys import BackupKeys
from adapters.storage.database import Database
from adapters.storage.snapshot import snapshot
from bots.chats import Chats
from bots.restore import Restore
from bots.settings import CafiSettings, SessionSettings, StorageSettings
from engine.exceptions import CafiError, ConfigurationError
from tests.storage import ANNA, BERT, message, state
from tests.team import shipped
from tests.unit.test_migrating import REVISIONS, at_revision

PASSPHRASE = "a passphrase of the tests"


def settings_in(folder: Path) -> CafiSettings:
    return CafiSettings(
        storage=StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
        sessions=SessionSettings(secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key"),
    )


def chats_in(folder: Path) -> Chats:
    return Chats(application=shipped(settings_in(folder)), given={"feedback": None})


async def begun(folder: Path) -> Chats:
    """A first start, and one chat."""
    chats = chats_in(folder)
    async with chats.application.closing:
        await chats.begin()
        await chats.store.finish(None, ANNA, state("told before"), 0)
        await chats.store.take([message(BERT, "waits")], ("telegram", 7))
    return chats


def backed_up(folder: Path, *, hours_ago: int = 0, revision: str | None = None) -> tuple[Path, Path]:
    """A backup and its keys, at little cost, so that tests are quick."""
    found, chats = snapshot(folder / "cafi.db"), chats_in(folder)
    keys = BackupKeys.of(chats.keyring, folder / "inbox.key").to_bytes()
    made = folder.parent / "monday", folder.parent / "monday.keys"
    for file, content, plain in zip(made, BackupContent, (found.content, keys), strict=True):
        hour = int(time.time() // 3600) - hours_ago
        head = BackupHead(content=content, revision=revision or found.revision, hour=hour, cost=10)
        with file.open("wb") as target:
            write_backup(target, head, plain, PASSPHRASE)
    return made


async def restored(folder: Path, file: Path, keys: Path | None = None, **options: bool) -> str:
    """What was said of a restore."""
    wanted = Restore(settings=settings_in(folder), file=file, keys=keys, **options)
    with wanted.alone():
        wanted.check()
        return "\n".join(await wanted.make(PASSPHRASE))


def on_disk(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in sorted(folder.iterdir()) if not one.name.endswith(".lock")}


async def loaded(folder: Path) -> tuple[str, list[str]]:
    """What ANNA's chat holds, and who waits, after the usual start."""
    chats = chats_in(folder)
    async with chats.application.closing:
        await chats.begin()
        kept = (await chats.store.load(ANNA)).state
        waiting, _ = await chats.store.unanswered("telegram")
    return "" if kept is None else kept.conversation.danger.held, [one.incoming.text for one in waiting]


async def test_a_restore_elsewhere_is_the_state_of_the_backup(tmp_path: Path) -> None:
    """With its keys, a backup opens in another place: the chat and the waiting message, private, with nothing left over."""
    await begun(tmp_path / "here")
    file, keys = backed_up(tmp_path / "here")
    there = tmp_path / "there"
    said = await restored(there, file, keys)
    assert "is what it was on" in said and "has erased since then is back, until 24 hours" in said
    assert {one.name: one.stat().st_mode & 0o777 for one in there.iterdir()} == dict.fromkeys(
        ("cafi.db", "cafi.db.lock", "secret.json", "inbox.key"), 0o600
    )
    assert await loaded(there) == ("told before", ["waits"])


async def test_without_its_keys_a_restored_chat_does_not_open_and_that_is_said(tmp_path: Path) -> None:
    """The database alone is told to lie under a secret that is not here, and the start refuses it by name."""
    await begun(tmp_path / "here")
    file, _ = backed_up(tmp_path / "here")
    assert "under a secret that is not here" in await restored(tmp_path / "there", file)
    with pytest.raises(ConfigurationError, match="under another secret"):
        await loaded(tmp_path / "there")


async def test_what_is_there_is_given_up_on_request_only_and_moved_aside(tmp_path: Path) -> None:
    """Database and keys stay without --force; with it they lie beside under other names, and still open each other."""
    here, there = tmp_path / "here", tmp_path / "there"
    await begun(here)
    file, keys = backed_up(here)
    await begun(there)
    chats = chats_in(there)
    async with chats.application.closing:
        await chats.store.finish(None, ANNA, state("told there"), 1)
    before = on_disk(there)
    with pytest.raises(ConfigurationError, match=r"cafi\.db: Something is there already\. Add --force"):
        await restored(there, file, keys)
    assert on_disk(there) == before
    said = await restored(there, file, keys, force=True)
    assert await loaded(there) == ("told before", ["waits"])
    aside = tmp_path / "aside"
    aside.mkdir()
    for name in ("cafi.db", "secret.json", "inbox.key"):
        assert f"{there}/{name}.replaced now" in said
        (there / f"{name}.replaced").rename(aside / name)
    assert await loaded(aside) == ("told there", ["waits"])


async def test_other_keys_are_not_given_up_by_the_way(tmp_path: Path) -> None:
    """Where only a secret is left, another one does not take its place without --force, and no database is put there."""
    here, there = tmp_path / "here", tmp_path / "there"
    await begun(here)
    file, keys = backed_up(here)
    await begun(there)
    (there / "cafi.db").unlink()
    with pytest.raises(ConfigurationError, match=r"secret\.json: Something is there already"):
        await restored(there, file, keys)
    assert not (there / "cafi.db").exists()


async def test_what_was_erased_since_comes_back_only_while_it_would_have_lasted(tmp_path: Path) -> None:
    """A chat that was erased after the backup is back, not when it has expired since, and not with --without-chats."""
    here = tmp_path / "here"
    chats = await begun(here)
    file, _ = backed_up(here)
    chats = chats_in(here)
    async with chats.application.closing:
        assert (await chats.store.erase(ANNA)).chat == 1
    assert await loaded(here) == ("", ["waits"])
    await restored(here, file, force=True)
    assert await loaded(here) == ("told before", ["waits"])
    assert "No chat was restored" in await restored(here, file, force=True, chats=False)
    assert await loaded(here) == ("", [])
    database = Database(f"sqlite:///{here}/cafi.db")
    old = int(time.time() // 3600) - 25
    row = insert(tables.chats).values(chat=b"0", version=1, seen_hour=old, sealed=b"0")
    database.run_now(lambda one: one.execute(row))
    database.close()
    file, _ = backed_up(here)
    assert "were left out: 1." in await restored(here, file, force=True)


async def test_what_waited_in_an_old_backup_is_not_answered_again(tmp_path: Path) -> None:
    """Two hours on, neither messages nor numbers of last updates come back, and that is said; the chat does."""
    await begun(tmp_path / "here")
    file, keys = backed_up(tmp_path / "here", hours_ago=2)
    said = await restored(tmp_path / "there", file, keys)
    assert "What waited for an answer then is not taken up again." in said
    assert await loaded(tmp_path / "there") == ("told before", [])
    chats = chats_in(tmp_path / "there")
    async with chats.application.closing:
        assert await chats.store.cursor("telegram") is None


async def test_a_backup_of_an_earlier_version_has_the_tables_of_this_one(tmp_path: Path) -> None:
    """A backup of the first revision is brought to the present before it is put in place."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    database = Database(f"sqlite:///{here}/cafi.db")
    at_revision(database, REVISIONS[-1])
    database.close()
    file, _ = backed_up(here)
    await restored(there, file)
    assert snapshot(there / "cafi.db").revision == REVISIONS[0]


async def test_a_backup_of_a_newer_version_is_refused_before_the_passphrase(tmp_path: Path) -> None:
    """A revision that this CAFI does not know is named as a newer one's, and nothing is written."""
    await begun(tmp_path / "here")
    file, _ = backed_up(tmp_path / "here", revision="9999")
    with pytest.raises(ConfigurationError, match="monday: It was made by a newer CAFI"):
        await restored(tmp_path / "there", file)
    assert on_disk(tmp_path / "there") == {}


async def test_a_journal_that_a_killed_program_has_left_goes_along(tmp_path: Path) -> None:
    """What lay only in the journal of a database that is moved aside is there in what it is now, and not in the new one."""
    here = tmp_path / "here"
    await begun(here)
    file, _ = backed_up(here)
    killed, content = tmp_path / "killed", on_disk(here)
    database = Database(f"sqlite:///{here}/cafi.db")
    database.run_now(lambda one: one.exec_driver_sql("INSERT INTO outbox (event) VALUES ('in the journal')"))
    content = on_disk(here)
    database.close()
    killed.mkdir()
    for name, held in content.items():
        (killed / name).write_bytes(held)
    assert b"in the journal" in content["cafi.db-wal"] and b"in the journal" not in content["cafi.db"]
    (killed / "cafi.db.restored-wal").write_bytes(content["cafi.db-wal"])
    await restored(killed, file, force=True)
    assert b"in the journal" in (killed / "cafi.db.replaced").read_bytes()
    assert await loaded(killed) == ("told before", ["waits"])
    assert b"in the journal" not in (killed / "cafi.db").read_bytes()
    (killed / "cafi.db").unlink()
    (killed / "cafi.db-wal").write_bytes(content["cafi.db-wal"])
    await restored(killed, file)
    assert await loaded(killed) == ("told before", ["waits"])
    assert b"in the journal" not in (killed / "cafi.db").read_bytes()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with its backup."""
    folder = tmp_path_factory.mktemp("stored")
    asyncio.run(begun(folder / "here"))
    backed_up(folder / "here")
    return folder


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_changed_backup_changes_nothing(stored: Path, data: st.DataObject) -> None:
    """Whatever was cut off or changed in database or keys, one sentence comes of it, and the files are as they were."""
    files = [stored / "monday", stored / "monday.keys"]
    before, contents = on_disk(stored / "here"), [one.read_bytes() for one in files]
    index = data.draw(st.integers(0, 1), "file")
    content = contents[index]
    place = data.draw(st.integers(0, 80) | st.integers(0, len(content) - 1), "place") % len(content)
    if data.draw(st.booleans(), "cut"):
        changed = content[:place]
    else:
        changed = (
            content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 255), "mask")]) + content[place + 1 :]
        )
    files[index].write_bytes(changed)
    try:
        with pytest.raises(CafiError) as caught:
            asyncio.run(restored(stored / "here", *files, force=True))
    finally:
        files[index].write_bytes(content)
    assert "monday" in str(caught.value) and str(caught.value).count("\n") == 0
    assert on_disk(stored / "here") == before
