"""What a turn works out is remembered as long as the turn, and no part of the process keeps what people or callers write."""

from __future__ import annotations

import asyncio
import functools
import gc
import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bots.compose import Application
from bots.settings import read_settings
from engine.knowledge.source import plain_source
from engine.memo import kept_with, once_a_turn, one_turn
from engine.turn.engine import Engine
from engine.types import Message, Role
from tests.fakes.open_book import living
from tests.team import CITED, DOUBT, Script, engine_over, rejection, scripted, shipped

STRANGE = "zwerquillith"
MESSAGES = (
    f"My name is {STRANGE} and I hear voices. What can I do about them?",
    f"What about {STRANGE}s, are they dangerous for my brother?",
    f"I am {STRANGE}*d and s*icid#l {STRANGE[:8]}",
)


def test_a_turn_works_things_out_once_and_then_forgets() -> None:
    """Inside a turn a function is called once for an argument, a turn inside it is the same one, outside it is called anew."""
    called: list[str] = []

    @once_a_turn
    def shout(text: str) -> str:
        called.append(text)
        return text.upper()

    with one_turn():
        assert [shout("a"), shout("a")] == ["A", "A"]
        with one_turn():
            assert shout("a") == "A"
    assert called == ["a"]
    assert [shout("a"), shout("a")] == ["A", "A"]
    assert called == ["a", "a", "a"]


async def test_turns_beside_each_other_share_nothing() -> None:
    """Two turns at the same time remember for themselves, and a task that outlives its turn finds nothing of it."""
    called: list[str] = []
    over = asyncio.Event()

    @once_a_turn
    def shout(text: str) -> str:
        called.append(text)
        return text.upper()

    async def late() -> None:
        await over.wait()
        shout("a")

    async def turn() -> asyncio.Task[None]:
        with one_turn():
            shout("a")
            await asyncio.sleep(0)
            shout("a")
            return asyncio.create_task(late())

    tasks = await asyncio.gather(turn(), turn())
    assert called == ["a", "a"]
    over.set()
    await asyncio.gather(*tasks)
    assert called == ["a"] * 4


def test_what_is_worked_out_of_an_object_is_worked_out_once_and_goes_with_it() -> None:
    """Equal objects are told apart, each is asked once, and nothing holds one that nobody else holds any more."""

    @dataclass(frozen=True)
    class Text:
        words: str

    called: list[int] = []

    @kept_with
    def size(text: Text) -> int:
        called.append(len(text.words))
        return called[-1]

    one, other = Text("a word"), Text("a word")
    assert [size(one), size(one), size(other)] == [6, 6, 6] and called == [6, 6] and one == other
    gone = weakref.ref(one)
    del one
    assert gone() is None


@pytest.fixture(scope="module")
def application() -> Application:
    """The shipped application with built-in agents."""
    return shipped(read_settings(None, {"agents": "builtin"}))


def kept() -> Iterator[str]:
    """Every text that the process holds in an object the collector knows, in a cache, or as a compiled expression."""
    # A C cache shows its entries to the collector alone, so the search goes through what every object refers to.
    for one in gc.get_objects():
        if isinstance(one, dict | list | tuple | set | frozenset | functools._lru_cache_wrapper):
            for part in gc.get_referents(one):
                if isinstance(part, str):
                    yield part
                elif isinstance(part, bytes):
                    yield part.decode("latin-1")
                elif isinstance(part, re.Pattern) and isinstance(part.pattern, str):
                    yield part.pattern


def remaining(*ours: object) -> list[str]:
    gc.collect()
    mine = {id(one) for one in ours}
    found = [one for one in kept() if STRANGE[:8] in one.casefold() and id(one) not in mine]
    return [one for one in found if one not in (STRANGE, *MESSAGES, STRANGE[:8]) and "\n" not in one]


async def test_a_turn_leaves_no_word_in_the_engine(application: Application) -> None:
    """After turns with a strange word no cache, list or compiled expression of the process holds anything made of it."""
    engine = application.engine
    assert remaining() == []
    for message in MESSAGES:
        turn = await engine.respond(engine.start(), message)
        application.engine.assess_now(engine.start(), message)
        del turn
    assert remaining() == []


async def test_the_search_finds_what_is_to_be_found(application: Application) -> None:
    """A cache of the process on what people write is found by the search of the test above."""
    keeping = functools.lru_cache(maxsize=8)(lambda text: text.upper())
    keeping(f"{STRANGE} of a cache")
    assert f"{STRANGE} of a cache" in remaining()
    keeping.cache_clear()


def new_word() -> str:
    """A word that stands in no module, so that nothing but a use of it can leave it anywhere."""
    return "".join(reversed("lenixarbmov"))


async def judged_and_answered(engine: Engine, word: str) -> None:
    """A judgement on a source of the caller's own, and a turn, with the word in all that is written."""
    text = f"About {word}: call {word} at 0900 123 456 or see https://{word}.org/page. Take 20 mg of {word} daily, never more."
    reply = (
        f"Take 30 mg of {word} daily. The source says “{word} is good for all people”. Ask {word}.org or 0900 765 432."
    )
    sources = (plain_source("leaflet", f"The {word} leaflet", f"# {word}\n\n{text}\n\nÜber {word}: “so it is”."),)
    earlier = (Message(role=Role.USER, content=f"I took 10 mg of {word}."),)
    for said in (reply, text):
        await engine.judge(said, f"What is {word}, at 8?", earlier=earlier, sources=sources, refine=True)
    await engine.respond(engine.start(), f"What can {word} do for my sleep?")


def holding(word: str) -> list[str]:
    """Every text in the process with the word in it, but for the word itself as the test has it."""
    gc.collect()
    found = (bytes(one).decode("latin-1") if isinstance(one, bytes) else one for one in living())
    return [one for one in found if isinstance(one, str) and word in one.casefold() and one is not word]


@pytest.mark.parametrize("by_a_model", [False, True])
async def test_judging_what_a_caller_sends_leaves_no_word_in_the_process(tmp_path: Path, by_a_model: bool) -> None:
    """After judgements and turns no living object holds a word of message, reply, draft or the caller's own source."""
    word = new_word()
    # The script writes its words anew each time, so that the double keeps the prompts alone.
    script: Script = {
        "agent": lambda prompt: CITED | {"reply": f"A fixed time for {word} can help."},
        "preliminary": lambda prompt: DOUBT,
        "chief": lambda prompt: rejection(f"No {word}."),
    }
    model = scripted(script) if by_a_model else None
    engine = engine_over(tmp_path, model)
    await judged_and_answered(engine, word)
    await asyncio.sleep(0)  # the loop holds what it has woken this task with until the task waits again
    if model is not None:
        assert any(f"No {word}." in message.content for prompt in model.prompts for message in prompt.messages)
        model.prompts.clear()
    assert holding(word) == []
