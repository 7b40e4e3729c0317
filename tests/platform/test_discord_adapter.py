"""Discord: the real library against a stand-in for gateway and REST, the whole house behind it."""

from __future__ import annotations

from pathlib import Path

from tests.discord import BEGIN, Room, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord


async def test_a_question_by_command_gets_a_thread_of_its_own_after_consent(tmp_path: Path) -> None:
    """The disclaimer is for the asker alone; the next question is answered in a thread that names its source."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            asked = room.anna.slash(room.channel, "ask", question="what are the voices?")
            welcome = await asked.reply()
            assert welcome.ephemeral_for is room.anna and "a computer program (an AI)" in welcome.content
            pressed = room.anna.press(welcome, BEGIN)
            answer = await pressed.reply(number=2)
            assert answer.ephemeral_for is room.anna and "Voices are sounds" in answer.content
            assert not fake.bot_messages(room.channel)
            await bot.dispatch.idle()
            again = room.anna.slash(room.channel, "ask", question="why am I so tired?")
            told = await again.reply()
            (thread,) = fake.threads(room.channel)
            assert told.ephemeral_for is room.anna and thread.mention in told.content
            assert thread.name == "Sleep"
            assert "Sleep often changes" in fake.bot_messages(thread)[0].content
        assert not pinged(fake)
