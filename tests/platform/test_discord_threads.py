"""Question threads, replies, and who may press what: contexts belong to one person each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.models.protocol import Prompt
from rehearsal.discord_world import Intent
from tests.discord import BEGIN, NEEDED, Room, agreed, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord
from tests.team import CITED, scripted


def recorded(seen: list[Prompt]) -> Any:
    def draft(prompt: Prompt) -> dict[str, Any]:
        seen.append(prompt)
        return CITED

    return scripted({"agent": draft})


def words(prompt: Prompt) -> str:
    return " ".join(str(message) for message in prompt.messages)


async def test_a_mention_is_answered_in_a_thread_on_the_message(tmp_path: Path) -> None:
    """Somebody who mentions the bot gets a thread on their message, named by the source, with buttons that work."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            asked = room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            thread = await fake.wait_for(lambda: fake.threads(room.channel))
            assert thread[0].id == asked.id and thread[0].name == "Hearing voices"
            answer = await fake.reply_in(thread[0])
            shorter = room.anna.press(answer, "Shorter")
            await fake.reply_in(thread[0], number=2)
            assert shorter.answered_with == 6  # nothing is shown as being thought about
            where = room.anna.press(answer, "Where from?")
            assert (await fake.wait_for(lambda: where.followups))[0].ephemeral_for is room.anna
        assert not pinged(fake)


async def test_before_consent_a_mention_shows_nothing_but_a_button(tmp_path: Path) -> None:
    """The disclaimer is shown to the person alone, once they press; the question is then answered to them alone."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path):
            room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            notice = await fake.reply_in(room.channel)
            assert notice.buttons == ["Show me"] and "voices" not in notice.content
            assert not fake.threads(room.channel)
            refused = await room.ben.press(notice, "Show me").reply()
            assert "belong to the person who asked" in refused.content
            welcome = await room.anna.press(notice, "Show me").reply()
            assert welcome.ephemeral_for is room.anna
            answer = await room.anna.press(welcome, BEGIN).reply(number=2)
            assert "Voices are sounds" in answer.content and answer.ephemeral_for is room.anna


async def test_a_threads_context_is_its_askers_alone(tmp_path: Path) -> None:
    """What another member writes in a thread is answered from a context of their own, and only when they mention us."""
    seen: list[Prompt] = []
    async with FaultyDiscord() as fake:
        room = Room(fake)
        listening = {"listen": True, "channels": (room.channel.id,)}
        async with running(fake, tmp_path, recorded(seen), discord_settings=listening) as bot:
            await agreed(bot, room.anna, room.channel)
            await agreed(bot, room.ben, room.channel)
            seen.clear()
            room.anna.write(room.channel, "ALPHA: why am I so tired?")
            (thread,) = await fake.wait_for(lambda: fake.threads(room.channel))
            await fake.reply_in(thread)
            room.ben.write(thread, "BETA is my secret")
            room.anna.write(thread, "GAMMA: why am I so tired?")
            await fake.reply_in(thread, number=2)
            room.ben.write(thread, f"{fake.bot.mention} DELTA: why am I so tired?")
            await fake.reply_in(thread, number=3)
        assert len(seen) == 3
        assert "ALPHA" in words(seen[1]) and "GAMMA" in words(seen[1]) and "BETA" not in words(seen[1])
        assert "DELTA" in words(seen[2])
        assert not any(word in words(seen[2]) for word in ("ALPHA", "GAMMA", "BETA"))


async def test_what_was_asked_in_private_never_colours_a_thread(tmp_path: Path) -> None:
    """An answer to somebody alone and one in a thread come from two contexts of the same person."""
    seen: list[Prompt] = []
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, recorded(seen)) as bot:
            await agreed(bot, room.anna, room.channel)
            said = room.ben.write(room.channel, "SECRET: why am I so tired?")
            opened = await room.anna.context_menu("Ask about this message", said).opened()
            await room.anna.submit(opened).reply()
            await room.anna.slash(room.channel, "ask", question="OPENLY: why am I so tired?").reply()
            await room.anna.slash(room.channel, "ask", question="AGAIN: why am I so tired?").reply()
        assert "SECRET" in words(seen[-3])
        assert "OPENLY" in words(seen[-2]) and "SECRET" not in words(seen[-2])
        assert "AGAIN" in words(seen[-1]) and "OPENLY" not in words(seen[-1])


async def test_a_thread_begun_by_command_stays_its_askers_after_a_restart(tmp_path: Path) -> None:
    """Whose a thread is stands in its first message: buttons and follow-ups go on in the same context."""
    seen: list[Prompt] = []
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, recorded(seen)) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question="FIRST: why am I so tired?").reply()
            (thread,) = fake.threads(room.channel)
            answer = fake.bot_messages(thread)[0]
        async with running(fake, tmp_path, recorded(seen)):
            room.anna.write(thread, f"{fake.bot.mention} SECOND: why am I so tired?")
            await fake.reply_in(thread, number=2)
            assert "FIRST" in words(seen[-1])
            room.anna.press(answer, "Where from?")
            old = await fake.wait_for(lambda: [one for one in fake.ephemeral(room.anna) if "Sleep" in one.content])
            assert old
            refused = await room.ben.press(answer, "Simpler").reply()
            assert "belong to the person who asked" in refused.content


async def test_anybody_may_open_the_topics_under_somebody_elses_question(tmp_path: Path) -> None:
    """The button of a thread's first message shows each person their own topics."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            opener = fake.bot_messages(room.channel)[0]
            assert opener.content == f"{room.anna.mention} asked about: Hearing voices"
            pressed = room.ben.press(opener, opener.buttons[0])
            shown = await fake.wait_for(lambda: pressed.followups)
            assert shown[0].ephemeral_for is room.ben
        assert not pinged(fake)


@pytest.mark.parametrize("mode", ["reply", "ephemeral"])
async def test_other_ways_of_answering(tmp_path: Path, mode: str) -> None:
    """As a reply, an answer stands in the channel and names whom it is for; ephemerally, nobody else sees anything."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, discord_settings={"mode": mode}) as bot:
            await agreed(bot, room.anna, room.channel)
            asked = room.anna.slash(room.channel, "ask", question="what are the voices?")
            first = await asked.reply()
            room.anna.write(room.channel, f"{fake.bot.mention} why am I so tired?")
            await fake.reply_in(room.channel, number=2 if mode == "reply" else 1)
            shown = fake.bot_messages(room.channel)
            if mode == "reply":
                assert shown[0].content.startswith(f"For {room.anna.mention}:\nVoices are sounds")
                assert str(shown[0].id) in first.content and shown[1].reply_to is not None
                assert "Sleep often" in shown[1].content
            else:
                assert "Voices are sounds" in first.content and first.ephemeral_for is room.anna
                assert [one.buttons for one in shown] == [["Show me"]]
                answer = await room.anna.press(shown[0], "Show me").reply()
                assert "Sleep often" in answer.content and answer.ephemeral_for is room.anna
        assert not fake.threads(room.channel) and not pinged(fake)


async def test_without_the_intent_only_mentions_are_answered_and_nothing_else_is_asked_for(tmp_path: Path) -> None:
    """The privileged intent is asked for only where listening is switched on."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path):
            room.anna.write(room.channel, "what are the voices?")
            await fake.settled()
            assert not fake.bot_messages(room.channel)
        asked = Intent(fake.gateway.identifies[0]["intents"])
        assert asked == Intent.GUILDS | Intent.GUILD_MESSAGES | Intent.DIRECT_MESSAGES


async def test_forgetting_erases_every_thread_of_the_person_and_of_nobody_else(tmp_path: Path) -> None:
    """/forget in a channel erases what was kept in all question threads; consent has to be given anew."""
    seen: list[Prompt] = []
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, recorded(seen)) as bot:
            for person in (room.anna, room.ben):
                await agreed(bot, person, room.channel)
                for question in ("ONE tired?", "TWO tired?"):
                    await person.slash(room.channel, "ask", question=question).reply()
            shown = await room.anna.slash(room.channel, "forget").reply()
            assert "our conversation and your settings" in shown.content
            left = await bot.people.forget(_identity(bot, room, room.anna.id))
            assert (left.chat, left.waiting) == (0, 0)
            assert (await room.anna.slash(room.channel, "ask", question="again").reply()).buttons[0] == BEGIN
            left = await bot.people.forget(_identity(bot, room, room.ben.id))
            assert left.chat == 4  # their own, that of the first question, and two


def _identity(bot: Any, room: Room, user: int) -> Any:
    from adapters.storage.identity import ChatIdentity

    return ChatIdentity(platform="discord", chat=str(room.guild.id), user=str(user))


async def test_only_allowed_channels_are_answered_in_and_help_is_everywhere(tmp_path: Path) -> None:
    """Elsewhere a question is declined to the person alone; /crisis, and the referral a message calls for, are not."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        help_desk = fake.category(room.guild, "help")
        inside = fake.text_channel(room.guild, "inside", category=help_desk)
        async with running(fake, tmp_path, discord_settings={"channels": (help_desk.id,)}):
            declined = await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            assert (
                declined.content
                == "I do not answer questions in this channel. You can write to me in a direct message."
            )
            room.anna.write(room.channel, f"{fake.bot.mention} hello")
            assert "112" in (await room.anna.slash(room.channel, "crisis").reply()).content
            urgent = await room.anna.slash(room.channel, "ask", question="I want to kill myself tonight").reply()
            assert "112" in urgent.content and urgent.ephemeral_for is room.anna
            assert (await room.anna.slash(inside, "ask", question="hello").reply()).buttons[0] == BEGIN
            await fake.settled()
            assert not fake.bot_messages(room.channel)


def test_needed_rights_are_what_the_tests_give() -> None:
    """The rights the bot asks for are exactly those with which everything here works."""
    from adapters.discord_adapter.bot_permissions import needed_permissions

    assert {name.upper() for name in needed_permissions("thread")} == {one.name for one in NEEDED}
