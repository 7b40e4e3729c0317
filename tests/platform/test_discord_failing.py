"""What goes wrong on Discord: rights, limits, connections, restarts, things that are deleted."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.exceptions import ConfigurationError
from rehearsal.discord_world import Permission
from tests.discord import Room, agreed, pinged, ready, running
from tests.fakes.faulty_discord import FaultyDiscord

ASKED = "what are the voices?"


async def test_a_missing_right_is_named_to_moderators_and_the_answer_arrives_all_the_same(tmp_path: Path) -> None:
    """The moderators' channel is told which right is missing where, once; the asker gets the answer ephemerally."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, discord_settings={"moderators_channel": room.mods.id}) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.allow(room.channel, fake.bot, deny=Permission.CREATE_PUBLIC_THREADS | Permission.ATTACH_FILES)
            await fake.settled()
            for _ in range(2):
                answer = await room.anna.slash(room.channel, "ask", question=ASKED).reply()
                assert "Voices are sounds" in answer.content and answer.ephemeral_for is room.anna
                await bot.dispatch.idle()
            (told,) = fake.bot_messages(room.mods)
            assert room.channel.mention in told.content
            assert "Attach Files, Create Public Threads" in told.content and "Send Messages" not in told.content


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429, "retry_after": 0.05},
        {"status": 429, "retry_after": 0.05, "everywhere": True},
        {"status": 500},
        {"drop": True},
    ],
)
async def test_limits_and_failures_are_waited_out(tmp_path: Path, fault: dict[str, Any]) -> None:
    """An answer that Discord did not take the first time is sent again, and shown once."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.fail("POST", "/channels/*/messages", times=2, **fault)
            fake.fail("POST", "/webhooks/*/*", times=1, **fault)
            await room.anna.slash(room.channel, "ask", question=ASKED).reply(seconds=10)
            (thread,) = fake.threads(room.channel)
            await fake.reply_in(thread, seconds=10)
            await bot.dispatch.idle()
            assert len(fake.bot_messages(thread)) == 1
            assert "112" in (await room.anna.slash(room.channel, "crisis").reply(seconds=10)).content


async def test_what_was_asked_while_a_connection_was_broken_is_answered(tmp_path: Path) -> None:
    """A dropped connection is resumed, a lost session begun anew; both answer what came meanwhile, once."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.gateway.drop()
            room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
            await fake.wait_for(lambda: len(fake.threads(room.channel)) == 1)
            fake.gateway.reconnect()
            room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
            await fake.wait_for(lambda: len(fake.threads(room.channel)) == 2)
            assert len(fake.gateway.resumes) == 2
            fake.gateway.invalidate()
            await fake.wait_for(lambda: len(fake.gateway.identifies) == 2)
            room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
            await fake.wait_for(lambda: len(fake.threads(room.channel)) == 3)
            await bot.dispatch.idle()
            assert [len(fake.bot_messages(one)) for one in fake.threads(room.channel)] == [1, 1, 1]


async def test_two_shards_are_served_by_one_bot(tmp_path: Path) -> None:
    """Where Discord asks for two shards, guilds of both are answered, and direct messages too."""
    async with FaultyDiscord(shards=2) as fake:
        anna = fake.person("anna")
        from tests.discord import NEEDED

        guilds = [fake.guild(f"g{at}", members=[anna], shard=at, bot_permissions=NEEDED) for at in (0, 1)]
        channels = [fake.text_channel(one, "talk") for one in guilds]
        async with running(fake, tmp_path) as bot:
            for channel in channels:
                await agreed(bot, anna, channel)
                await anna.slash(channel, "ask", question=ASKED).reply()
            assert all(fake.threads(channel) for channel in channels)
            anna.write(anna, ASKED)
            await fake.reply_in(anna)
        assert sorted(one["shard"] for one in fake.gateway.identifies) == [[0, 2], [1, 2]]


@pytest.mark.parametrize("event", ["MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE", "THREAD_CREATE"])
async def test_a_malformed_event_costs_one_client_and_no_question(
    tmp_path: Path, event: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The client that dies of an event is started again; the log names the kind of error and nothing of the event."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.gateway.push(event, {"id": "SECRET-1", "content": "SECRET-2", "type": "SECRET-3", "author": 7})
            await fake.wait_for(lambda: len(fake.gateway.identifies) == 2, seconds=10)
            await ready(fake, bot)
            await room.anna.slash(room.channel, "ask", question=ASKED).reply()
            assert len(fake.threads(room.channel)) == 1
    assert "SECRET" not in caplog.text and "it is started again" in caplog.text


async def test_an_interaction_of_an_unknown_form_concerns_nobody_else(tmp_path: Path) -> None:
    """An interaction that the library reads and we cannot is left out; the client lives on."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            used = room.anna.slash(room.channel, "crisis")
            await used.reply()
            strange = {
                **_as_sent(used),
                "id": str(used.id + 1),
                "data": {"id": "1", "type": 1},
            }
            fake.gateway.push("INTERACTION_CREATE", strange)
            await agreed(bot, room.anna, room.channel)
        assert len(fake.gateway.identifies) == 1


def _as_sent(interaction: Any) -> dict[str, Any]:
    from rehearsal.discord_world.people import interaction_json

    return interaction_json(interaction.user.fake.world, interaction)


async def test_questions_of_the_time_without_a_bot_are_answered_late(tmp_path: Path) -> None:
    """Mentions missed during a restart are found in the channel's history, each once, no more than allowed."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            await agreed(bot, room.ben, room.channel)
            room.ben.write(room.channel, f"{fake.bot.mention} {ASKED}")
            await fake.wait_for(lambda: fake.threads(room.channel))
            await bot.dispatch.idle()
        for _ in range(3):
            room.anna.write(room.channel, "chatter")
        missed = room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
        for _ in range(2):
            async with running(fake, tmp_path, discord_settings={"backfill": 10}) as bot:
                await bot.dispatch.idle()
                threads = fake.threads(room.channel)
                assert len(threads) == 2 and threads[-1].id == missed.id
                assert [len(fake.bot_messages(one)) for one in threads] == [1, 1]
        for _ in range(12):
            room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
        async with running(fake, tmp_path, discord_settings={"backfill": 3}) as bot:
            await bot.dispatch.idle()
            assert len(fake.threads(room.channel)) == 5


async def test_an_unanswered_question_is_answered_after_a_restart_although_its_token_is_old(tmp_path: Path) -> None:
    """The fifteen minutes of an interaction do not matter: a thread needs none, and what is private goes directly."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fake.fail("POST", "/channels/*/messages", times=100, status=500)
            await room.anna.slash(room.channel, "ask", question=ASKED).acknowledged()
            fake.fail("POST", "/webhooks/*/*", times=100, status=500)
            await room.ben.slash(room.channel, "ask", question=ASKED).acknowledged()
            await asyncio.sleep(0.2)
            bot.dispatch.aclose = _at_once(bot.dispatch)  # type: ignore[method-assign]
        fake.rest.faults.clear()
        fake.clock.advance(3600)
        async with running(fake, tmp_path) as bot:
            bot.store.__dict__["now"] = fake.clock.now
            await bot.dispatch.idle()
            (thread,) = fake.threads(room.channel)
            assert "Voices are sounds" in fake.bot_messages(thread)[0].content
            assert "I understand, begin" in (await fake.reply_in(room.ben)).buttons
        assert not pinged(fake)


async def test_what_was_acknowledged_while_the_disk_was_slow_is_kept_when_the_bot_is_stopped(tmp_path: Path) -> None:
    """A slash command that Discord has an acknowledgement of is on disk before the database is closed."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            bot.dispatch.aclose = _at_once(bot.dispatch)  # type: ignore[method-assign]
            with closing(sqlite3.connect(tmp_path / "cafi.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                await room.anna.slash(room.channel, "ask", question=ASKED).acknowledged()
                bot.stopping.set()
                await asyncio.sleep(0.3)
                other.execute("COMMIT")
        async with running(fake, tmp_path) as bot:
            await bot.dispatch.idle()
            (thread,) = fake.threads(room.channel)
            assert "Voices are sounds" in fake.bot_messages(thread)[0].content


def _at_once(dispatch: Any) -> Any:
    whole = dispatch.aclose

    async def aclose(seconds: float = 0.0) -> None:
        await whole(0.05)

    return aclose


async def test_what_was_deleted_is_not_answered_in_the_open(tmp_path: Path) -> None:
    """A question taken back gets no thread; a channel that is gone ends nothing."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            fault = fake.fail("POST", "/channels/*/messages/*/threads", times=1, status=500)
            taken_back = room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
            await fake.wait_for(lambda: fault.times == 0)
            room.anna.delete(taken_back)
            await bot.dispatch.idle()
            assert not fake.threads(room.channel) and not fake.bot_messages(room.channel)
            asked = room.anna.slash(room.channel, "ask", question=ASKED)
            fake.delete_channel(room.channel)
            assert "Voices are sounds" in (await asked.reply()).content
            other = fake.text_channel(room.guild, "other")
            await room.anna.slash(other, "ask", question=ASKED).reply()
            (thread,) = fake.threads(other)
            answer = await fake.reply_in(thread)
            pressed = room.anna.press(answer, "Shorter")
            fake.delete_channel(thread)
            await pressed.acknowledged()
            await bot.dispatch.idle()
            fake.remove_bot(room.guild)
            await fake.settled()
            room.anna.write(room.anna, ASKED)
            assert await fake.reply_in(room.anna)


async def test_a_wrong_token_and_a_missing_intent_are_named_with_their_remedy(tmp_path: Path) -> None:
    """What only the operator can mend ends the bot with the key and where to look."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        with pytest.raises(ConfigurationError) as wrong:
            async with running(fake, tmp_path, discord_settings={"token": "other.token.x"}):
                pass
        assert wrong.value.key == "discord.token"
        fake.gateway.allowed_intents = type(fake.gateway.allowed_intents)(0)
        with pytest.raises(ConfigurationError) as intent:
            async with running(
                fake, tmp_path, discord_settings={"listen": True, "channels": (room.channel.id,)}, wait=True
            ):
                pass
        assert "Message Content Intent" in str(intent.value)


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"listen": True}, "discord.listen"), ({"crisis_notes": True}, "discord.crisis_notes")],
)
async def test_settings_that_cannot_work_are_refused(tmp_path: Path, settings: dict[str, Any], key: str) -> None:
    """Listening everywhere, and notes to nowhere, are named before anything starts."""
    async with FaultyDiscord() as fake:
        with pytest.raises(ConfigurationError) as error:
            async with running(fake, tmp_path, discord_settings=settings):
                pass
        assert error.value.key == key
