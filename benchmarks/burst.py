"""A thousand messages of two hundred chats at once, one chat that floods beside them: how long people wait."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adapters.telegram_adapter.adapter import TelegramBot
from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS, MockServer
from benchmarks.scripts import SCRIPTS
from bots.chats import Chats
from bots.compose import Application
from bots.process import settle
from bots.settings import CafiSettings, SessionSettings, SpendingSettings, StorageSettings, TelegramSettings
from bots.telegram import telegram
from engine import Prompt, ScriptedModel
from tests.fakes.telegram_process import TelegramProcess

CHATS, EACH, FLOOD = 200, 5, 300
TURN_SECONDS = 2.0
CALLS_A_TURN = 2
"""Draft and judges, one after the other; urgency is judged beside the draft."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Burst:
    """What came of a burst. `ends`: seconds to each chat's last answer; `firsts`: to its first."""

    firsts: Sequence[float]
    ends: Sequence[float]
    missing: int
    repeated: int
    out_of_order: int
    notices: int
    flood_answers: int
    cpu: float
    wall: float


def measure(server: MockServer | None = None) -> Section:
    """Everything waits at Telegram when the bot begins to ask; the ideal is a chat's turns one after the other."""
    rows: list[dict[str, Cell]] = []
    targets: list[Target] = []
    for flood in (0, FLOOD):
        with TemporaryDirectory() as folder:
            burst = asyncio.run(_burst(Path(folder), flood))
        rows.append(_row(burst, flood))
        name = "with a flood beside" if flood else "alone"
        over = float(rows[-1]["median over ideal %"])
        targets += [
            Target(name=f"{name}: median over the ideal, %", value=over, bound=10),
            Target(name=f"{name}: lost, repeated or out of order", value=_wrong(burst), bound=0),
        ]
    about = (
        f"{CHATS * EACH} messages of {CHATS} chats at once, turns of {TURN_SECONDS:.0f} s, Telegram's stand-in beside"
    )
    return Section(name="burst", about=about, tables={"bursts": rows}, targets=targets)


def _row(burst: Burst, flood: int) -> dict[str, Cell]:
    ideal = EACH * TURN_SECONDS
    ends = sorted(burst.ends) or [0.0]
    return {
        "flood": flood,
        "ideal s": ideal,
        "median s": statistics.median(ends),
        "p95 s": ends[int(len(ends) * 0.95) - 1],
        "last s": ends[-1],
        "median over ideal %": (statistics.median(ends) / ideal - 1) * 100,
        "median first answer s": statistics.median(burst.firsts or [0.0]),
        "missing": burst.missing,
        "repeated": burst.repeated,
        "out of order": burst.out_of_order,
        "notices to the flood": burst.notices,
        "answers to the flood": burst.flood_answers,
        "CPU ms / message": burst.cpu / (CHATS * EACH) * 1000,
        "CPU %": burst.cpu / burst.wall * 100,
    }


def _wrong(burst: Burst) -> int:
    return burst.missing + burst.repeated + burst.out_of_order


async def _burst(folder: Path, flood: int) -> Burst:
    record = folder / "calls.jsonl"
    async with TelegramProcess(record) as fake:
        async with _Running(folder, fake):
            people = [await fake.do("person", first_name=f"P{at}") for at in range(CHATS + 1)]
            await _agreed(fake, people)
        *people, flooder = people
        for number in range(max(EACH, flood)):
            for at, person in enumerate(people if number < EACH else []):
                text = f"{QUESTIONS[number % len(QUESTIONS)]} ({number * CHATS + at + 10_000})"
                await fake.do("write", person=person["id"], text=text)
            if number < flood:
                await fake.do("write", person=flooder["id"], text=f"{QUESTIONS[0]} ({number})")
        record.write_text("", encoding="utf-8")
        async with _Running(folder, fake) as bot:
            begun, cpu = time.monotonic(), time.process_time()
            await _until(partial(_taken, bot, fake))
            await bot.dispatch.idle()
            wall, cpu = time.monotonic() - begun, time.process_time() - cpu
        return _burst_of(fake, begun, [one["id"] for one in people], flooder["id"], cpu, wall)


def _burst_of(
    fake: TelegramProcess, begun: float, people: Sequence[int], flooder: int, cpu: float, wall: float
) -> Burst:
    shown: dict[int, list[tuple[float, int]]] = defaultdict(list)
    notices = 0
    for call in fake.recorded("sendMessage"):
        text, chat = call["params"]["text"], call["params"]["chat_id"]
        number = text.rpartition("(")[2].removesuffix(")")
        if number.isdecimal():
            shown[chat].append((call["at"] - begun, int(number)))
        elif chat == flooder:
            notices += 1
    counts = Counter(number for chat in people for _, number in shown[chat])
    orders = [[number for _, number in shown[chat]] for chat in people]
    return Burst(
        firsts=[shown[chat][0][0] for chat in people if shown[chat]],
        ends=[shown[chat][-1][0] for chat in people if shown[chat]],
        missing=CHATS * EACH - len(counts),
        repeated=sum(counts.values()) - len(counts),
        out_of_order=sum(order != sorted(order) for order in orders),
        notices=notices,
        flood_answers=len(shown[flooder]),
        cpu=cpu,
        wall=wall,
    )


async def _agreed(fake: TelegramProcess, people: Sequence[Mapping[str, Any]]) -> None:
    for person in people:
        await fake.do("start", person=person["id"])
    for wanted in (1, 2):
        for person in people:
            await _until(partial(_shown, fake, person, wanted))
            if wanted == 1:
                # On a busy machine a word that it takes longer may come first.
                replies = await fake.do("replies", chat=person["id"])
                welcome = next(one for one in replies if one["buttons"])
                await fake.do("press", person=person["id"], message=welcome["id"], button="consent::")


async def _shown(fake: TelegramProcess, person: Mapping[str, Any], wanted: int) -> bool:
    replies = await fake.do("replies", chat=person["id"])
    return len(replies) >= wanted and any(one["buttons"] for one in replies)


async def _taken(bot: TelegramBot, fake: TelegramProcess) -> bool:
    return bot.dispatch.busy and not await fake.do("pending")


async def _until(true: Callable[[], Awaitable[bool]], attempts: int = 2_000) -> None:
    for _ in range(attempts):
        if await true():
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("The bot does not answer.")


class _Running:
    """The bot on the shipped knowledge base, in this process."""

    def __init__(self, folder: Path, fake: TelegramProcess) -> None:
        settings = CafiSettings(
            storage=StorageSettings(url=f"sqlite:///{folder}/cafi.db"),
            sessions=SessionSettings(secret_file=folder / "secret.json", inbox_key_file=folder / "inbox.key"),
            spending=SpendingSettings(turns_at_once=1000),  # the bot is measured, not the bound
            telegram=TelegramSettings.model_validate({"token": fake.token, "base_url": fake.base_url}),
        )
        self._application = Application(settings=settings, model=_model())

    async def __aenter__(self) -> TelegramBot:
        chats = Chats(application=self._application)
        settle(self._application.engine, "en")
        await chats.begin()
        bot = telegram(chats)
        assert isinstance(bot, TelegramBot)
        self._bot, self._task = bot, asyncio.create_task(bot.run())
        return bot

    async def __aexit__(self, *_: object) -> None:
        self._bot.stopping.set()
        await self._task
        await self._application.closing.aclose()


def _model() -> ScriptedModel:
    def answer(prompt: Prompt) -> str:
        messages = [{"role": one.role, "content": one.content} for one in prompt.messages]
        return SCRIPTS["accepted"](prompt.schema_name or "text", messages)

    return ScriptedModel(answer, latency=TURN_SECONDS / CALLS_A_TURN)
