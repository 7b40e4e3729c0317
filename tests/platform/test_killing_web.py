"""The whole program, killed while people use the web page: they come back with the same cookie and find all that was taken."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from benchmarks.rig import mock_server
from tests.chromium import free_port
from tests.killing import Cafi, on_disk, served, until
from tests.web import Browser

KILLS = int(os.environ.get("CAFI_KILLS", "2"))
PEOPLE = 8
QUESTION = "I cannot sleep, what helps?"
_ASKED = re.compile(rf"{re.escape(QUESTION)} \((\d+)\)")


@dataclass(kw_only=True)
class Person:
    """Somebody with the page open. `sent` was acknowledged; `unsure` was on its way when nobody answered any more."""

    browser: Browser
    form: str = ""
    sent: list[int] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)

    async def begin(self) -> None:
        await self.browser.begin()
        self.form = self.browser.token

    async def write(self, number: int) -> None:
        """What the page's script does: told that the message is taken, or the text stays in its field."""
        fields = {"form": self.form, "text": f"{QUESTION} ({number})"}
        try:
            taken = await self.browser.client.post("/chat", data=fields, headers={"Accept": "application/json"})
        except httpx.TransportError:
            self.unsure.append(number)
            return
        assert taken.status_code == 202
        self.sent.append(number)

    async def look(self) -> str:
        """The conversation, as it is shown after a reload with the same cookie."""
        page = await self.browser.get("/chat")
        assert page.status_code == 200 and page.url.path == "/chat"
        return self.browser.words

    @property
    def asked(self) -> list[int]:
        """The questions on the page."""
        return [int(one) for one in _ASKED.findall(self.browser.words)]

    @property
    def answered(self) -> Counter[int]:
        """The questions whose numbers are in answers: the mock model numbers them alike."""
        answers = [one for one in self.browser.entries if 'class="entry answer"' in one]
        return Counter(int(found[1]) for one in answers if (found := re.search(r"\((\d+)\)\s*</", one)))


@asynccontextmanager
async def people_at(address: str) -> AsyncIterator[list[Person]]:
    """People who have agreed on the first page."""
    async with AsyncExitStack() as stack:
        browsers = [await stack.enter_async_context(Browser(address)) for _ in range(PEOPLE)]
        people = [Person(browser=one) for one in browsers]
        for person in people:
            await person.begin()
        yield people


@pytest.mark.timeout(60 + 20 * KILLS)
async def test_killed_in_mid_conversation_the_page_loses_nothing_it_has_taken(tmp_path: Path) -> None:
    """After each kill cookie and form still work; what was acknowledged is on the page at once and then answered once."""
    dice, port = random.Random(KILLS), free_port()
    address = f"http://127.0.0.1:{port}"
    numbers = iter(range(1000, 9999))

    async def write(person: Person, count: int) -> None:
        for _ in range(count):
            await person.write(next(numbers))
            await asyncio.sleep(dice.uniform(0, 0.2))

    with mock_server() as model:
        model.reset(script="accepted", base_ms=150.0, per_token_ms=0.0)
        web = {"CAFI_WEB__ENABLED": "true", "CAFI_WEB__PORT": str(port)}
        web["CAFI_SESSIONS__WAITING_MESSAGES"] = "50"  # a busy machine answers late, and what is refused is not taken
        cafi = Cafi(tmp_path, web | {"CAFI_AGENTS": "llm", "CAFI_MODELS__BASE_URL": model.base_url})
        await cafi.start()
        await served(address)
        async with people_at(address) as people:
            for _ in range(KILLS):
                taken = {id(person): len(person.sent) for person in people}
                async with asyncio.TaskGroup() as beside:
                    for person in people:
                        beside.create_task(write(person, 3))
                    await until(lambda taken=taken: all(len(person.sent) > taken[id(person)] for person in people))
                    await asyncio.sleep(dice.uniform(0.1, 0.6))
                    assert await cafi.end(signal.SIGKILL) == -signal.SIGKILL
                assert QUESTION.encode() not in on_disk(tmp_path)
                await cafi.start()
                await served(address)
                for person in people:
                    words = await person.look()
                    assert set(person.sent) <= set(person.asked)
                    assert person.answered.keys() == set(person.asked) or "Looking in the texts" in words
            await asyncio.gather(*(write(person, 1) for person in people))
            await until(lambda: not cafi.rows("inbox"))
            for person in people:
                await person.look()
                assert set(person.sent) <= set(person.asked) <= {*person.sent, *person.unsure}
                assert person.asked == sorted(set(person.asked)) and person.answered == Counter(person.asked)
        assert await cafi.end(signal.SIGTERM) == 0
    assert cafi.rows("chats") == PEOPLE and all(len(person.sent) > KILLS for person in people)
    assert QUESTION.encode() not in on_disk(tmp_path)
    assert "Traceback" not in cafi.log.read_text(encoding="utf-8")
