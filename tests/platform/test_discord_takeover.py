"""Discord on several processes over one PostgreSQL: one answers, another one waits and takes over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.discord_adapter.adapter import DiscordBot
from bots.discord import moderated_bot
from bots.settings import DiscordSettings, ModerationSettings, StorageSettings
from tests.discord import Room, agreed, ready
from tests.fakes.faulty_discord import FaultyDiscord
from tests.postgres import PostgresServer
from tests.telegram import chats_in

pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")
ASKED, ANSWER = "what are the voices?", "Voices are sounds"
DATABASE = "takeover"
_LOCKS = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted"


@asynccontextmanager
async def waiting_bot(
    fake: FaultyDiscord, folder: Path, storage: StorageSettings, name: str
) -> AsyncIterator[tuple[DiscordBot, asyncio.Task[None]]]:
    """A process's bot, which answers or waits until the end of the block."""
    chats = chats_in(
        folder,
        queue="workers",
        storage=storage,
        discord=DiscordSettings(token=fake.token),  # type: ignore[arg-type]
        moderation=ModerationSettings(file=folder / f"{name}.json"),
    )
    async with chats.application.closing:
        await chats.begin()
        bot = moderated_bot(chats)
        bot.options, bot.restart_seconds = {"guild_ready_timeout": 0.05}, (0.05,)
        task = asyncio.create_task(bot.run())
        try:
            yield bot, task
        finally:
            bot.stopping.set()
            await task


@pytest.fixture
async def storage(tmp_path: Path, postgresql: PostgresServer) -> AsyncIterator[StorageSettings]:
    """A database with tables, for the keys in the folder."""
    from bots.workers import prepare

    postgresql.execute(f"CREATE DATABASE {DATABASE}")
    found = StorageSettings(url=postgresql.url(DATABASE))
    chats = chats_in(tmp_path, queue="workers", storage=found)
    async with chats.application.closing:
        await prepare(chats)
    yield found
    postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


async def test_one_process_answers_and_the_next_takes_over_with_what_was_missed(
    tmp_path: Path, storage: StorageSettings, postgresql: PostgresServer
) -> None:
    """The second waits while the first answers; whoever loses the lock stops, the other goes on with the same chats."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with waiting_bot(fake, tmp_path, storage, "first") as (first, running):
            await ready(fake, first, running)
            await agreed(first, room.anna, room.channel)
            await room.anna.slash(room.channel, "ask", question=ASKED).reply()
            async with waiting_bot(fake, tmp_path, storage, "second") as (second, task):
                await asyncio.sleep(1.5)
                assert not second.is_ready and not task.done() and len(fake.threads(room.channel)) == 1
                for (pid,) in postgresql.execute(_LOCKS, DATABASE):
                    postgresql.execute(f"SELECT pg_terminate_backend({pid})")
                await fake.wait_for(lambda: not first.is_ready, seconds=30)
                await fake.wait_for(lambda: first.is_ready != second.is_ready, seconds=30)
                owner, other = (first, second) if first.is_ready else (second, first)
                owner.stopping.set()
                await (running if owner is first else task)
                room.anna.write(room.channel, f"{fake.bot.mention} {ASKED}")
                await fake.wait_for(lambda: other.is_ready, seconds=30)
                await fake.wait_for(lambda: len(fake.threads(room.channel)) == 2, seconds=30)
                await other.dispatch.idle()
                newest = fake.threads(room.channel)[-1]
                assert [ANSWER in one.content for one in fake.bot_messages(newest)] == [True]
