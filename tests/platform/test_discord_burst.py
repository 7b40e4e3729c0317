"""Many people at once on Discord: all are acknowledged in time, all are answered, and nobody gets another's answer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from adapters.delivery.store import ChatStore, Kept
from adapters.storage.identity import ChatIdentity
from benchmarks.discord_burst import Burst, rush
from tests.discord import Room, agreed, running
from tests.fakes.faulty_discord import FaultyDiscord
from tests.platform.test_discord_crisis import URGENT

CALLBACK = "/interactions/*/*/callback"


async def test_a_hundred_questions_at_once_are_acknowledged_and_answered_and_not_mixed_up(tmp_path: Path) -> None:
    """None is shown as failed; each answer carries its own question's token, in its own asker's thread."""
    told = await rush(tmp_path, Burst(people=20, questions=100, turn_seconds=0.2))
    assert (told.answered, told.mixed_up, told.failed) == (100, 0, 0)


@dataclass(frozen=True, kw_only=True)
class NotingStore(ChatStore):
    """The store; `loads` are the moments at which chats were read."""

    loads: list[float] = field(default_factory=list)

    async def load(self, identity: ChatIdentity) -> Kept:
        self.loads.append(self.now())
        return await super().load(identity)


async def test_no_turn_begins_while_an_acknowledgement_is_outstanding(tmp_path: Path) -> None:
    """Where one acknowledgement takes long, nobody's chat is even read from disk before Discord has all of them."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            for person in (room.anna, room.ben):
                await agreed(bot, person, room.channel)
            noting = NotingStore(**{one.name: getattr(bot.store, one.name) for one in fields(ChatStore)})
            bot.dispatch.store = noting
            fake.fail("POST", CALLBACK, delay=0.3, status=0)
            asked = [one.slash(room.channel, "ask", question="what are voices?") for one in (room.anna, room.ben)]
            for one in asked:
                await one.reply(10)
            acknowledged = [one.acknowledged_at or 0.0 for one in asked]
            assert max(acknowledged) - min(acknowledged) > 0.1
            assert noting.loads and min(noting.loads) >= max(acknowledged)


async def test_in_a_rush_help_is_ephemeral_and_there_before_any_answer(tmp_path: Path) -> None:
    """Among many questions, whoever is in danger sees the crisis referral first and alone, and no thread is theirs."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            for person in (room.anna, room.ben):
                await agreed(bot, person, room.channel)
            before = len(fake.world.calls)
            in_danger = room.anna.slash(room.channel, "ask", question=URGENT)
            others = [room.ben.slash(room.channel, "ask", question="what are voices?") for _ in range(4)]
            help_shown = await in_danger.reply(10)
            assert help_shown.ephemeral_for is room.anna and "112" in help_shown.content
            for one in others:
                await one.reply(10)
            assert all(room.anna.mention not in one.content for one in fake.bot_messages(room.channel))
            paths = [one.path for one in fake.world.calls[before:] if not one.path.endswith("/callback")]
            assert in_danger.token in paths[0] and len(fake.threads(room.channel)) == 4


async def test_an_acknowledgement_asks_for_nothing_back(tmp_path: Path) -> None:
    """Discord is not asked to describe the message that says "thinking": nobody reads it, and in a rush it costs time."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path):
            asked = await room.anna.slash(room.channel, "ask", question="hello").acknowledged()
            (call,) = fake.calls("POST", CALLBACK)
            assert call.body == {"type": 5, "data": {"flags": 64}} and not call.query and call.answer is None
            await asked.reply()
