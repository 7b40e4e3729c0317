"""What a turn works out is remembered as long as the turn, and no part of the process keeps what people write."""

from __future__ import annotations

import asyncio
import functools
import gc
import re
from collections.abc import Iterator

import pytest

from bots.compose import Application
from bots.settings import read_settings
from engine.memo import once_a_turn, one_turn

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


@pytest.fixture(scope="module")
def application() -> Application:
    """The shipped application with built-in agents."""
    return Application(settings=read_settings(None, {"agents": "builtin"}))


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
