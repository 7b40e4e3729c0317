"""What chats are called: slow to guess where it can be guessed, made once, and let go of."""

from __future__ import annotations

import asyncio
import gc
import time
from dataclasses import replace

import pytest

from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming, pseudonyms
from adapters.storage.seal import Keyring, Secret
from engine.exceptions import SealBroken
from tests.killing import until
from tests.storage import ANNA, BERT

RING = Keyring(current=Secret(b"s" * 32))
PAGE = ChatIdentity(platform="web", chat="A" * 43)
MEMBER = ChatIdentity(platform="discord", chat="1", user="2", thread="3")


def seconds(identity: ChatIdentity) -> float:
    """The least time that one guess takes."""
    times = []
    for number in range(5):
        begun = time.perf_counter()
        pseudonyms(RING, replace(identity, chat=f"{identity.chat}{number}"))
        times.append(time.perf_counter() - begun)
    return min(times)


def test_a_number_that_can_be_counted_through_is_slow_to_guess() -> None:
    """With the secret, one guess at an account costs at least three hundred times what one at a random session does."""
    assert seconds(ANNA) > 300 * seconds(PAGE) and seconds(MEMBER) > 300 * seconds(PAGE)


@pytest.mark.parametrize("identity", [ANNA, MEMBER, PAGE])
def test_names_and_keys_of_a_chat_are_its_own_and_the_secrets(identity: ChatIdentity) -> None:
    """Another chat, purpose or secret gives other names, and opens nothing; the same gives and opens the same."""
    names = pseudonyms(RING, identity)
    sealed = names.seal("state", b"words")
    assert names.open("state", sealed) == pseudonyms(RING, identity).open("state", sealed) == b"words"
    others = [
        pseudonyms(RING, replace(identity, chat=identity.chat + "0")),
        pseudonyms(Keyring(current=Secret.random()), identity),
    ]
    for other in others:
        assert not set(other.names("chat")) & set(names.names("chat"))
        with pytest.raises(SealBroken):
            other.open("state", sealed)
    with pytest.raises(SealBroken):
        names.open("threads", sealed)
    assert names.present.name("chat") != names.present.name("asked")


def test_nothing_that_is_written_is_found_by_the_identity_itself() -> None:
    """The present name and key of an account are not what an HMAC of its number gives."""
    names, plain = pseudonyms(RING, ANNA), ANNA.canonical()
    assert names.present.name("chat") != RING.current.keyed("chat", plain)
    with pytest.raises(SealBroken):
        RING.current.open("state", plain, names.seal("state", b"words"))


async def test_what_is_made_of_an_identity_is_made_once_while_the_chat_is_active() -> None:
    """Many who ask at once get the same, and a caller who is cancelled takes it from nobody."""
    naming = Naming(RING)
    first, *others = (asyncio.create_task(naming.of(ANNA)) for _ in range(5))
    await asyncio.sleep(0)
    first.cancel()
    found = await asyncio.gather(*others)
    assert all(one == found[0] for one in found) and await naming.of(ANNA) == found[0]
    assert len(naming) == 1


async def test_it_is_not_made_in_the_event_loop() -> None:
    """While names are made, whatever else the loop has to do is done."""
    rounds, working = 0, asyncio.gather(*(Naming(RING).of(one) for one in (ANNA, BERT, MEMBER)))
    while not working.done():
        rounds += 1
        await asyncio.sleep(0)
    assert rounds > 100


async def test_nothing_of_a_chat_is_known_after_it_was_forgotten_or_fell_silent() -> None:
    """Neither the identity nor what was made of it is anywhere in memory then; a web session is never kept at all."""
    naming = Naming(RING, keep_seconds=0.2)
    silent, forgotten = (ChatIdentity(platform="telegram", chat=f"77000{number}") for number in range(2))
    await naming.of(PAGE)
    assert len(naming) == 0
    await naming.of(forgotten)
    naming.forget(forgotten)
    assert len(naming) == 0
    await naming.of(silent)
    await until(lambda: not len(naming))
    roots = {pseudonyms(RING, one).present.root for one in (silent, forgotten)}
    await asyncio.sleep(0)
    gc.collect()
    assert not [
        one for one in gc.get_objects() if getattr(type(one), "__name__", "") == "Pseudonym" and one.root in roots
    ]


async def test_the_threads_of_a_person_are_named_apart_and_cost_nothing_more() -> None:
    """A new question thread has names of its own, made of what is known of its person already."""
    naming = Naming(RING)
    threads = [replace(MEMBER, thread=str(number)) for number in range(20)]
    names = {(await naming.of(one)).present.name("chat") for one in threads}
    assert len(names) == 20 and len(naming) == 1
