"""The whole program, killed at any moment: nothing lost, nothing unjudged, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rig import mock_server
from benchmarks.scripts import SOURCE_REPLY
from tests.fakes.telegram_process import TelegramProcess
from tests.killing import Cafi, on_disk, until

KILLS = int(os.environ.get("CAFI_KILLS", "3"))
PEOPLE = 40
QUESTIONS = ("I cannot sleep, what helps?", "Why am I so tired?", "How much sleep do I need?")
HOUSE = (
    "Hello. I am",
    "Thank you. What would you like to know?",
    "I am still working on it",
    "Which country are you in?",
    "I was away for a while.",
)
BEGIN = "I understand, begin"


def telegram_at(fake: TelegramProcess) -> dict[str, str]:
    return {"CAFI_TELEGRAM__TOKEN": fake.token, "CAFI_TELEGRAM__BASE_URL": fake.base_url}


async def begun(fake: TelegramProcess, count: int) -> list[dict[str, Any]]:
    """People who have read the disclaimer and agreed."""
    people = [await fake.do("person", first_name=f"P{number}") for number in range(count)]
    for person in people:
        await fake.do("start", person=person["id"])
    for person in people:
        replies = await shown(fake, person, 1)
        welcome = next(one for one in replies if one["buttons"])
        await fake.do("press", person=person["id"], message=welcome["id"], button=BEGIN)
    for person in people:
        await shown(fake, person, 2)
    return people


async def shown(fake: TelegramProcess, person: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """What the bot has written to somebody, once it is so much."""
    for _ in range(600):
        replies = await fake.do("replies", chat=person["id"])
        if len(replies) >= count:
            return replies
        await asyncio.sleep(0.05)
    raise AssertionError("The bot does not answer.")


def answers(fake: TelegramProcess) -> Counter[int]:
    """How often each numbered question was answered."""
    texts = [call["params"]["text"] for call in fake.recorded("sendMessage")]
    return Counter(int(found[1]) for text in texts if (found := re.search(r"\((\d+)\)$", text)))


@pytest.mark.timeout(60 + 20 * KILLS)
async def test_killed_at_random_moments_it_loses_nothing_and_shows_nothing_unjudged(tmp_path: Path) -> None:
    """Every message is answered with what its judges accepted, at most one a kill twice, and none stays on disk."""
    dice = random.Random(KILLS)
    with mock_server() as model:
        model.reset(script="accepted", base_ms=80.0, per_token_ms=0.0)
        async with TelegramProcess(tmp_path / "calls.jsonl") as fake:
            environment = telegram_at(fake) | {"CAFI_AGENTS": "llm", "CAFI_MODELS__BASE_URL": model.base_url}
            cafi = Cafi(tmp_path, environment)
            await cafi.start()
            people = await begun(fake, PEOPLE)
            numbers = iter(range(1000, 9999))
            waiting = [(person["id"], question) for question in QUESTIONS for person in people]
            a_kill = len(waiting) // (KILLS + 1)
            sent: dict[int, int] = {}

            async def write(some: list[tuple[int, str]]) -> None:
                for person, question in some:
                    number = next(numbers)
                    sent[number] = person
                    await fake.do("write", person=person, text=f"{question} ({number})")
                    await asyncio.sleep(dice.uniform(0, 0.06))

            for _ in range(KILLS):
                done = sum(answers(fake).values())
                async with asyncio.TaskGroup() as beside:
                    beside.create_task(write([waiting.pop(0) for _ in range(a_kill)]))
                    await until(lambda done=done: sum(answers(fake).values()) > done)
                    await asyncio.sleep(dice.uniform(0, 0.4))
                    assert await cafi.end(signal.SIGKILL) == -signal.SIGKILL
                    await cafi.start()
            await write(waiting)
            await until(lambda: set(answers(fake)) == set(sent) and not cafi.rows("inbox"))
            assert await cafi.end(signal.SIGTERM) == 0
            texts = [call["params"]["text"] for call in fake.recorded("sendMessage")]
            order = {person["id"]: [] for person in people}
            for call in fake.recorded("sendMessage"):
                if found := re.search(r"\((\d+)\)$", call["params"]["text"]):
                    assert sent[int(found[1])] == call["params"]["chat_id"]
                    order[call["params"]["chat_id"]].append(int(found[1]))
    assert sum(answers(fake).values()) - len(sent) <= KILLS
    assert all(SOURCE_REPLY in text or text.startswith(HOUSE) for text in texts)
    assert all(list(dict.fromkeys(shown)) == sorted(set(shown)) for shown in order.values())
    assert cafi.rows("chats") == PEOPLE
    assert not any(question.encode() in on_disk(tmp_path) for question in QUESTIONS)
    assert "Traceback" not in cafi.log.read_text(encoding="utf-8")


async def test_a_signal_ends_it_within_seconds_and_a_second_one_never_begins(tmp_path: Path) -> None:
    """A second program on the same database is refused by name; the first ends calmly in the middle of its turns."""
    with mock_server() as model:
        model.reset(script="accepted", base_ms=600.0, per_token_ms=0.0)
        async with TelegramProcess(tmp_path / "calls.jsonl") as fake:
            environment = telegram_at(fake) | {"CAFI_AGENTS": "llm", "CAFI_MODELS__BASE_URL": model.base_url}
            cafi = Cafi(tmp_path, environment)
            await cafi.start()
            (person,) = await begun(fake, 1)
            second = Cafi(tmp_path, environment)
            second.log = tmp_path / "second.txt"
            assert await asyncio.wait_for((await second.start()).wait(), 30) == 1
            said = second.log.read_text(encoding="utf-8")
            assert "Another CAFI runs with this database. Stop it first" in said and "Traceback" not in said
            for number in range(3):
                await fake.do("write", person=person["id"], text=f"{QUESTIONS[number]} ({number})")
            await until(lambda: bool(model.calls()) or cafi.rows("inbox") == 3)
            begun_at = asyncio.get_running_loop().time()
            assert await cafi.end(signal.SIGTERM) == 0
            assert asyncio.get_running_loop().time() - begun_at < 15
            await cafi.start()
            await until(lambda: set(answers(fake)) == {0, 1, 2})
            assert await cafi.end(signal.SIGTERM) == 0
            assert set(answers(fake).values()) == {1}
