"""What moderation can do through the gate, and what it can never hold back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.discord_adapter.gate import Where
from tests.discord import Room, agreed, running
from tests.fakes.faulty_discord import FaultyDiscord
from tests.platform.test_discord_crisis import URGENT


class HoldingGate:
    """Holds every answer, lets nobody with a certain role ask, and can be paused."""

    def __init__(self) -> None:
        self.paused, self.excluded = False, 0
        self.kept: list[tuple[Incoming, Outgoing]] = []
        self.release: Any = None

    def allowed(self, where: Where, roles: frozenset[int]) -> bool:
        return self.excluded not in roles

    async def held(self, incoming: Incoming, outgoing: Outgoing) -> bool:
        self.kept.append((incoming, outgoing))
        return True

    def definitions(self) -> Sequence[Mapping[str, Any]]:
        return ()

    async def interaction(self, interaction: Any) -> bool:
        return False

    async def begin(self, client: Any, release: Any) -> None:
        self.release = release


async def test_a_held_answer_is_shown_when_it_is_released_or_honestly_not(tmp_path: Path) -> None:
    """The asker is told that a moderator looks at it; approved it goes where it would have gone, else they are told."""
    gate = HoldingGate()
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, gate=gate) as bot:
            await agreed(bot, room.anna, room.channel)
            gate.kept.clear()
            asked = room.anna.slash(room.channel, "ask", question="what are the voices?")
            said = await asked.reply()
            assert said.content.startswith("A moderator looks at my answer") and said.ephemeral_for is room.anna
            await bot.dispatch.idle()
            assert not fake.threads(room.channel) and len(gate.kept) == 1
            fake.clock.advance(3600)
            await gate.release(*gate.kept[0])
            (thread,) = fake.threads(room.channel)
            answer = fake.bot_messages(thread)[0]
            assert "Voices are sounds" in answer.content and len(gate.kept) == 1
            pressed = room.anna.press(answer, "Shorter")
            await pressed.acknowledged()
            await bot.dispatch.idle()
            await gate.release(gate.kept[1][0], None)
            assert any("No moderator could approve" in one.content for one in fake.ephemeral(room.anna))


async def test_help_and_what_is_private_are_never_held(tmp_path: Path) -> None:
    """The referral, the disclaimer and direct messages do not wait for anybody."""
    gate = HoldingGate()
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, gate=gate) as bot:
            await agreed(bot, room.anna, room.channel)
            gate.kept.clear()
            urgent = await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            assert "112" in urgent.content
            await agreed(bot, room.anna, room.anna)
            answer = await room.anna.slash(room.anna, "ask", question="what are the voices?").reply()
            assert "Voices are sounds" in answer.content and not gate.kept


async def test_while_paused_questions_wait_and_help_does_not(tmp_path: Path, monkeypatch: Any) -> None:
    """Paused, with the database down: questions are told so, an urgent one gets the referral, and /crisis answers."""
    gate = HoldingGate()
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path, gate=gate) as bot:
            await agreed(bot, room.anna, room.channel)
            gate.paused = True
            assert "112" in (await room.anna.slash(room.channel, "crisis").reply()).content
            assert "paused me" not in (await room.anna.slash(room.channel, "forget").reply()).content

            async def full(*_: Any) -> None:
                raise AssertionError("nothing is asked of the database")

            monkeypatch.setattr(bot.store.database, "run", full)
            told = await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            assert "The moderators have paused me" in told.content and told.ephemeral_for is room.anna
            urgent = await room.anna.slash(room.channel, "ask", question=URGENT).reply()
            assert "112" in urgent.content and "paused me" not in urgent.content
            monkeypatch.undo()


async def test_roles_may_be_left_out(tmp_path: Path) -> None:
    """Somebody whose role may not ask is told so, to themselves."""
    gate = HoldingGate()
    async with FaultyDiscord() as fake:
        room = Room(fake)
        gate.excluded = fake.role(room.guild, "new", members=[room.ben]).id
        async with running(fake, tmp_path, gate=gate):
            told = await room.ben.slash(room.channel, "ask", question="what are the voices?").reply()
            assert told.content.startswith("I do not answer questions in this channel")
            assert (await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()).buttons
