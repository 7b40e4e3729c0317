"""Many members of a Discord community ask at the same moment: `python -m benchmarks.discord_burst`.

The real library against the stand-in for Discord, the real database on disk, a model that takes its time. The bot has a
process of its own, as in life: what Discord does for an acknowledgement is not the bot's work. Each question carries a
token that the model repeats: an answer with another's token has been mixed up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bots.chats import Chats
from bots.compose import Application
from bots.discord import discord_bot
from bots.process import settle
from bots.settings import CafiSettings, DiscordSettings, SessionSettings, SpendingSettings, StorageSettings
from engine import Prompt, ScriptedAnswer, ScriptedModel
from rehearsal.discord_world import Channel, DiscordMessage, DiscordPerson, DiscordServer, Interaction, Permission
from rehearsal.discord_world.discord_server import redirected
from rehearsal.discord_world.rest import API

ROOT = Path(__file__).resolve().parent.parent
RIGHTS = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
)
CALLS = 2
"""Calls of a turn that wait for each other: the draft, and the judges, who are asked at the same time."""
TOKEN = re.compile(r"token \d+")
_CALM = {"delusional_framing": False, "level": "none"}
_ACCEPT = {"objections": [], "decision": "ACCEPT"}
_SOURCE = """---
id: sleep
title: Sleep
summary: [why sleep matters]
questions: [why am i so tired]
---
Sleep often changes with schizophrenia. A fixed time for going to bed can help.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """Who asks: so many people, so many questions in all, at the same moment; how long the model takes."""

    people: int = 100
    questions: int = 500
    turn_seconds: float = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What came of it. Seconds are the stand-in's clock; `failed` were shown as failed interactions.

    `acknowledged`: in less than a second. `processor`: the bot's seconds of processor time until the last of them was
    acknowledged, and until the last answer; the first is the figure to compare on a machine that others use too.
    """

    acknowledged: int
    answered: int
    mixed_up: int
    failed: int
    median_acknowledgement: float
    slowest_acknowledgement: float
    last_answer_after: float
    processor_acknowledging: float
    processor_answering: float


Spent = Callable[[], Awaitable[float]]
"""The bot's processor seconds so far."""


def _answer(prompt: Prompt) -> ScriptedAnswer:
    if prompt.schema_name != "draft":
        return _CALM if prompt.schema_name == "urgency" else _ACCEPT
    asked = TOKEN.findall(" ".join(message.content for message in prompt.messages))
    reply = f"A fixed time for going to bed can help. {asked[-1] if asked else ''}"
    return {
        "requested_sources": [],
        "citations": ["sleep"],
        "basis": "source",
        "reply": reply,
        "media": [],
        "handoff": None,
    }


async def rush(folder: Path, burst: Burst, *, apart: bool = False) -> Told:
    """Let them all ask at once, and wait until all are answered. `apart`: the bot in a process of its own."""
    async with DiscordServer() as fake:
        people = [fake.person(f"member {number}") for number in range(burst.people)]
        guild = fake.guild("Support", members=people, bot_permissions=RIGHTS)
        channel = fake.text_channel(guild, "support-info")
        bot = _beside(fake, folder, burst.turn_seconds) if apart else _here(fake.token, folder, burst.turn_seconds)
        async with bot as spent:
            await asyncio.gather(*(_agree(person, channel) for person in people))
            await fake.settled(0.5)
            return await _asked(fake, people, channel, burst, spent)


@asynccontextmanager
async def _here(token: str, folder: Path, turn_seconds: float, *, settled: bool = False) -> AsyncIterator[Spent]:
    """The bot in this process. `settled`: as `cafi run` settles its process."""
    settings = _settings(token, folder)
    application = Application(settings=settings, model=ScriptedModel(_answer, latency=turn_seconds / CALLS))
    chats = Chats(application=application)
    async with application.closing:
        await chats.begin()
        if settled:
            settle(application.engine, "en")
        bot = discord_bot(chats)
        bot.options = {"guild_ready_timeout": 0.05}
        running = asyncio.create_task(bot.run())
        try:
            while not bot.is_ready:
                await asyncio.sleep(0.05)
            yield _spent
        finally:
            bot.stopping.set()
            with suppress(asyncio.CancelledError):
                await running


async def _spent() -> float:
    return time.process_time()


@asynccontextmanager
async def _beside(fake: DiscordServer, folder: Path, turn_seconds: float) -> AsyncIterator[Spent]:
    """The bot in a process of its own, which ends with the block."""
    given = json.dumps([fake.token, f"{fake.origin}{API}", fake.gateway_url, str(folder), turn_seconds])
    command = [sys.executable, "-m", "benchmarks.discord_burst", "--bot", given]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    asked, told = process.stdin, process.stdout
    if asked is None or told is None:
        raise RuntimeError("The bot's process has no pipes.")

    async def spent() -> float:
        asked.write(b"\n")
        return float(await told.readline())

    try:
        await spent()
        yield spent
    finally:
        asked.close()
        await process.wait()


async def _bot(token: str, rest: str, gateway: str, folder: str, turn_seconds: float) -> None:
    """What runs in the bot's own process: each line that comes is answered with the processor seconds so far."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    with redirected(rest, gateway):
        async with _here(token, Path(folder), turn_seconds, settled=True):
            while await lines.readline():
                print(time.process_time(), flush=True)


def _settings(token: str, folder: Path) -> CafiSettings:
    knowledge = folder / "kb"
    knowledge.mkdir(parents=True, exist_ok=True)
    (knowledge / "sleep.md").write_text(_SOURCE, encoding="utf-8")
    return CafiSettings(
        agents="builtin",
        storage=StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
        sessions=SessionSettings(
            secret_file=folder / "secret.json",
            inbox_key_file=folder / "inbox.key",
            messages_a_minute=1000,
            waiting_messages=1000,
        ),
        spending=SpendingSettings(turns_at_once=1000),  # the bot is measured, not the bound
        discord=DiscordSettings.model_validate({"token": token}),
    ).model_copy(update={"knowledge_base": knowledge})


async def _agree(person: DiscordPerson, channel: Channel) -> None:
    welcome = await person.slash(channel, "ask", question="hello").reply(30)
    await person.press(welcome, welcome.buttons[0]).reply(30, number=2)


async def _asked(
    fake: DiscordServer, people: Sequence[DiscordPerson], channel: Channel, burst: Burst, spent: Spent
) -> Told:
    began, before = time.monotonic(), await spent()
    asked: dict[str, Interaction] = {}
    for number in range(burst.questions):
        token, person = f"token {number}", people[number % len(people)]
        asked[token] = person.slash(channel, "ask", question=f"{token}: why do I sleep so badly?")

    await _until(lambda: all(one.acknowledged_at is not None for one in asked.values()), 10, 0.02)
    acknowledging = await spent() - before
    await _until(lambda: sum(bool(fake.bot_messages(one)) for one in fake.threads(channel)) >= len(asked), 90, 0.25)
    await fake.settled()
    ended, answering = time.monotonic() - began, await spent() - before
    answers = _answers(fake, channel, asked)
    times = [one.seconds for one in asked.values() if one.seconds is not None]
    return Told(
        acknowledged=sum(seconds < 1 for seconds in times),
        answered=sum(bool(found) for found in answers.values()),
        mixed_up=sum(TOKEN.findall(one.content) != [token] for token, found in answers.items() for one in found),
        failed=sum(one.failed for one in asked.values()),
        median_acknowledgement=round(statistics.median(times or [0.0]), 3),
        slowest_acknowledgement=round(max(times, default=0.0), 3),
        last_answer_after=round(ended, 1),
        processor_acknowledging=round(acknowledging, 3),
        processor_answering=round(answering, 1),
    )


async def _until(done: Callable[[], bool], seconds: float, pause: float) -> None:
    """Look now and then only: looking costs processor time too."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        await asyncio.sleep(pause)


def _answers(
    fake: DiscordServer, channel: Channel, asked: Mapping[str, Interaction]
) -> dict[str, list[DiscordMessage]]:
    """The answers in the thread that each person was told of; only their own name stands above it."""
    threads = fake.threads(channel)
    return {token: _answered(fake, threads, one) for token, one in asked.items()}


def _answered(fake: DiscordServer, threads: Sequence[Channel], asked: Interaction) -> list[DiscordMessage]:
    for message in asked.replies:
        for thread in threads:
            opener = asked.channel.messages.get(thread.id)
            if thread.mention in message.content and opener is not None and asked.user.mention in opener.content:
                return fake.bot_messages(thread)
    return []


def main() -> None:
    """Measure with the sizes given, and print one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.discord_burst", description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--turn-seconds", type=float, default=2.0)
    parser.add_argument("--together", action="store_true", help="bot and stand-in in one process")
    parser.add_argument("--bot", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bot:
        asyncio.run(_bot(*json.loads(options.bot)))
        return
    with tempfile.TemporaryDirectory() as folder:
        burst = Burst(people=options.people, questions=options.questions, turn_seconds=options.turn_seconds)
        print(json.dumps(asdict(asyncio.run(rush(Path(folder), burst, apart=not options.together))), indent=2))


if __name__ == "__main__":
    main()
