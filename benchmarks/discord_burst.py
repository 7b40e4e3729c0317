"""Many members of a Discord community ask at the same moment: `python -m benchmarks.discord_burst`.

The real library against the stand-in for Discord in the same process, the real database on disk, a model that takes its
time. Each question carries a token that the model repeats: an answer with another's token has been mixed up.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bots.chats import Chats
from bots.compose import Application
from bots.discord import discord_bot
from bots.rehearsing.discord_world import Channel, DiscordServer, Interaction, Message, Permission, Person
from bots.settings import CafiSettings, DiscordSettings, SessionSettings, StorageSettings
from engine.models.protocol import Prompt
from engine.models.scripted import Answer, ScriptedModel

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
    """What came of it. Seconds are the stand-in's clock; `failed` were shown as failed interactions."""

    acknowledged: int
    answered: int
    mixed_up: int
    failed: int
    slowest_acknowledgement: float
    last_answer_after: float


def _answer(prompt: Prompt) -> Answer:
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


async def rush(folder: Path, burst: Burst) -> Told:
    """Let them all ask at once, and wait until all are answered."""
    async with DiscordServer() as fake:
        people = [fake.person(f"member {number}") for number in range(burst.people)]
        guild = fake.guild("Support", members=people, bot_permissions=RIGHTS)
        channel = fake.text_channel(guild, "support-info")
        application = Application(
            settings=_settings(fake, folder), model=ScriptedModel(_answer, latency=burst.turn_seconds / CALLS)
        )
        chats = Chats(application=application)
        async with application.closing:
            await chats.begin()
            bot = discord_bot(chats)
            bot.options = {"guild_ready_timeout": 0.05}
            running = asyncio.create_task(bot.run())
            try:
                await fake.wait_for(lambda: bot.is_ready, seconds=30)
                await asyncio.gather(*(_agree(person, channel) for person in people))
                await bot.dispatch.idle()
                return await _asked(fake, people, channel, burst)
            finally:
                bot.stopping.set()
                with suppress(asyncio.CancelledError):
                    await running


def _settings(fake: DiscordServer, folder: Path) -> CafiSettings:
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
        discord=DiscordSettings.model_validate({"token": fake.token}),
    ).model_copy(update={"knowledge_base": knowledge})


async def _agree(person: Person, channel: Channel) -> None:
    welcome = await person.slash(channel, "ask", question="hello").reply(30)
    await person.press(welcome, welcome.buttons[0]).reply(30, number=2)


async def _asked(fake: DiscordServer, people: Sequence[Person], channel: Channel, burst: Burst) -> Told:
    began = time.monotonic()
    asked: dict[str, Interaction] = {}
    for number in range(burst.questions):
        token, person = f"token {number}", people[number % len(people)]
        asked[token] = person.slash(channel, "ask", question=f"{token}: why am I so tired?")

    # Looked at now and then only: looking costs the same processor that is being measured.
    while time.monotonic() - began < 60 and not all(one.replies for one in asked.values()):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.25)
    await fake.settled()
    ended = time.monotonic() - began
    answers = {token: _answers(fake, one) for token, one in asked.items()}
    times = [one.seconds for one in asked.values() if one.seconds is not None]
    return Told(
        acknowledged=sum(seconds < 1 for seconds in times),
        answered=sum(bool(found) for found in answers.values()),
        mixed_up=sum(TOKEN.findall(one.content) != [token] for token, found in answers.items() for one in found),
        failed=sum(one.failed for one in asked.values()),
        slowest_acknowledgement=round(max(times, default=0.0), 3),
        last_answer_after=round(ended, 1),
    )


def _answers(fake: DiscordServer, asked: Interaction) -> list[Message]:
    """The answers in the thread that the person was told of; only their own name stands above it."""
    for message in asked.replies:
        for thread in fake.threads(asked.channel):
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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        burst = Burst(people=options.people, questions=options.questions, turn_seconds=options.turn_seconds)
        print(json.dumps(asdict(asyncio.run(rush(Path(folder), burst))), indent=2))


if __name__ == "__main__":
    main()
