"""Feedback on Telegram, from the answer to the counts: the real library, the real questions, a real database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import select

from adapters.storage.database import Database
from adapters.storage.tables import asked as marks
from adapters.storage.tables import events, polls
from rehearsal.telegram_world import Shown, TelegramPerson
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.feedback import shipped
from tests.telegram import agreed, asked, pressed, quiet, running

EAGER = {"messages_a_minute": 1000}
QUESTION = "what are the voices?"
GERMAN = {one.text.choose("de") for one in shipped().questions}


def rows(folder: Path, table: Any) -> list[Any]:
    """What is stored, read by somebody else."""
    database = Database(f"sqlite:///{folder}/cafi.db")
    try:
        return list(database.run_now(lambda connection: connection.execute(select(table)).all()))
    finally:
        database.close()


async def polled(fake: FaultyTelegram, person: TelegramPerson) -> Shown:
    """Answers until a poll follows one."""
    for _ in range(4):
        await asked(fake, person, QUESTION)
    return (await asked(fake, person, QUESTION, replies=2))[-1]


async def test_a_vote_in_the_anonymous_poll_becomes_a_count_and_nothing_else(tmp_path: Path) -> None:
    """After five answers one anonymous poll follows; the vote is a number in a week, and the poll is forgotten."""
    async with FaultyTelegram() as fake:
        async with running(fake, tmp_path, sessions=EAGER, real_feedback=True) as bot:
            anna = fake.person("Anna")
            await agreed(fake, anna)
            poll = await polled(fake, anna)
            assert poll.kind == "poll" and poll.message["poll"]["is_anonymous"]
            fake.vote(anna, poll.id, [0])
            fake.vote(anna, poll.id, [])
            fake.vote(anna, poll.id, [1])
            await quiet(fake, bot)
        assert not fake.refusals()
    (event,) = rows(tmp_path, events)
    assert event.platform == "telegram" and event.sources == "voices" and event.count == 1
    assert event.option not in {"", None} and rows(tmp_path, polls) == []


async def test_nobody_is_asked_again_within_two_weeks(tmp_path: Path) -> None:
    """The mark that somebody was asked outlives a restart, and keeps ten more answers without a question."""
    async with FaultyTelegram() as fake:
        anna = fake.person("Anna")
        async with running(fake, tmp_path, sessions=EAGER, real_feedback=True):
            await agreed(fake, anna)
            await polled(fake, anna)
        async with running(fake, tmp_path, sessions=EAGER, real_feedback=True):
            for _ in range(10):
                (only,) = await asked(fake, anna, QUESTION)
                assert only.kind == "text"
    assert len(rows(tmp_path, marks)) == 1


async def test_a_thumb_counts_once(tmp_path: Path) -> None:
    """However often a thumb is pressed under one answer, it is one count; the thanks show for a moment only."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER, real_feedback=True) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, QUESTION)
        for _ in range(3):
            fake.press(anna, answer.id, "👍 Helpful")
        await quiet(fake, bot)
        thanks = [call.params.get("text") for call in fake.calls("answerCallbackQuery")]
        assert "Thank you. Only the count is kept." in thanks and fake.replies(anna)[-1].id == answer.id
    (event,) = rows(tmp_path, events)
    assert (event.question, event.option, event.count) == ("helpful", "yes", 1)


async def test_who_was_shown_the_referral_is_not_asked(tmp_path: Path) -> None:
    """Five calm answers after a crisis referral bring no question."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER, real_feedback=True):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await asked(fake, anna, "i am going to kill myself tonight")
        for _ in range(5):
            (only,) = await asked(fake, anna, QUESTION)
            assert only.kind == "text"


async def test_forget_takes_the_poll_and_the_mark_along(tmp_path: Path) -> None:
    """After /forget neither the shown poll nor the mark that somebody was asked is left, and the receipt says so."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER, real_feedback=True):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await polled(fake, anna)
        (receipt,) = await asked(fake, anna, "/forget")
        assert "asked you for feedback" in receipt.text and "polls that I showed you: 1" in receipt.text
    assert rows(tmp_path, polls) == rows(tmp_path, marks) == []


async def test_feedback_can_be_given_at_any_time(tmp_path: Path) -> None:
    """/feedback brings one of the questions after an answer, and says so calmly before there was one."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER, real_feedback=True):
        anna = fake.person("Anna", language="de")
        await agreed_in_german(fake, anna)
        (none,) = await asked(fake, anna, "/feedback")
        assert none.kind == "text"
        await asked(fake, anna, QUESTION)
        (poll,) = await asked(fake, anna, "/feedback")
        assert poll.kind == "poll" and poll.text in GERMAN


async def agreed_in_german(fake: FaultyTelegram, person: TelegramPerson) -> None:
    """The first button of the disclaimer agrees, in every language."""
    (welcome,) = await asked(fake, person, "/start")
    await pressed(fake, person, welcome, next(iter(welcome.buttons)))
