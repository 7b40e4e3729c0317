"""`cafi secret …` and a start with a secret that is lost, wrong or cut off."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

import pytest
from typer.testing import CliRunner, Result

from adapters.storage.keyring_file import from_texts, load, save
from adapters.storage.seal import Keyring, Secret
from bots.chats import Chats
from bots.cli import app
from bots.compose import Application
from bots.settings import CafiSettings, StorageSettings
from tests.storage import ANNA, database_in, state, store_over

RUNNER = CliRunner()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the commands read, and no settings of the developer's."""
    for name in [name for name in os.environ if name.startswith("CAFI_")]:
        monkeypatch.delenv(name)
    (tmp_path / "cafi.yaml").write_text(
        f"storage: {{url: 'sqlite:///{tmp_path}/cafi.db'}}\n"
        f"sessions: {{secret_file: {tmp_path}/secret.json, inbox_key_file: {tmp_path}/inbox.key}}\n",
        encoding="utf-8",
    )
    return tmp_path


def secret(folder: Path, *words: str, environment: Mapping[str, str] | None = None, said: str = "") -> Result:
    return RUNNER.invoke(app, ["secret", *words, "--config", str(folder / "cafi.yaml")], env=environment, input=said)


def written(folder: Path, keyring: Keyring, text: str = "words") -> None:
    """A chat as the bot leaves it."""

    async def work() -> None:
        database = database_in(folder)
        store = store_over(database, keyring)
        await store.finish(None, ANNA, state(text), (await store.load(ANNA)).version)
        await database.aclose()

    asyncio.run(work())


def begun(folder: Path) -> Result:
    """`cafi run` as far as it gets with an address where nothing listens; only refusals end it."""
    environment = {"CAFI_TELEGRAM__TOKEN": "1:a", "CAFI_TELEGRAM__BASE_URL": "http://127.0.0.1:9/bot"}
    return RUNNER.invoke(app, ["run", "--agents", "builtin", "--config", str(folder / "cafi.yaml")], env=environment)


@pytest.mark.parametrize("words", [("show",), ("show", "--json")])
def test_where_there_is_no_secret_yet_none_is_made_up(folder: Path, words: tuple[str, ...]) -> None:
    """Without a secret file, show names the file and what makes it, exits 1 and leaves nothing behind."""
    before = sorted(folder.iterdir())
    done = secret(folder, *words)
    assert done.exit_code == 1 and done.stdout == ""
    assert f"{folder}/secret.json: There is no secret yet. `cafi run` makes one." in done.stderr
    assert "Traceback" not in done.output
    assert sorted(folder.iterdir()) == before


def test_a_secret_is_exchanged_without_losing_a_chat(folder: Path) -> None:
    """Rotate, write, prune: the chat goes on, the former secret is dropped when nothing lies under it, not before."""
    old = Keyring(current=Secret.random())
    save(folder / "secret.json", old)
    written(folder, old)
    done = secret(folder, "rotate")
    assert done.exit_code == 0 and "Start CAFI" in done.output
    keyring = load(folder / "secret.json")
    assert keyring.former == (old.current,) and keyring.current != old.current
    assert "0." in secret(folder, "prune").output
    rows = json.loads(secret(folder, "show", "--json").stdout)
    assert [(one["id"], one["current"], one["chats"]) for one in rows] == [
        (keyring.current.id.hex(), True, 0),
        (old.current.id.hex(), False, 1),
    ]
    written(folder, keyring)
    assert "1." in secret(folder, "prune").output
    assert load(folder / "secret.json") == Keyring(current=keyring.current)
    assert keyring.current.value.hex() not in secret(folder, "show").output


def test_a_secret_of_the_environment_is_not_changed_but_told_how(folder: Path) -> None:
    """Rotation prints what to set, and these settings read what lies under the former secret."""
    old = token_hex(32)
    done = secret(folder, "rotate", environment={"CAFI_SESSIONS__SECRET": old})
    assert done.exit_code == 0 and old not in done.output
    new = done.output.split("CAFI_SESSIONS__SECRET=")[1].split()[0]
    written(folder, from_texts(old))
    environment = {"CAFI_SESSIONS__SECRET": new, "CAFI_SESSIONS__FORMER_SECRETS": json.dumps([old])}
    rows = json.loads(secret(folder, "show", "--json", environment=environment).stdout)
    assert [(one["given"], one["chats"]) for one in rows] == [(True, 0), (True, 1)]
    assert not (folder / "secret.json").exists()


def test_a_lost_secret_is_refused_and_what_it_sealed_goes_only_on_request(folder: Path) -> None:
    """Without its secret file the bot does not start and makes no new one; erase-lost asks, erases, and it may begin."""
    old = Keyring(current=Secret.random())
    save(folder / "secret.json", old)

    async def opened() -> None:
        from adapters.storage.vault import Vault

        database = database_in(folder)
        await Vault(database=database, keyring=old).open()
        await database.aclose()

    asyncio.run(opened())
    written(folder, old)
    (folder / "secret.json").unlink()
    done = begun(folder)
    assert done.exit_code == 1
    assert "another secret" in done.output and "cafi secret erase-lost" in done.output
    assert "Traceback" not in done.output
    assert not (folder / "secret.json").exists()
    assert secret(folder, "erase-lost", said="n\n").exit_code == 1
    done = secret(folder, "erase-lost", "--yes")
    assert done.exit_code == 0 and "Conversations erased: 1." in done.output
    save(folder / "secret.json", old)
    written(folder, old)
    assert "Conversations erased: 0." in secret(folder, "erase-lost", "--yes").output


@pytest.mark.parametrize("content", ["", '{"current": "00', '{"current": "00", "former": []}'])
def test_a_cut_off_secret_file_stops_the_start_with_one_clear_message(folder: Path, content: str) -> None:
    """A secret file that is cut off is named with its remedy on one line, exit 1, and stays as it is."""
    (folder / "secret.json").write_text(content, encoding="ascii")
    for done in (begun(folder), secret(folder, "rotate"), secret(folder, "show")):
        assert done.exit_code == 1
        assert "secret.json: " in done.output and "safe copy" in done.output and "Traceback" not in done.output
    assert (folder / "secret.json").read_text(encoding="ascii") == content


def test_a_damaged_database_stops_the_start_with_one_clear_message(folder: Path) -> None:
    """A database with bytes overwritten is named with its remedy before anybody is served."""
    written(folder, Keyring(current=Secret.random()), "long " * 20_000)
    file = folder / "cafi.db"
    with file.open("r+b") as content:
        content.seek(8192)
        content.write(os.urandom(file.stat().st_size - 8192))
    done = begun(folder)
    assert done.exit_code == 1
    assert "cafi.db: The database is damaged. Stop CAFI" in done.output and "Traceback" not in done.output


# --- Where the secret lies --------------------------------------------------------------------------------------------


def checked(folder: Path) -> list[dict[str, str]]:
    """The warnings of `cafi check` about files of this folder, or about the secret."""
    done = RUNNER.invoke(app, ["check", "--json", "--config", str(folder / "cafi.yaml")])
    found = [
        one for one in json.loads(done.stdout) if one["key"] == "sessions.secret_file" or "accounts" in one["problem"]
    ]
    assert all(one["level"] == "warning" for one in found)
    return found


@pytest.fixture
def plain(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which CAFI is started with hardly any settings."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "account"))
    (folder / "cafi.yaml").write_text("log_level: INFO\n", encoding="utf-8")
    return folder


def test_a_new_secret_lies_apart_from_the_database_one_for_each(plain: Path) -> None:
    """The first start makes it in the account's configuration folder, and another database has a file of its own."""
    for url in ("sqlite:///var/cafi.db", "sqlite:///other/cafi.db"):
        settings = CafiSettings(storage=StorageSettings(url=url))

        async def begin(settings: CafiSettings = settings) -> None:
            chats = Chats(application=Application(settings=settings))
            async with chats.application.closing:
                await chats.begin()

        asyncio.run(begin())
    made = list((plain / "account" / "cafi").iterdir())
    assert len(made) == 2 and all(one.suffix == ".json" and one.stat().st_mode & 0o777 == 0o600 for one in made)
    assert sorted(one.name for one in (plain / "var").iterdir()) == ["cafi.db", "cafi.db.lock", "inbox.key"]
    assert checked(plain) == []


def test_a_secret_beside_the_database_goes_on_and_is_moved_on_request(plain: Path) -> None:
    """A secret of an earlier version is read where it is, `cafi check` says so, and `cafi secret move` moves it."""
    old = Keyring(current=Secret.random(), former=(Secret.random(),))
    save(plain / "var" / "secret.json", old)
    written(plain / "var", old)
    (warning,) = checked(plain)
    assert "both" in warning["problem"] and warning["remedy"].endswith("cafi secret move")
    assert json.loads(secret(plain, "show", "--json").stdout)[0]["chats"] == 1
    done = secret(plain, "move")
    assert done.exit_code == 0 and "cafi secret rotate" in done.output
    assert not (plain / "var" / "secret.json").exists() and checked(plain) == []
    assert json.loads(secret(plain, "show", "--json").stdout)[0]["chats"] == 1
    (moved,) = (plain / "account" / "cafi").iterdir()
    assert load(moved) == old
    assert secret(plain, "move").exit_code == 1


def test_a_secret_that_the_settings_name_is_not_moved(folder: Path) -> None:
    """Where the settings say where the secret is, moving it names the setting, and the check warns all the same."""
    save(folder / "secret.json", Keyring(current=Secret.random()))
    written(folder, load(folder / "secret.json"))
    done = secret(folder, "move")
    assert done.exit_code == 1 and "sessions.secret_file" in done.output and (folder / "secret.json").exists()
    assert [one["remedy"] for one in checked(folder)] == ["Stop CAFI, move the file and change the setting."]


def test_rights_that_let_others_read_are_found(plain: Path) -> None:
    """`cafi check` names each file and folder that other accounts may read, with the command that closes it."""
    written(plain / "var", Keyring(current=Secret.random()))
    assert checked(plain) == []
    for name in ("var", "var/cafi.db"):
        (plain / name).chmod(0o755)
    assert [one["remedy"] for one in checked(plain)] == ["chmod go-rwx var", "chmod go-rwx var/cafi.db"]
