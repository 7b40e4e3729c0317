"""Feedback on Discord: thumbs and structured questions, seen by one person, counted and not kept with anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import select

from adapters.storage.tables import events, polls
from tests.discord import Room, agreed, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord


async def counted(bot: Any) -> list[tuple[str, str, str, int]]:
    def work(connection: Any) -> list[Any]:
        return list(
            connection.execute(select(events.c.platform, events.c.question, events.c.option, events.c.count)).all()
        )

    return [tuple(row) for row in await bot.store.database.run(work)]


async def test_a_thumb_counts_once_and_is_thanked_for_in_private(tmp_path: Path) -> None:
    """A press on a thumb in a thread shows its thanks to the asker alone; a second one is thanked for and not counted."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            (thread,) = fake.threads(room.channel)
            answer = await fake.reply_in(thread)
            for _ in range(2):
                pressed = room.anna.press(answer, "👍 Helpful")
                thanks = await fake.wait_for(lambda one=pressed: one.followups)
                assert thanks[0].content == "Thank you. Only the count is kept."
                assert thanks[0].ephemeral_for is room.anna
            await bot.dispatch.idle()
            rows = await counted(bot)
            assert [(platform, option, count) for platform, _, option, count in rows] == [("discord", rows[0][2], 1)]
            assert len(fake.bot_messages(thread)) == 1 and not pinged(fake)


async def test_a_structured_question_is_a_private_row_of_buttons_that_outlives_a_restart(tmp_path: Path) -> None:
    """/feedback asks about the last answer; one choice counts, after a restart too, and takes the buttons away."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            await bot.dispatch.idle()
            question = await room.anna.slash(room.channel, "feedback").reply()
            assert question.ephemeral_for is room.anna and len(question.buttons) >= 2 and question.poll is None
            await bot.dispatch.idle()
        async with running(fake, tmp_path) as bot:
            first = room.anna.press(question, question.buttons[0])
            await fake.wait_for(lambda: not question.buttons)
            assert first.answered_with == 7 and question.content == "Thank you. Only the count is kept."
            assert [row[3] for row in await counted(bot)] == [1]
            left = await bot.store.database.run(lambda connection: connection.execute(select(polls.c.poll)).all())
            assert not left


async def test_the_last_answers_source_is_found_from_the_channel(tmp_path: Path) -> None:
    """/source outside of a thread tells where the answer in the thread came from."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            await bot.dispatch.idle()
            shown = await room.anna.slash(room.channel, "source").reply()
            assert (
                shown.content.startswith("**My last answer comes from this text:**")
                and "Hearing voices" in shown.content
            )
