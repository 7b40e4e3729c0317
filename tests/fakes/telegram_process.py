"""The fake as a process of its own, for tests in which processes die."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Self

import aiohttp

from rehearsal.telegram_world.server import TOKEN

ROOT = Path(__file__).resolve().parents[2]


class TelegramProcess:
    """Starts the fake in another process; `base_url` and `token` are for the bot, `do` is for the test.

    `record`: a file that gets each accepted call as one line of JSON.
    """

    token = TOKEN
    module = "tests.fakes.telegram_server"

    def __init__(self, record: Path) -> None:
        self.record = record

    async def __aenter__(self) -> Self:
        command = (sys.executable, "-m", self.module, "--port", "0", "--record", str(self.record))
        self._process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=os.environ | {"PYTHONUNBUFFERED": "1"}, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        self.origin = (await self._process.stdout.readline()).decode().strip()
        self.base_url = f"{self.origin}/bot"
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()
        self._process.terminate()
        await self._process.communicate()

    @property
    def pid(self) -> int:
        """Its process's number."""
        return self._process.pid

    async def do(self, deed: str, **arguments: Any) -> Any:
        """One deed or question by name, such as `do("write", person=…, text=…)`; dataclasses come back as dicts.

        Raises ValueError for what cannot be done.
        """
        async with self._session.post(f"{self.origin}/control/{deed}", json=arguments) as answer:
            body = await answer.json()
        if "error" in body:
            raise ValueError(body["error"])
        return body["result"]

    def recorded(self, method: str | None = None) -> list[dict[str, Any]]:
        """The calls in the record file so far; one that is just being written is not there yet."""
        written = self.record.read_text(encoding="utf-8") if self.record.exists() else ""
        lines = written[: written.rfind("\n") + 1].splitlines()
        return [call for line in lines if method in {None, (call := json.loads(line))["method"]}]

    async def wait_until(self, deed: str, expected: Any, *, seconds: float = 10, **arguments: Any) -> None:
        """Asks until the answer is the expected one. Raises AssertionError when it never is."""
        end = time.monotonic() + seconds
        while (last := await self.do(deed, **arguments)) != expected:
            assert time.monotonic() < end, f"{deed} still gives {last!r}."
            await asyncio.sleep(0.02)
