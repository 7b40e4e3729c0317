"""People who have agreed and write numbered questions, and the record of what was shown to them."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos.tally import Said, Shown
from chaos.telegram_server import BalancedProcess

QUESTIONS = ("I cannot sleep, what helps?", "Why am I so tired?", "How much sleep do I need?")
BEGIN = "I understand, begin"
FIRST = 1000
_AGREED_SECONDS = 60.0


@dataclass(kw_only=True)
class Crowd:
    """So many people. `said`: what they have written, by number. `questions`: what they ask, one after the other.

    `first`: their first number, so that several crowds can be told apart.
    """

    telegram: BalancedProcess
    questions: Sequence[str] = QUESTIONS
    first: int = FIRST
    people: list[int] = field(default_factory=list)
    said: dict[int, Said] = field(default_factory=dict)
    _shown: list[Shown] = field(default_factory=list)
    _read: int = 0

    async def agree(self, count: int) -> None:
        """They come, read the welcome and agree."""
        people = [(await self.telegram.do("person", first_name=f"P{at}"))["id"] for at in range(count)]
        for person in people:
            await self.telegram.do("start", person=person)
        for person in people:
            welcome = next(one for one in await self._replies(person, 1) if one["buttons"])
            await self.telegram.do("press", person=person, message=welcome["id"], button=BEGIN)
        for person in people:
            await self._replies(person, 2)
        self.people += people

    async def _replies(self, person: int, count: int) -> list[dict[str, Any]]:
        end = time.monotonic() + _AGREED_SECONDS
        while True:
            replies: list[dict[str, Any]] = await self.telegram.do("replies", chat=person)
            if len(replies) >= count and any(one["buttons"] for one in replies):
                return replies
            if time.monotonic() > end:
                raise RuntimeError("Nobody welcomes people.")
            await asyncio.sleep(0.05)

    async def write(self, each: int, rate: float, dice: random.Random, people: Sequence[int] = ()) -> None:
        """Each of them, so often, in a mixed order; so many messages a second altogether."""
        line = [person for person in people or self.people for _ in range(each)]
        dice.shuffle(line)
        begun = time.monotonic()
        for at, person in enumerate(line):
            await asyncio.sleep(max(0.0, begun + at / rate - time.monotonic()))
            await self.ask(person)

    async def ask(self, person: int) -> int:
        """One question; its number."""
        number = self.first + len(self.said)
        self.said[number] = Said(chat=person, at=time.monotonic())
        await self.telegram.do(
            "write", person=person, text=f"{self.questions[number % len(self.questions)]} ({number})"
        )
        return number

    def shown(self) -> Sequence[Shown]:
        """What was shown so far, in order."""
        record = self.telegram.record
        if record.exists():
            with record.open("rb") as file:
                file.seek(self._read)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read += len(line)
                    call = json.loads(line)
                    if call["method"] == "sendMessage":
                        self._shown.append(
                            Shown(chat=call["params"]["chat_id"], at=call["at"], text=call["params"]["text"])
                        )
        return self._shown
