"""Many processes on one PostgreSQL: a receiver, workers beside each other, and what happens when one dies or freezes."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rig import MockServer, mock_server
from rehearsal.telegram_world import TelegramPerson
from tests.fakes.telegram_process import TelegramProcess
from tests.killing import Cafi, until
from tests.platform.test_chat_privacy import found_in, traces
from tests.platform.test_killing import QUESTIONS, answers, begun, telegram_at
from tests.postgres import PostgresServer

KEYS = ("secret.json", "inbox.key")
DATABASE, NAMES = "workers", ("first", "second", "third")
pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")


@pytest.fixture(scope="module")
def model() -> Iterator[MockServer]:
    with mock_server() as server:
        yield server


def settings(postgresql: PostgresServer, database: str) -> dict[str, str]:
    return {"CAFI_STORAGE__URL": postgresql.url(database), "CAFI_QUEUE": "workers"}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, postgresql: PostgresServer) -> Path:
    """A folder with keys, named like the database with tables that belongs to it, both made by `cafi migrate`."""
    folder = tmp_path_factory.mktemp("prepared")
    postgresql.execute(f"CREATE DATABASE {folder.name}")

    async def migrated() -> int:
        cafi = Cafi(folder, settings(postgresql, folder.name), "migrate")
        return await (await cafi.start()).wait()

    assert asyncio.run(migrated()) == 0
    return folder


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
            **settings(self.postgresql, DATABASE),
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

    async def write(self, people: list[dict[str, Any]], each: int, questions: Sequence[str] = QUESTIONS) -> None:
        """So many numbered questions of each."""
        for at in range(each):
            for person in people:
                number = 1000 + len(self.sent)
                self.sent[number] = person["id"]
                await self.fake.do("write", person=person["id"], text=f"{questions[at % len(questions)]} ({number})")

    async def answered(self, seconds: float = 40) -> None:
        await until(lambda: set(answers(self.fake)) == set(self.sent) and not self.waiting(), seconds)

    async def settled(self) -> None:
        """Until no worker holds anything: a message's answer is shown a moment before its row and its job are gone."""
        jobs = "SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'answer'"
        await until(lambda: not self.waiting() and self.execute(jobs) == [(0,)])

    def in_order(self) -> bool:
        """Whether each chat's answers came in the order of its questions, the first time each."""
        shown: dict[int, list[int]] = {}
        for call in self.fake.recorded("sendMessage"):
            if found := re.search(r"\((\d+)\)$", call["params"]["text"]):
                assert self.sent[int(found[1])] == call["params"]["chat_id"]
                shown.setdefault(call["params"]["chat_id"], []).append(int(found[1]))
        return all(list(dict.fromkeys(one)) == sorted(set(one)) for one in shown.values())


@asynccontextmanager
async def house(
    folder: Path,
    prepared: Path,
    postgresql: PostgresServer,
    model: MockServer,
    base_ms: float,
    commands: Sequence[str] = ("worker", "worker", "run"),
) -> AsyncIterator[House]:
    """A receiver and two workers, or others, over an empty database."""
    postgresql.execute(f"CREATE DATABASE {DATABASE} TEMPLATE {prepared.name}")
    for key in KEYS:
        shutil.copy(prepared / key, folder)
    model.reset(script="accepted", base_ms=base_ms, per_token_ms=0.0)
    async with TelegramProcess(folder / "calls.jsonl") as fake:
        made = House(folder, postgresql, fake, model)
        try:
            for command, name in zip(commands, NAMES, strict=False):
                await made.start(command, name)
            yield made
        finally:
            await asyncio.gather(*(cafi.aclose() for cafi in made.running))
            postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


async def test_two_workers_answer_everybody_once_and_in_order(
    tmp_path: Path, prepared: Path, postgresql: PostgresServer, model: MockServer
) -> None:
    """A hundred messages of twenty chats are answered once, each chat's in order, by two workers that then end calmly."""
    async with house(tmp_path, prepared, postgresql, model, 80.0) as made:
        people = await begun(made.fake, 20)
        await made.write(people, 5)
        await made.answered()
        assert set(answers(made.fake).values()) == {1} and made.in_order()
        for cafi in made.running:
            assert await cafi.end(signal.SIGTERM) == 0
        assert made.execute("SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'answer'") == [(0,)]


async def test_a_killed_workers_messages_are_answered_by_the_other(
    tmp_path: Path, prepared: Path, postgresql: PostgresServer, model: MockServer
) -> None:
    """A worker is killed over its turns: nothing is lost, each chat's order holds, and one answer at most comes twice."""
    async with house(tmp_path, prepared, postgresql, model, 200.0) as made:
        people = await begun(made.fake, 20)
        await made.write(people, 3)
        holders = "SELECT count(DISTINCT worker_id) FROM procrastinate_jobs WHERE status = 'doing'"
        await until(lambda: sum(answers(made.fake).values()) > 5 and made.execute(holders) == [(2,)])
        assert await made.running[0].end(signal.SIGKILL) == -signal.SIGKILL
        assert made.waiting() > 10
        await made.answered()
        assert sum(answers(made.fake).values()) - len(made.sent) <= 1 and made.in_order()
        assert made.says("second", "its message is put back")


async def test_a_frozen_worker_that_wakes_up_late_shows_nothing(
    tmp_path: Path, prepared: Path, postgresql: PostgresServer, model: MockServer
) -> None:
    """A worker is frozen over a turn until another one has answered; when it goes on, nobody reads a second answer."""
    async with house(tmp_path, prepared, postgresql, model, 2_000.0) as made:
        people = await begun(made.fake, 1)
        await made.settled()
        first, second, _ = made.running
        second.send(signal.SIGSTOP)
        await made.write(people, 1)
        await until(lambda: made.execute("SELECT count(*) FROM inbox WHERE attempts = 1") == [(1,)])
        first.send(signal.SIGSTOP)
        second.send(signal.SIGCONT)
        await made.answered()
        shown = len(made.fake.recorded("sendMessage"))
        first.send(signal.SIGCONT)
        await until(lambda: made.says("first", "given to another worker"))
        await made.write(people, 1)
        await made.answered()
        assert set(answers(made.fake).values()) == {1}
        assert len(made.fake.recorded("sendMessage")) == shown + 1


async def test_one_receiver_asks_at_a_time_and_what_waits_names_nobody(
    tmp_path: Path, prepared: Path, postgresql: PostgresServer, model: MockServer
) -> None:
    """A second receiver waits and says so; the first is frozen, it takes over; nothing is stored twice or tells who wrote
    what."""
    async with house(tmp_path, prepared, postgresql, model, 0.0, commands=("run", "run")) as made:
        await until(lambda: any(made.says(one, "this one waits") for one in NAMES))
        first, second = made.running
        said = ["insomnia is haunting me"]
        if made.says(NAMES[0], "this one waits"):
            first, second = second, first
        people = [await made.fake.do("person", first_name="Theodora", username="theodora_p") for _ in range(2)]
        await made.write(people, 1, said)
        await until(lambda: made.waiting() == 2)
        first.send(signal.SIGSTOP)
        await until(lambda: made.says(second.log.stem, "asks for this bot's updates now"))
        await made.write(people, 1, said)
        await until(lambda: made.waiting() == 4)
        first.send(signal.SIGCONT)
        await until(lambda: made.says(first.log.stem, "this one waits"))
        await made.write(people, 1, said)
        await until(lambda: made.waiting() == 6)
        tables = ("procrastinate_jobs", "procrastinate_events", "procrastinate_workers", "inbox", "pg_stat_activity")
        held = {one: repr(made.execute(f"SELECT * FROM {one}")).encode() for one in tables}  # noqa: S608 - ours
        jobs = made.execute("SELECT args, lock FROM procrastinate_jobs WHERE task_name = 'answer'")
        rows = {row for (row,) in made.execute("SELECT id FROM inbox")}
    assert {job["row"] for job, _ in jobs} == rows and len(jobs) == 6
    assert all(
        job == {"row": job["row"], "platform": "telegram"} and re.fullmatch(r"[0-9a-f]{32}", lock) for job, lock in jobs
    )
    looked_for = traces([TelegramPerson(**one) for one in people], said)
    assert found_in(f"Theodora {said[0]}".encode(), looked_for) == ["name Theodora", "word insomnia", "word haunting"]
    assert all(found_in(content, looked_for) == [] for content in held.values())
