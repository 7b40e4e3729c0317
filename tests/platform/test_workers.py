"""Many processes on one PostgreSQL: a receiver, workers beside each other, and what happens when one dies or freezes."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rig import MockServer, mock_server
from tests.fakes.telegram_process import TelegramProcess
from tests.killing import Cafi, until
from tests.platform.test_killing import QUESTIONS, answers, begun, telegram_at
from tests.postgres import PostgresServer

DATABASE = "workers"
pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")


@pytest.fixture(scope="module")
def model() -> Iterator[MockServer]:
    with mock_server() as server:
        yield server


@dataclass
class House:
    """Processes that share one database, one Telegram and one model."""

    folder: Path
    postgresql: PostgresServer
    fake: TelegramProcess
    model: MockServer
    running: list[Cafi] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)

    async def start(self, command: str, name: str) -> Cafi:
        environment = telegram_at(self.fake) | {
            "CAFI_AGENTS": "llm",
            "CAFI_MODELS__BASE_URL": self.model.base_url,
            "CAFI_STORAGE__URL": self.postgresql.url(DATABASE),
            "CAFI_QUEUE": "workers",
            "CAFI_SESSIONS__WAITING_MESSAGES": "100",
            "CAFI_SESSIONS__MESSAGES_A_MINUTE": "1000",
        }
        cafi = Cafi(self.folder, environment, command, f"{name}.txt")
        await cafi.start()
        self.running.append(cafi)
        return cafi

    def says(self, name: str, words: str) -> bool:
        log = self.folder / f"{name}.txt"
        return log.exists() and words in log.read_text(encoding="utf-8")

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.postgresql.execute(statement, DATABASE)

    def waiting(self) -> int:
        return int(self.execute("SELECT count(*) FROM inbox")[0][0])

    async def write(self, people: list[dict[str, Any]], each: int) -> None:
        """So many numbered questions of each."""
        for at in range(each):
            for person in people:
                number = 1000 + len(self.sent)
                self.sent[number] = person["id"]
                await self.fake.do("write", person=person["id"], text=f"{QUESTIONS[at % 3]} ({number})")

    async def answered(self, seconds: float = 40) -> None:
        await until(lambda: set(answers(self.fake)) == set(self.sent) and not self.waiting(), seconds)

    def in_order(self) -> bool:
        """Whether each chat's answers came in the order of its questions, the first time each."""
        shown: dict[int, list[int]] = {}
        for call in self.fake.recorded("sendMessage"):
            if found := re.search(r"\((\d+)\)$", call["params"]["text"]):
                assert self.sent[int(found[1])] == call["params"]["chat_id"]
                shown.setdefault(call["params"]["chat_id"], []).append(int(found[1]))
        return all(list(dict.fromkeys(one)) == sorted(set(one)) for one in shown.values())


@asynccontextmanager
async def house(folder: Path, postgresql: PostgresServer, model: MockServer, base_ms: float) -> AsyncIterator[House]:
    """A receiver and two workers over an empty database."""
    postgresql.execute(f"CREATE DATABASE {DATABASE}")
    model.reset(script="accepted", base_ms=base_ms, per_token_ms=0.0)
    async with TelegramProcess(folder / "calls.jsonl") as fake:
        made = House(folder, postgresql, fake, model)
        try:
            migrating = await made.start("migrate", "migrate")
            assert migrating.process is not None and await migrating.process.wait() == 0
            for command, name in (("worker", "first"), ("worker", "second"), ("run", "receiver")):
                await made.start(command, name)
            yield made
        finally:
            await asyncio.gather(*(cafi.aclose() for cafi in made.running))
            postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


async def test_two_workers_answer_everybody_once_and_in_order(
    tmp_path: Path, postgresql: PostgresServer, model: MockServer
) -> None:
    """A hundred messages of twenty chats are answered once, each chat's in order, by two workers that then end calmly."""
    async with house(tmp_path, postgresql, model, 80.0) as made:
        people = await begun(made.fake, 20)
        await made.write(people, 5)
        await made.answered()
        assert set(answers(made.fake).values()) == {1} and made.in_order()
        for cafi in made.running[1:]:
            assert await cafi.end(signal.SIGTERM) == 0
        assert made.execute("SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'answer'") == [(0,)]
