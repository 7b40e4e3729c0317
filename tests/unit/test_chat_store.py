"""Chats on disk: whole changes, order, expiry, late writers, clocks that jump."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select, update

from adapters.delivery.store import SPENDING_DAYS
from adapters.storage.clock import WallClock
from adapters.storage.database import Database
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import asked, chats, cursors, inbox, polls, spending
from engine.exceptions import StaleState
from tests.killing import on_disk
from tests.storage import ANNA, BERT, INBOX, NOON, POLL, Clock, message, state, store_over

HOUR, DAY = 3600, 86_400


def count(database: Database, table: object) -> int:
    return database.run_now(lambda connection: connection.execute(select(func.count()).select_from(table)).scalar())


async def test_what_waits_comes_back_in_order_and_nothing_of_it_stays_when_answered(database: Database) -> None:
    """Messages are taken up again in the order they came, and an answer takes its message from the disk."""
    store = store_over(database)
    await store.take([message(text="one"), message(BERT, "two")], ("telegram", 7))
    await store.take([message(text="three")])
    found, closed = await store_over(database).unanswered("telegram")
    assert [one.incoming.text for one in found] == ["one", "two", "three"] and closed == 0
    assert await store.cursor("telegram") == 7
    for one in found:
        await store.finish(one.row, one.incoming.identity, None, 0)
    assert count(database, inbox) == 0


async def test_a_message_that_ends_the_process_is_counted(database: Database) -> None:
    """Messages that were in hand when a process ended carry how often that was."""
    store = store_over(database)
    (waiting,) = await store.take([message()])
    await store.tried([waiting.row])
    await store.tried([waiting.row])
    ((found,), _) = await store.unanswered("telegram")
    assert found.attempts == 2


async def test_other_platforms_messages_are_left_to_them(database: Database) -> None:
    """A platform takes up its own messages only."""
    store = store_over(database)
    await store.take([message()])
    assert await store.unanswered("discord") == ([], 0)
    assert count(database, inbox) == 1


async def test_messages_under_a_lost_inbox_key_are_dropped_and_counted(database: Database) -> None:
    """What the inbox key does not open is dropped, once, and the rest is kept."""
    await store_over(database, inbox=Secret.random()).take([message(), message()])
    store = store_over(database)
    await store.take([message(text="mine")])
    found, closed = await store.unanswered("telegram")
    assert [one.incoming.text for one in found] == ["mine"] and closed == 2
    assert await store.unanswered("telegram") == (found, 0)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.sampled_from((ANNA, BERT)), st.text(max_size=5)), max_size=6))
def test_each_chat_has_its_own_last_state(database: Database, written: list[tuple[object, str]]) -> None:
    """Whatever is written by turns, each chat reads back what it wrote last."""
    store = store_over(database)

    async def work() -> None:
        last = {}
        for identity, text in written:
            kept = await store.load(identity)
            await store.finish(None, identity, state(text), kept.version)
            last[identity] = state(text)
        for identity, expected in last.items():
            assert (await store.load(identity)).state == expected

    asyncio.run(work())


async def test_a_late_writer_is_refused_and_takes_nothing_along(database: Database) -> None:
    """Who writes a chat that was written meanwhile changes nothing, and the message stays."""
    store = store_over(database)
    (waiting,) = await store.take([message()])
    await store.finish(None, ANNA, state("first"), 0)
    kept = await store.load(ANNA)
    await store.finish(None, ANNA, state("second"), kept.version)
    with pytest.raises(StaleState):
        await store.finish(waiting.row, ANNA, state("late"), kept.version)
    assert (await store.load(ANNA)).state == state("second")
    assert count(database, inbox) == 1


async def test_work_that_arrives_together_is_done_each_as_if_alone(database: Database) -> None:
    """Of many changes at a time, those that fail fail alone and the others are on disk."""
    store = store_over(database)
    await store.finish(None, ANNA, state("there"), 0)
    writers = [store.finish(None, ANNA, state(f"{at}"), 1) for at in range(5)]
    takers = [store.take([message(BERT, f"{at}")]) for at in range(20)]
    done = await asyncio.gather(*writers, *takers, return_exceptions=True)
    assert [type(one) for one in done[:5]].count(StaleState) == 4
    found, _ = await store.unanswered("telegram")
    assert [one.incoming.text for one in found] == [f"{at}" for at in range(20)]
    assert [one.row for one in found] == [taken[0].row for taken in done[5:]]


async def test_an_idle_chat_expires(database: Database) -> None:
    """A chat that was silent for longer than the idle hours is gone for its person at once, and from disk with a sweep."""
    clock = Clock()
    store = store_over(database, now=clock)
    await store.finish(None, ANNA, state("old"), 0)
    clock.seconds += 24 * HOUR
    assert (await store.load(ANNA)).state is not None
    assert await store.sweep(14) == 0
    clock.seconds += HOUR
    assert (await store.load(ANNA)).state is None
    assert await store.sweep(14) == 1
    assert count(database, chats) == 0


async def test_an_expired_chat_can_be_written_anew(database: Database) -> None:
    """A person who comes back before the sweep begins anew without being refused."""
    clock = Clock()
    store = store_over(database, now=clock)
    await store.finish(None, ANNA, state("old"), 0)
    clock.seconds += 30 * HOUR
    kept = await store.load(ANNA)
    await store.finish(None, ANNA, state("new"), kept.version)
    assert (await store.load(ANNA)).state == state("new")


async def test_a_changed_chat_is_told_as_lost(database: Database) -> None:
    """State that does not open is told apart from a new chat, and can be written over."""
    store = store_over(database)
    await store.finish(None, ANNA, state(), 0)
    database.run_now(lambda connection: connection.execute(update(chats).values(sealed=b"\x01changed")))
    kept = await store.load(ANNA)
    assert kept.lost and kept.state is None
    await store.finish(None, ANNA, state("new"), kept.version)
    assert (await store.load(ANNA)).state == state("new")


async def test_a_poll_is_answered_once(database: Database) -> None:
    """A poll is found by the platform's name of it, also under a former secret, and forgotten with the first answer."""
    store = store_over(database)
    await store.finish(None, ANNA, state(), 0, poll=("p1", POLL))
    later = store_over(database, Keyring(current=Secret.random(), former=tuple(store.keyring)))
    assert await later.answered_poll("telegram", "p2") is None
    assert await later.answered_poll("telegram", "p1") == POLL
    assert await later.answered_poll("telegram", "p1") is None
    assert count(database, polls) == 0


async def test_chats_go_on_after_a_rotation_and_move_when_they_next_write(database: Database) -> None:
    """Under a new secret a chat reads what lies under the former one, and writes under the new one only."""
    former = Keyring(current=Secret.random())
    await store_over(database, former).finish(None, ANNA, state("before"), 0)
    keyring = Keyring(current=Secret.random(), former=(former.current,))
    store = store_over(database, keyring)
    kept = await store.load(ANNA)
    assert kept.state == state("before")
    version = await store.finish(None, ANNA, state("after"), kept.version)
    assert count(database, chats) == 1
    assert (await store_over(database, Keyring(current=keyring.current)).load(ANNA)).state == state("after")
    assert (await store_over(database, former).load(ANNA)).state is None
    await store.finish(None, ANNA, state("again"), version)


async def test_a_chat_of_a_version_with_quick_names_goes_on_and_is_written_anew(database: Database) -> None:
    """What lies under the identity itself opens, and with the next message lies under the slow name alone."""
    store = store_over(database)
    secret, plain = store.keyring.current, ANNA.canonical()
    quick = secret.keyed("chat", plain)
    sealed = secret.seal("state", plain, state("before").to_json())
    row = {"chat": quick, "version": 3, "seen_hour": int(NOON // HOUR), "sealed": sealed}
    database.run_now(lambda connection: connection.execute(insert(chats).values(row)))
    kept = await store.load(ANNA)
    assert kept.state == state("before")
    await store.finish(None, ANNA, state("after"), kept.version)
    names = database.run_now(lambda connection: connection.execute(select(chats.c.chat)).scalars().all())
    assert len(names) == 1 and bytes(names[0]) != quick
    assert (await store.load(ANNA)).state == state("after")


async def test_numbers_of_updates_lie_sealed_and_come_back_under_a_former_secret(
    database: Database, tmp_path: Path
) -> None:
    """Discord's number of a message tells its millisecond: no file holds it, and a store with the secret reads it."""
    number, store = 1_573_983_886_721_941_559, store_over(database)
    await store.take([], ("discord 1", number))
    later = store_over(database, Keyring(current=Secret.random(), former=tuple(store.keyring)))
    assert await later.cursor("discord 1") == number
    assert await store_over(database, Keyring(current=Secret.random())).cursor("discord 1") is None
    written = on_disk(tmp_path)
    assert number.to_bytes(8, "big") not in written and str(number).encode() not in written


async def test_numbers_of_a_version_that_left_them_in_clear_are_sealed_at_the_next_start(database: Database) -> None:
    """A number as the migration leaves it is read, and after the start it is one that only the secret opens."""
    store = store_over(database)
    row = {"name": "telegram 1", "sealed": b"\x00" + (77).to_bytes(8, "big")}
    database.run_now(lambda connection: connection.execute(insert(cursors).values(row)))
    for _ in range(2):
        await store.seal_cursors()
        assert await store.cursor("telegram 1") == 77
    sealed = database.run_now(lambda connection: connection.execute(select(cursors.c.sealed)).scalar_one())
    assert sealed[:1] == b"\x01" and (77).to_bytes(8, "big") not in sealed


# --- Clocks -----------------------------------------------------------------------------------------------------------


async def test_nothing_from_the_future_stays_for_ever(database: Database) -> None:
    """Rows written under a clock that was far ahead expire like others once it is right again."""
    clock = Clock(NOON + 3650 * DAY)
    store = store_over(database, now=clock)
    await store.finish(None, ANNA, state(), 0, poll=("p1", POLL))
    await store.spend(int(clock() // DAY), 5, 0.0)
    day = int(clock() // DAY)
    database.run_now(lambda connection: connection.execute(insert(asked).values(person=b"x" * 16, day=day)))
    clock.seconds = NOON
    await store.sweep(14)
    assert (await store.load(ANNA)).state is not None
    assert [count(database, table) for table in (asked, polls, spending)] == [0, 0, 0]
    clock.seconds += 25 * HOUR
    assert await store.sweep(14) == 1


async def test_the_days_of_spending_that_the_operator_sees_are_kept(database: Database) -> None:
    """What models have cost stays for as many days as the overview shows, and no longer."""
    clock = Clock(NOON)
    store = store_over(database, now=clock)
    for _ in range(SPENDING_DAYS + 3):
        await store.spend(int(clock() // DAY), 5, 0.0)
        await store.sweep(14)
        clock.seconds += DAY
    days = [int(clock() // DAY) - ago for ago in range(1, SPENDING_DAYS + 3)]
    assert [(await store.spent(day))[0] for day in days] == [5] * SPENDING_DAYS + [0] * 2


@pytest.mark.parametrize("jump", [30 * DAY, -30 * DAY, 40_000 * DAY])
async def test_a_jump_of_the_clock_erases_nothing_in_its_round(database: Database, jump: float) -> None:
    """While a jump is doubted, chats stay and answer as before; when it lasts, it is believed."""
    wall, steady = Clock(), Clock(0.0)
    store = store_over(database, now=WallClock(wall=wall, steady=steady))
    await store.finish(None, ANNA, state("alive"), 0)
    wall.seconds += jump
    for _ in range(2):
        steady.seconds += 400
        wall.seconds += 400
        assert await store.sweep(14) == 0
        assert (await store.load(ANNA)).state == state("alive")
    steady.seconds += 1000
    wall.seconds += 1000
    assert store.now() == wall.seconds


def test_a_clock_that_is_set_right_in_time_was_never_believed() -> None:
    """After a jump there and back the time goes on as if nothing had been."""
    wall, steady = Clock(), Clock(0.0)
    clock = WallClock(wall=wall, steady=steady)
    wall.seconds += DAY
    steady.seconds += 60
    assert clock() == NOON + 60
    wall.seconds = NOON + 120
    steady.seconds += 60
    assert clock() == NOON + 120
    wall.seconds += 5 * HOUR
    assert clock() == NOON + 120


def test_the_inbox_key_alone_opens_no_chat(database: Database) -> None:
    """The inbox's key and the chats' secret are different ones."""
    assert INBOX not in tuple(store_over(database).keyring)
