"""However often one chat answers a question of feedback, it is one answer, on every platform."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import func, select

from adapters.conversation.incoming import Incoming
from adapters.storage.identity import ChatIdentity
from adapters.storage.tables import events
from tests import discord, telegram
from tests.fakes.faulty_discord import FaultyDiscord
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.feedback import shipped
from tests.web import Browser, running

QUESTION = "what are the voices?"
ONCE_EACH = {one.id: 1 for one in shipped().questions}
EAGER: dict[str, Any] = {"messages_a_minute": 1000, "waiting_messages": 100}
TIMES = 20


async def answers(bot: Any) -> dict[str, int]:
    """How many answers each question has."""
    counted = select(events.c.question, func.sum(events.c["count"])).group_by(events.c.question)
    rows = await bot.store.database.run(lambda connection: connection.execute(counted).all())
    return {question: int(count) for question, count in rows}


def first_option(page: str) -> dict[str, str]:
    """The form of a structured question, filled in."""
    name = re.search(r'name="poll" value="([^"]*)"', page)
    option = re.search(r'name="option" value="([^"]+)"', page)
    assert name is not None and option is not None
    return {"poll": name[1], "option": option[1]}


async def test_twenty_answers_on_the_feedback_page_count_once_a_question(tmp_path: Path) -> None:
    """Opened and sent twenty times, the page counts each of its five questions once, then says there is nothing to ask."""
    async with running(tmp_path, real_feedback=True, sessions=EAGER) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        for at in range(TIMES):
            await anna.get("/feedback")
            if at >= len(ONCE_EACH):
                assert 'name="poll"' not in anna.main and "nothing to ask" in anna.words
                continue
            await anna.post("/feedback", **first_option(anna.main))
            assert "Only the count is kept" in anna.words
        assert await answers(bot) == ONCE_EACH


class First(Random):
    """Chance that always takes the first."""

    def choice(self, seq: Any) -> Any:
        """The first."""
        return seq[0]


async def test_one_question_on_several_pages_counts_once(tmp_path: Path) -> None:
    """Four pages with one question, opened side by side, give one answer, and one vote in the conversation another."""
    async with running(tmp_path, real_feedback=True, sessions=EAGER) as bot, Browser(bot.address) as anna:
        object.__setattr__(bot.chat.feedback, "random", First())
        await anna.begin()
        await anna.ask(QUESTION)
        forms = []
        for _ in range(4):
            await anna.get("/feedback")
            forms.append(first_option(anna.main))
        for form in forms:
            await anna.get("/look")
            await anna.post("/feedback", **form)
            assert "Only the count is kept" in anna.words
        assert await answers(bot) == {"usefulness": 1}
        await anna.get("/chat")
        for number in range(6):
            await anna.ask(("how can I sleep better?", "why do I hear things?")[number % 2])
        asked = first_option(anna.main)
        for _ in range(TIMES):
            await anna.post("/vote", **asked)
        assert await answers(bot) == {"usefulness": 1, "clarity": 1}


async def test_twenty_votes_on_telegram_count_once_a_question(tmp_path: Path) -> None:
    """/feedback twenty times brings each of the five questions once; every poll counts one vote."""
    async with FaultyTelegram() as fake, telegram.running(fake, tmp_path, sessions=EAGER, real_feedback=True) as bot:
        anna = fake.person("Anna")
        await telegram.agreed(fake, anna)
        await telegram.asked(fake, anna, QUESTION)
        for at in range(TIMES):
            (shown,) = await telegram.asked(fake, anna, "/feedback")
            assert (shown.kind == "poll") is (at < len(ONCE_EACH))
            if shown.kind == "poll":
                fake.vote(anna, shown.id, [0])
        await telegram.quiet(fake, bot)
        assert await answers(bot) == ONCE_EACH


async def test_twenty_presses_on_discord_count_once_a_question(tmp_path: Path) -> None:
    """/feedback twenty times brings each of the five questions once; every row of buttons counts one press."""
    async with FaultyDiscord() as fake:
        room = discord.Room(fake)
        async with discord.running(fake, tmp_path, sessions=EAGER) as bot:
            await discord.agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question=QUESTION).reply()
            await bot.dispatch.idle()
            for at in range(TIMES):
                shown = await room.anna.slash(room.channel, "feedback").reply()
                assert bool(shown.buttons) is (at < len(ONCE_EACH))
                await bot.dispatch.idle()
                if shown.buttons:
                    room.anna.press(shown, shown.buttons[0])
                    await fake.wait_for(lambda shown=shown: not shown.buttons)
            assert await answers(bot) == ONCE_EACH


async def test_what_is_no_answer_to_a_question_leaves_nothing(tmp_path: Path) -> None:
    """Made-up questions and options, as of a forged button, are neither counted nor remembered."""
    async with running(tmp_path, real_feedback=True, sessions=EAGER) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        anna_is = ChatIdentity(platform="web", chat=anna.client.cookies["cafi-session"])
        forged = ("", "clarity", "clarity nonsense", "nonsense easy", "nonsense " * 100)
        await bot.site.dispatch.take([Incoming(identity=anna_is, command="answer", text=one) for one in forged])
        await bot.site.dispatch.idle()
        state = (await bot.store.load(anna_is)).state
        assert state is not None and state.asked == () and await answers(bot) == {}
