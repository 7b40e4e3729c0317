"""Keys are made by the program that holds the database, and by nobody else, whatever is run beside it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from benchmarks.rig import mock_server
from bots.cli import app
from bots.paths import data_root
from tests.chromium import free_port
from tests.fakes.faulty_discord import FaultyDiscord
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.killing import Cafi, until
from tests.platform.test_killing_web import served
from tests.web import Browser

QUESTION = "I cannot sleep, what helps?"
_WORDS = {"text": "What are voices?", "question": "What are voices?", "raters": "Ada"}
"""What commands need to be told; everything else that they need is a file, which is not there."""
_MEASURING = ["eval calibrate", "eval specificity"]
"""They need nothing and take long."""
_READING_ALL = ["kb coverage", "kb lint"]
"""They look through a whole knowledge base; a small one does as well."""


def commands(group: Any, *names: str) -> Iterator[tuple[str, list[Any]]]:
    """Every command there is, and what each must be given."""
    if hasattr(group, "commands"):
        for name, one in group.commands.items():
            yield from commands(one, *names, name)
    else:
        yield " ".join(names), [one for one in group.params if one.required]


ALL = dict(commands(typer.main.get_command(app)))


def given(name: str, folder: Path) -> list[str]:
    """The words of one command's line."""
    line = name.split()
    for one in ALL[name]:
        value = _WORDS.get(one.name, str(folder / "nothing there"))
        line += [value] if one.param_type_name == "argument" else [one.opts[0], value]
    if name in _READING_ALL:
        line += ["--kb", str(data_root() / "knowledge_base" / "sleep")]
    if name in _MEASURING:
        line += ["--config", str(folder / "nothing there")]
    return line


def keys(folder: Path) -> dict[str, bytes]:
    """The files that hold keys and secrets."""
    return {one.name: one.read_bytes() for one in sorted(folder.glob("*")) if one.suffix in {".json", ".key", ".new"}}


def test_every_command_is_known_here() -> None:
    """The list of commands is the whole command line: a new command is tried by itself."""
    assert {"run", "check", "ask", "discord setup", "telegram setup", "secret show", "kb show"} <= set(ALL)


@pytest.mark.timeout(300)
async def test_no_command_touches_the_keys_of_a_running_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a running bot every command leaves its keys alone; what it takes afterwards outlives a kill and is answered."""
    # Nothing waits while they run: that is when a start makes the inbox's key anew.
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with mock_server() as model:
        model.reset(script="accepted", base_ms=600_000.0, per_token_ms=0.0)
        web = {"CAFI_WEB__ENABLED": "true", "CAFI_WEB__PORT": str(port)}
        cafi = Cafi(tmp_path, web | {"CAFI_AGENTS": "llm", "CAFI_MODELS__BASE_URL": model.base_url})
        await cafi.start()
        await served(address)
        async with aclosing(cafi), Browser(address) as anna:
            await anna.begin()
            before = keys(tmp_path)
            assert {"secret.json", "inbox.key"} <= set(before)
            async with FaultyDiscord() as discord, FaultyTelegram() as telegram:
                for name, value in (cafi.environment | _tokens(discord, telegram)).items():
                    monkeypatch.setenv(name, value)
                done = {}
                for name in ALL:
                    done[name] = await asyncio.to_thread(_invoked, given(name, tmp_path / "elsewhere"))
                    assert keys(tmp_path) == before, f"{name} has changed a key"
            for name in ("run", "restore", "secret rotate", "secret prune", "secret move", "secret erase-lost"):
                assert done[name].exit_code == 1 and "Another CAFI runs with this database" in done[name].output, name
            for name in ("discord setup", "telegram setup", "secret show", "ask", "kb show"):
                assert done[name].exit_code == 0, done[name].output
            assert not any("Traceback" in one.output for one in done.values())
            fields = {"form": anna.token, "text": QUESTION}
            taken = await anna.client.post("/chat", data=fields, headers={"Accept": "application/json"})
            assert taken.status_code == 202
            assert cafi.rows("inbox") == 1
            assert await cafi.end(signal.SIGKILL) == -signal.SIGKILL
            model.reset(base_ms=1.0)
            await cafi.start()
            await served(address)
            await until(lambda: cafi.rows("inbox") == 0)
            await anna.get("/chat")
            assert QUESTION in anna.words and any('class="entry answer"' in one for one in anna.entries)
            assert await cafi.end(signal.SIGTERM) == 0
    assert "could not be opened" not in cafi.log.read_text(encoding="utf-8")


def _tokens(discord: FaultyDiscord, telegram: FaultyTelegram) -> dict[str, str]:
    """So that the commands that look after accounts go as far as they can, and none waits for a model."""
    return {
        "CAFI_AGENTS": "builtin",
        "CAFI_DISCORD__TOKEN": discord.token,
        "CAFI_TELEGRAM__TOKEN": telegram.token,
        "CAFI_TELEGRAM__BASE_URL": telegram.base_url,
    }


def _invoked(line: list[str]) -> Result:
    return CliRunner().invoke(app, line, input="y\n")
