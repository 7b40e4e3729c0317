"""The whole program as a process of its own that tests kill and start again on the same files."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

from tests.fakes.telegram_process import ROOT
from tests.team import knowledge_folder


class Cafi:
    """`cafi run`, or another `command`, as a process of its own, with its files in a folder; `kb`: in place of a small one."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        command: str = "run",
        log: str = "log.txt",
        kb: Path | None = None,
    ) -> None:
        self.folder = folder
        self.command = command
        self.log = folder / log
        self.environment = {
            "CAFI_STORAGE__URL": f"sqlite:///{folder}/cafi.db",
            "CAFI_SESSIONS__SECRET_FILE": str(folder / "secret.json"),
            "CAFI_SESSIONS__INBOX_KEY_FILE": str(folder / "inbox.key"),
            "CAFI_LOG_LEVEL": "DEBUG",
            "CAFI_WEB__ENABLED": "false",  # its usual port may be somebody else's
            **environment,
        }
        rest = {name: value for name, value in os.environ.items() if not name.startswith("CAFI_")}
        self._environment = rest | self.environment
        self.kb = kb or knowledge_folder(folder / "kb")
        self.process: Process | None = None

    async def start(self) -> Process:
        command: tuple[str, ...] = (sys.executable, "-c", "from bots.cli import app; app()", self.command)
        if self.command != "migrate":
            command += ("--kb", str(self.kb))
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        return self.process

    async def aclose(self) -> None:
        """Leave nothing running, where a test has not come to its end."""
        if self.process is not None and self.process.returncode is None:
            await self.end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """A signal, without waiting for what comes of it."""
        assert self.process is not None
        self.process.send_signal(number)

    async def end(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), 30)

    def rows(self, table: str) -> int:
        with sqlite3.connect(self.folder / "cafi.db") as connection:
            found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - ours
        connection.close()
        return int(found)


async def until(predicate: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something is true."""
    for _ in range(int(seconds / 0.05)):
        if predicate():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("It does not become true.")


def on_disk(folder: Path) -> bytes:
    """Everything in the program's own files."""
    files = (path for path in folder.iterdir() if path.is_file() and path.name != "calls.jsonl")
    return b"".join(path.read_bytes() for path in files)


async def served(address: str) -> None:
    """Wait until the page answers."""
    async with httpx.AsyncClient(base_url=address) as client:
        for _ in range(1200):
            try:
                if (await client.get("/health")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)
    raise AssertionError("The page does not come.")
