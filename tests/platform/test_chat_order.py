"""Many chats at once: each in order, none behind another, and what a day's spending changes for all."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bots.settings import SpendingSettings
from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedModel
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.team import ACCEPT, CALM, CHIEF_ACCEPT, CITED
from tests.telegram import agreed, running

CHATS, EACH, FLOOD = 40, 5, 60
NOTICE = "I have several messages from you"
WORKING = "I am still working on it"


def numbered(prompt: Prompt) -> Mapping[str, Any]:
    """Drafts carry the number of the question; everything is accepted."""
    if prompt.schema_name != "draft":
        return {"verdict": ACCEPT, "chief_verdict": CHIEF_ACCEPT, "urgency": CALM}[prompt.schema_name or ""]
    number = re.findall(r"question (\d+)", prompt.messages[-1].content)[-1]
    return {**CITED, "reply": f"A fixed time for going to bed can help. ({number})"}


def answers(fake: FaultyTelegram, person: Any) -> list[str]:
    """What somebody was shown after agreeing, but the line that says that an answer takes its time: a busy machine's is late."""
    return [one.text for one in fake.replies(person)[2:] if not one.text.startswith(WORKING)]


async def test_a_burst_is_answered_in_order_and_a_flood_delays_nobody(tmp_path: Path) -> None:
    """Two hundred messages of forty chats get their answers in order, whole; who floods is told once, and helped."""
    model = ScriptedModel(numbered, latency=0.05)
    async with FaultyTelegram() as fake, running(fake, tmp_path, model) as bot:
        people = [fake.person(f"P{number}") for number in range(CHATS)]
        flooder = fake.person("Flood")
        for person in (*people, flooder):
            await agreed(fake, person)
        await bot.dispatch.idle()
        for number in range(FLOOD):
            fake.write(flooder, f"what helps with sleep, question {number}")
        fake.write(flooder, "I want to kill myself")
        for number in range(EACH):
            for person in people:
                fake.write(person, f"what helps with sleep, question {number}")
        for person in people:
            await fake.wait_for(lambda person=person: len(answers(fake, person)) == EACH)
        await bot.dispatch.idle()
        for person in people:
            shown = answers(fake, person)
            assert shown == [f"A fixed time for going to bed can help. ({number})" for number in range(EACH)]
        flooded = answers(fake, flooder)
        assert sum("A fixed time" in text for text in flooded) == EACH, flooded
        assert sum(text.startswith(NOTICE) for text in flooded) == 1
        assert sum("112" in text for text in flooded) == 1 and len(flooded) <= 8, flooded


async def test_one_slow_turn_delays_no_other_chat(tmp_path: Path) -> None:
    """While one chat's model does not answer at all, another chat gets its answer, and a third its referral."""
    stuck = asyncio.Event()

    class Stuck(ScriptedModel):
        async def complete(self, prompt: Prompt, ledger: Any) -> Any:
            if "question 1" in prompt.messages[-1].content and prompt.schema_name == "draft":
                await stuck.wait()
            return await super().complete(prompt, ledger)

    async with FaultyTelegram() as fake, running(fake, tmp_path, Stuck(numbered)) as bot:
        anna, bert = fake.person("Anna"), fake.person("Bert")
        for person in (anna, bert):
            await agreed(fake, person)
        fake.write(anna, "what helps with sleep, question 1")
        fake.write(anna, "what helps with sleep, question 2")
        fake.write(bert, "what helps with sleep, question 3")
        await fake.wait_for(lambda: "(3)" in fake.replies(bert)[-1].text)
        assert len(fake.replies(anna)) == 2
        stuck.set()
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
        assert [one.text[-3:] for one in fake.replies(anna)[2:]] == ["(1)", "(2)"]
        await bot.dispatch.idle()


async def test_at_the_days_limit_the_bot_quotes_says_so_once_and_goes_back_the_next_day(tmp_path: Path) -> None:
    """Beyond the day's tokens no model is asked, people are told once, a restart changes nothing, and a new day does."""
    model = ScriptedModel(numbered)
    spending = SpendingSettings(tokens_a_day=1)
    quoting = "For today I can only quote my texts word for word."
    async with FaultyTelegram() as fake:
        anna = fake.person("Anna")

        async def asked(number: int) -> str:
            before = len(fake.replies(anna))
            about = ("what are the voices", "what helps with sleep")[number % 2]
            fake.write(anna, f"{about}, question {number}")
            await fake.wait_for(lambda: len(fake.replies(anna)) > before)
            return fake.replies(anna)[-1].text

        async with running(fake, tmp_path, model, spending=spending) as bot:
            await agreed(fake, anna)
            assert "(1)" in await asked(1)
            calls = len(model.prompts)
            assert quoting in await asked(2) and quoting not in await asked(3)
            await bot.dispatch.idle()
        async with running(fake, tmp_path, model, spending=spending) as bot:
            assert quoting not in await asked(4)
            assert len(model.prompts) == calls
            await bot.dispatch.idle()
            today = bot.chat.turns.spending.today()
            bot.chat.turns.spending.today = lambda: today + 1
            assert "(5)" in await asked(5) and len(model.prompts) > calls
            assert quoting in await asked(6)
            await bot.dispatch.idle()
