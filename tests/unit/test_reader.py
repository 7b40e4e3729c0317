"""What people write is read for danger in bounded time and place: short texts at once, long ones in a line of their own."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

from adapters.conversation.reader import Reader
from engine.types import Conversation, Message, Role, Urgency, UrgencyLevel
from tests.chats import begun, chat_over
from tests.team import CITED, scripted

EMPTY = Conversation(assistant="schizophrenia")
URGENT = Urgency(level=UrgencyLevel.URGENT)
LONG = "Work was fine and I fed the cat. " * 40
DANGER = f"{LONG}I want to kill myself tonight."


class Desk:
    """Reads like an engine: notes what and where, and holds long texts until it may go on."""

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []
        self.open = threading.Event()

    def assess(self, conversation: Conversation, message: str) -> Urgency:
        """Every text is urgent."""
        if threading.current_thread() is not threading.main_thread():
            assert self.open.wait(10)
        self.read.append((message, threading.current_thread().name))
        return URGENT


async def test_short_texts_are_read_at_once_and_long_ones_beside_the_event_loop() -> None:
    """A text of some hundred characters needs no thread, a longer one and one that goes on from longer ones do."""
    desk, reader = Desk(), Reader(at_once=100)
    desk.open.set()
    told = replace(EMPTY, messages=(Message(role=Role.USER, content="x" * 99),))
    for conversation, message in ((EMPTY, "a" * 100), (EMPTY, "b" * 101), (told, "cc")):
        assert await reader.read(desk.assess, conversation, message) is URGENT
    assert [name.startswith("reader") for _, name in desk.read] == [False, True, True]


async def test_the_shortest_is_read_first() -> None:
    """Who writes little does not wait for what somebody else has written at length before."""
    desk, reader = Desk(), Reader(at_once=0)
    texts = ["a" * 4000, "b" * 4000, "c" * 500, "d" * 4000, "e" * 50]
    reading = [asyncio.create_task(reader.read(desk.assess, EMPTY, texts[0]))]
    await asyncio.sleep(0.05)  # it is in the thread
    reading += [asyncio.create_task(reader.read(desk.assess, EMPTY, one)) for one in texts[1:]]
    await asyncio.sleep(0)
    desk.open.set()
    await asyncio.gather(*reading)
    assert [text[0] for text, _ in desk.read] == ["a", "e", "c", "b", "d"]


async def test_what_finds_no_place_or_time_is_not_read_and_holds_up_nobody() -> None:
    """Beyond the places a text that will not be answered is told so at once, and one whose time is up is never read."""
    desk, reader = Desk(), Reader(at_once=10, places=2, soon_seconds=0.01)
    held = asyncio.create_task(reader.read(desk.assess, EMPTY, "a" * 99))
    await asyncio.sleep(0)
    assert await reader.read_soon(desk.assess, EMPTY, "late" * 9) is None
    waiting = [asyncio.create_task(reader.read(desk.assess, EMPTY, "b" * 99)) for _ in range(2)]
    await asyncio.sleep(0.05)
    assert reader.full and await reader.read_soon(desk.assess, EMPTY, "full" * 9) is None
    assert await reader.read_soon(desk.assess, EMPTY, "short") is URGENT
    desk.open.set()
    await asyncio.gather(held, *waiting)
    assert {text[:4] for text, _ in desk.read} == {"aaaa", "bbbb", "shor"}


async def test_a_text_that_cannot_be_read_fails_by_itself() -> None:
    """An error while one text is read reaches who wrote it, and the next is read."""

    def fails(conversation: Conversation, message: str) -> Urgency:
        raise ValueError

    desk, reader = Desk(), Reader(at_once=0)
    desk.open.set()
    broken = asyncio.create_task(reader.read(fails, EMPTY, "a"))
    assert await reader.read(desk.assess, EMPTY, "bb") is URGENT
    assert isinstance((await asyncio.gather(broken, return_exceptions=True))[0], ValueError)


async def test_a_long_text_gets_the_referral_as_soon_as_its_turn_has_come(tmp_path: Path) -> None:
    """A long text waits for the thread behind the one that is read; danger in it is then answered with the referral."""
    desk = Desk()
    desk.open.clear()
    chat = chat_over(tmp_path)
    turns = replace(chat.turns, reader=Reader(soon_seconds=0.01))
    holding = asyncio.create_task(turns.reader.read(desk.assess, EMPTY, "a" * 1000))
    await asyncio.sleep(0)
    turn = asyncio.create_task(turns.turn(begun(chat), DANGER))
    await asyncio.sleep(0.02)
    assert not turn.done()
    desk.open.set()
    assert (await turn).help.replaces
    await holding


async def test_what_will_not_be_answered_gets_the_referral_where_it_cannot_be_read(tmp_path: Path) -> None:
    """A long text that finds no time is treated as if it called for help; calm words that are read are not."""
    chat = chat_over(tmp_path)
    unhurried = replace(chat.turns, reader=Reader(soon_seconds=60.0))
    assert await unhurried.referral_now(begun(chat), LONG) is None
    unread = replace(chat.turns, reader=Reader(soon_seconds=0.0, places=0))
    found = await unread.referral_now(begun(chat), LONG)
    assert found is not None and "112" in found.text


async def test_turns_with_a_model_are_bounded_and_wait_in_order(tmp_path: Path) -> None:
    """Of six chats at once two are with the model, the others follow as they came; a referral needs no place."""
    from bots.settings import SpendingSettings

    model = scripted({"agent": CITED}, latency=0.02)
    chat = chat_over(tmp_path, model, spending=SpendingSettings(turns_at_once=2))
    done, most, with_model = [], 0, 0
    complete = model.complete

    async def counted(prompt, ledger):  # type: ignore[no-untyped-def]
        nonlocal most, with_model
        if prompt.schema_name != "draft":
            return await complete(prompt, ledger)
        with_model += 1
        most = max(most, with_model)
        try:
            return await complete(prompt, ledger)
        finally:
            with_model -= 1

    model.complete = counted  # type: ignore[method-assign]

    async def turn(number: int, text: str) -> None:
        answered = await chat.turns.turn(begun(chat), text)
        done.append("referral" if answered.help.replaces else str(number))

    asking = [asyncio.create_task(turn(number, "how can I sleep better?")) for number in range(6)]
    await asyncio.sleep(0)
    asking.append(asyncio.create_task(turn(9, "I want to kill myself tonight")))
    await asyncio.gather(*asking)
    assert most == 2 and done[0] == "referral" and sorted(done[1:3]) == ["0", "1"] and sorted(done[-2:]) == ["4", "5"]
