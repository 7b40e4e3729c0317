"""Crisis on Discord: help reaches the person, and nobody else can tell that it did."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rehearsal.discord_world import DiscordPerson, Permission
from tests.discord import Room, agreed, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord
from tests.team import scripted

URGENT = "I want to kill myself tonight"
OBLIQUE = "why am I so tired, it would be better for everybody without me"


def in_the_open(fake: FaultyDiscord, room: Room) -> list[str]:
    """Everything of the bot's that other members see."""
    return [one.content for one in fake.seen_by(room.ben, ever=True) if one.author is fake.bot]


def told(fake: FaultyDiscord, person: DiscordPerson) -> list[str]:
    """What the bot has told somebody in private."""
    return [one.content for one in (*fake.ephemeral(person), *fake.bot_messages(person))]


async def test_an_urgent_question_by_command_is_answered_to_the_person_alone(tmp_path: Path) -> None:
    """No thread, no message, not even a passing sign in the open; the contacts are shown ephemerally, before consent too."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            first = await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            assert "112" in first.content and first.ephemeral_for is room.anna
            await agreed(bot, room.ben, room.channel)
            again = await room.ben.slash(room.channel, "ask", question=URGENT).reply()
            assert "112" in again.content and "It was a question, I am safe" in again.buttons
            await bot.dispatch.idle()
            assert in_the_open(fake, room) == [one.content for one in fake.ephemeral(room.ben)]
            assert not fake.threads(room.channel) and not fake.bot_messages(room.channel)


@pytest.mark.parametrize("level", ["urgent", "concern"])
async def test_what_only_the_model_sees_stays_between_it_and_the_person(tmp_path: Path, level: str) -> None:
    """A referral after the draft, and an answer with the check question below it, are both shown to one person alone."""
    model = scripted({"urgency": {"delusional_framing": False, "level": level}})
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, model) as bot:
            await room.anna.slash(room.channel, "crisis").reply()
            welcome = await room.anna.slash(room.channel, "ask", question="why am I so tired?").reply()
            await room.anna.press(welcome, "I understand, begin").reply(number=2)
            await bot.dispatch.idle()
            shown = await room.anna.slash(room.channel, "ask", question="why am I so tired today?").reply()
            await bot.dispatch.idle()
            assert shown.ephemeral_for is room.anna and ("112" in shown.content or "May I ask you" in shown.content)
            assert not fake.threads(room.channel) and not fake.bot_messages(room.channel)


@pytest.mark.parametrize("accepts_dms", [True, False])
async def test_an_urgent_mention_gets_the_same_line_as_any_other_and_the_referral_in_private(
    tmp_path: Path, accepts_dms: bool
) -> None:
    """In the open the disclaimer and the referral look alike, word for word; the message is neither quoted nor replied to."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        room.anna.accepts_dms = accepts_dms
        async with running(fake, tmp_path) as bot:
            room.ben.write(room.channel, f"{fake.bot.mention} what are the voices?")
            usual = await fake.reply_in(room.channel)
            await agreed(bot, room.anna, room.channel)
            room.anna.write(room.channel, f"{fake.bot.mention} {URGENT}")
            notice = await fake.reply_in(room.channel, number=2)
            await bot.dispatch.idle()
            assert notice.content.replace(room.anna.mention, "") == usual.content.replace(room.ben.mention, "")
            assert notice.buttons == usual.buttons and notice.reply_to is None and "112" in notice.content
            assert bool([one for one in fake.bot_messages(room.anna) if "112" in one.content]) is accepts_dms
            referral = await room.anna.press(notice, "Show me").reply()
            assert "112" in referral.content and referral.ephemeral_for is room.anna
            assert not fake.threads(room.channel) and not pinged(fake)


async def test_somebody_who_is_safe_gets_the_answer_to_themselves(tmp_path: Path) -> None:
    """The answer that the referral stood in place of is shown where the referral was."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            referral = await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            await bot.dispatch.idle()
            answer = await room.anna.press(referral, "It was a question, I am safe").reply()
            assert answer.ephemeral_for is room.anna and not fake.bot_messages(room.channel)


async def test_moderators_are_told_only_if_the_operator_wants_it_and_everybody_can_read_what(tmp_path: Path) -> None:
    """/whocanread says what moderators are told, and no longer that nobody is told."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path / "off", discord_settings={"moderators_channel": room.mods.id}) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            await bot.dispatch.idle()
            await fake.settled()
            assert not fake.bot_messages(room.mods)
            page = (await room.anna.slash(room.channel, "whocanread").reply()).content
            assert "No moderator is told" in page and "I never tell anyone" in page
        notes = {"moderators_channel": room.mods.id, "crisis_notes": True}
        async with running(fake, tmp_path / "on", discord_settings=notes) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "crisis").reply()
            page = (await room.anna.slash(room.channel, "whocanread").reply()).content
            assert (
                "It holds no name, no channel, no moment and no message" in page and "I never tell anyone" not in page
            )
            assert not fake.bot_messages(room.mods)


async def test_moderators_learn_how_often_help_was_shown_and_never_when(tmp_path: Path) -> None:
    """A sum comes a whole round later, nothing comes for none, and the note is no answer to what somebody just wrote."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        notes = {"moderators_channel": room.mods.id, "crisis_notes": True}
        async with running(fake, tmp_path, discord_settings=notes) as bot:
            await agreed(bot, room.anna, room.channel)
            rounds: asyncio.Queue[None] = asyncio.Queue()
            bot.moderators.pause = rounds.get
            telling = asyncio.create_task(bot.moderators.run())
            for _ in range(2):
                await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            await bot.dispatch.idle()
            await fake.settled()
            assert not fake.bot_messages(room.mods)  # not at once
            rounds.put_nowait(None)
            await fake.wait_for(rounds.empty)
            await fake.settled()
            assert not fake.bot_messages(room.mods)  # nor at the end of the same round
            rounds.put_nowait(None)
            note = await fake.reply_in(room.mods)
            assert note.content == bot.languages.texts["en"].crisis_note.format(count=2)
            for _ in range(3):
                rounds.put_nowait(None)
            await fake.wait_for(rounds.empty)
            await fake.settled()
            assert len(fake.bot_messages(room.mods)) == 1
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)


async def test_without_the_right_to_write_the_referral_still_arrives(tmp_path: Path) -> None:
    """Where the bot may not write in the channel, an urgent mention is answered by direct message."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.allow(room.channel, fake.bot, deny=Permission.SEND_MESSAGES)
            await fake.settled()
            room.anna.write(room.channel, f"{fake.bot.mention} {URGENT}")
            await fake.wait_for(lambda: any("112" in text for text in told(fake, room.anna)))
            await bot.dispatch.idle()
            assert not fake.bot_messages(room.channel)


async def test_the_full_database_keeps_nobody_from_help(tmp_path: Path, monkeypatch: Any) -> None:
    """While nothing can be stored, an urgent question is still acknowledged and answered with the referral."""
    from engine.exceptions import StorageUnavailable

    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:

            async def full(*_: Any) -> None:
                raise StorageUnavailable("The disk is full.")

            monkeypatch.setattr(bot.store.database, "run", full)
            asked = room.anna.slash(room.channel, "ask", question=URGENT)
            shown = await asked.reply()
            assert "112" in shown.content and shown.ephemeral_for is room.anna
            plain = await room.ben.slash(room.channel, "ask", question="what are the voices?").reply()
            assert "I cannot take messages" in plain.content
            monkeypatch.undo()
