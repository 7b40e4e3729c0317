"""`cafi backup` and `cafi restore` as operators use them: beside a running bot, by hand and by a timer."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from adapters.storage.backup_file import BackupContent, BackupHead, write_backup
from adapters.storage.lock import DatabaseLock
from bots.cli import app
from bots.cli.backup import VARIABLE
from tests.chromium import free_port
from tests.fakes.telegram_process import ROOT
from tests.killing import Cafi, served
from tests.postgres import PASSWORD, PostgresServer
from tests.storage import ANNA, database_in, state, store_over
from tests.web import Browser

RUNNER = CliRunner()
PASSPHRASE = "elf graue Esel im Regen"
QUESTION = "I cannot sleep, what helps?"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for everything that is stored, and no settings of the developer's."""
    for name in [name for name in os.environ if name.startswith("CAFI_")]:
        monkeypatch.delenv(name)
    (tmp_path / "cafi.yaml").write_text(
        f"storage: {{url: 'sqlite:///{tmp_path}/var/cafi.db'}}\n"
        f"sessions: {{secret_file: {tmp_path}/secret.json, inbox_key_file: {tmp_path}/var/inbox.key}}\n",
        encoding="utf-8",
    )
    return tmp_path


def cafi(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> Result:
    return RUNNER.invoke(app, [*words, "--config", str(folder / "cafi.yaml")], env=environment)


async def lived_in(folder: Path) -> None:
    database = database_in(folder / "var")
    await store_over(database).finish(None, ANNA, state("words"), 0)
    await database.aclose()


def on_disk(folder: Path) -> dict[str, bytes]:
    """Every file but locks, which hold nothing."""
    files = (one for one in sorted(folder.rglob("*")) if one.is_file() and one.suffix != ".lock")
    return {str(one.relative_to(folder)): one.read_bytes() for one in files}


async def begun(*words: str | Path, environment: Mapping[str, str], terminal: int = -1) -> Process:
    """The real command, as a process of its own."""
    command = (sys.executable, "-c", "from bots.cli import app; app()", *map(str, words))
    rest = {name: value for name, value in os.environ.items() if not name.startswith("CAFI_")}
    stdin = PIPE if terminal < 0 else terminal
    return await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=rest | environment, stdin=stdin, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )


async def finished(process: Process) -> str:
    """What it has said, when it has ended well; neither its command line nor its words hold the passphrase."""
    assert process.pid and PASSPHRASE.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()  # noqa: ASYNC240
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    said = output.decode()
    assert process.returncode == 0 and PASSPHRASE not in said, said
    return said


@pytest.fixture(params=["sqlite", "postgresql"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of two empty databases."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/here/cafi.db", f"sqlite:///{tmp_path}/there/cafi.db"
        return
    server: PostgresServer = request.getfixturevalue("postgresql")
    for name in ("here", "there"):
        server.execute(f"CREATE DATABASE {name}")
    yield server.url("here"), server.url("there")
    for name in ("here", "there"):
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.timeout(180)
async def test_a_chat_goes_on_from_a_backup_that_was_made_beside_the_running_bot(
    tmp_path: Path, urls: tuple[str, str]
) -> None:
    """Backed up while people write, and restored in another place, the page shows the conversation to the same cookie; the
    two files and what the commands say hold nothing of it, and no key, in clear."""
    port = free_port()
    address, web = f"http://127.0.0.1:{port}", {"CAFI_WEB__ENABLED": "true", "CAFI_WEB__PORT": str(port)}
    here, there = tmp_path / "here", tmp_path / "there"
    for one in (here, there):
        one.mkdir()
    word = tmp_path / "passphrase"
    word.write_text(PASSPHRASE + "\n", encoding="utf-8")
    files = tmp_path / "monday", tmp_path / "monday.keys"
    first = Cafi(here, {**web, "CAFI_STORAGE__URL": urls[0]})
    await first.start()
    await served(address)
    async with aclosing(first), Browser(address) as anna, Browser(address) as bert:
        await anna.begin()
        await bert.begin()
        await anna.ask(QUESTION)
        writing = asyncio.create_task(bert.ask("What are voices?"))
        making = await begun(
            "backup", files[0], "--keys", files[1], "--passphrase-file", word, environment=first.environment
        )
        said = await finished(making)
        await writing
        assert await first.end(signal.SIGTERM) == 0
        second = Cafi(there, {**web, "CAFI_STORAGE__URL": urls[1]})
        secret = (here / "secret.json").read_bytes()
        making = await begun(
            "restore", files[0], "--keys", files[1], environment=second.environment | {VARIABLE: PASSPHRASE}
        )
        said += await finished(making)
        assert (there / "secret.json").read_bytes() == secret
        await second.start()
        async with aclosing(second):
            await served(address)
            await anna.get("/chat")
            assert QUESTION in anna.words and any('class="entry answer"' in one for one in anna.entries)
            assert await second.end(signal.SIGTERM) == 0
    held = b"".join(one.read_bytes() for one in files) + said.encode()
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in files)
    keys = secret.decode().split('"')[3], *anna.client.cookies.values()
    for clear in (QUESTION, "sleep", "voices", "SQLite format", PASSPHRASE, *keys):
        assert clear and clear.encode() not in held, clear
    assert bytes.fromhex(keys[0]) not in held


async def test_a_passphrase_is_asked_for_twice_at_a_terminal(folder: Path) -> None:
    """Typed alike twice it is taken, and shown nowhere; typed otherwise it is asked for again."""
    await lived_in(folder)
    ours, theirs = pty.openpty()
    asked = await begun("backup", folder / "monday", "--config", folder / "cafi.yaml", environment={}, terminal=theirs)
    os.close(theirs)
    assert asked.stdout is not None
    for prompt, typed in (
        (b"Passphrase: ", PASSPHRASE),
        (b"confirmation: ", "another one"),
        (b"Passphrase: ", PASSPHRASE),
        (b"confirmation: ", PASSPHRASE),
    ):
        assert PASSPHRASE.encode() not in await asyncio.wait_for(asked.stdout.readuntil(prompt), 60)
        os.write(ours, typed.encode() + b"\n")
    assert "without any key" in await finished(asked)
    os.close(ours)
    assert PASSPHRASE.encode() not in (folder / "monday").read_bytes()


@pytest.mark.parametrize(
    ("words", "passphrase", "told"),
    [
        (("backup", "nowhere/monday"), PASSPHRASE, "nowhere/monday: Its folder is not there."),
        (("backup", "cafi.yaml"), PASSPHRASE, "cafi.yaml: It is there already. Name another one, or add --force."),
        (("backup", "var/cafi.db", "--force"), PASSPHRASE, "var/cafi.db: CAFI itself uses that file."),
        (("backup", "secret.json", "--force"), PASSPHRASE, "secret.json: CAFI itself uses that file."),
        (("backup", "monday", "--keys", "monday"), PASSPHRASE, "monday: Database and keys need a file each."),
        (("backup", "monday", "--keys", "keys"), PASSPHRASE, "secret.json: There is no secret yet."),
        (("backup", "monday"), "too short", f"{VARIABLE}: It is shorter than 12 characters."),
        (
            ("backup", "monday"),
            "",
            f"There is no passphrase, and no terminal to ask at. Use --passphrase-file or {VARIABLE}.",
        ),
        (("restore", "sunday"), PASSPHRASE, "sunday: It cannot be read or written: No such file or directory."),
        (("restore", "cafi.yaml"), PASSPHRASE, "cafi.yaml: It is no backup of CAFI's."),
        (("restore", "saturday"), PASSPHRASE, "var/cafi.db: Something is there already. Add --force"),
        (("restore", "saturday", "--force"), "another passphrase", "saturday: The passphrase does not open it."),
        (
            ("restore", "saturday", "--force", "--keys", "saturday"),
            PASSPHRASE,
            "saturday: It holds a database and no keys.",
        ),
    ],
)
async def test_what_cannot_be_done_is_told_in_one_line_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], passphrase: str, told: str
) -> None:
    """Each refusal names the file and the remedy, on one line of standard error, exit 1, and no file is made or changed."""
    await lived_in(folder)
    monkeypatch.chdir(folder)
    with (folder / "saturday").open("wb") as target:
        head = BackupHead(content=BackupContent.DATABASE, revision="0001", hour=497_000, cost=10)
        write_backup(target, head, b"words", PASSPHRASE)
    before = on_disk(folder)
    done = await asyncio.to_thread(cafi, folder, *words, environment={VARIABLE: passphrase})
    assert done.exit_code == 1 and done.stdout == ""
    assert told in done.stderr and done.stderr.count("\n") == 1
    assert on_disk(folder) == before


def test_a_restore_waits_for_nobody_who_runs(folder: Path) -> None:
    """While another program holds the database, restoring ends with its name and the remedy, whatever the file."""
    (folder / "var").mkdir()
    lock = DatabaseLock(folder / "var" / "cafi.db")
    done = cafi(folder, "restore", "sunday", environment={VARIABLE: PASSPHRASE})
    lock.release()
    assert done.exit_code == 1 and "cafi.db: storage.url: Another CAFI runs with this database. Stop it" in done.stderr


async def test_of_a_server_the_password_is_told_nowhere(folder: Path, postgresql: PostgresServer) -> None:
    """Of PostgreSQL both commands name server and database; where the account is refused, in one line without the password."""
    postgresql.execute("CREATE DATABASE told")
    url = postgresql.network_url("told")
    environment = {"CAFI_STORAGE__URL": url, VARIABLE: PASSPHRASE}
    empty = await asyncio.to_thread(cafi, folder, "backup", str(folder / "monday"), environment=environment)
    assert "/told: storage.url: Nothing is stored there yet." in empty.stderr
    for words in (("migrate",), ("backup", str(folder / "monday")), ("restore", str(folder / "monday"))):
        done = await asyncio.to_thread(cafi, folder, *words, environment=environment)
        assert done.exit_code == 0 and PASSWORD not in done.output, done.output
    assert "postgresql://127.0.0.1" in done.stdout and "/told is what it was on" in done.stdout
    wrong = {**environment, "CAFI_STORAGE__URL": postgresql.network_url("told", password="hidden")}
    for command in ("backup", "restore"):
        done = await asyncio.to_thread(cafi, folder, command, str(folder / "tuesday"), environment=wrong)
        assert done.exit_code == 1 and "The server does not take the password." in done.stderr
        assert "hidden" not in done.output and done.stderr.count("\n") == 1
    postgresql.execute("DROP DATABASE told WITH (FORCE)")
