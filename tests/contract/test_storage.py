"""What SQLite and PostgreSQL keep alike where several processes write: each database object here stands for a process.

What each store keeps is tested on both as well, beside its other facts: `tests/unit/test_chat_store.py`, `test_erasing.py`,
`test_migrating.py`, `test_moderation.py`, `test_upserting.py`, `test_vault.py`, which share the fixture `database`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from datetime import date
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection, Executable, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from adapters.conversation.daily_budget import DailyBudget
from adapters.delivery.store import Kept, Superseded
from adapters.feedback.schedule import AskedDays, answered_in
from adapters.feedback.sinks import DatabaseSink
from adapters.feedback.tallies import read_tallies
from adapters.feedback.webhook import WebhookSink
from adapters.moderation.status import StatusStore
from adapters.storage.counts import UrgentCounts
from adapters.storage.database import Database
from adapters.storage.lock import alone
from adapters.storage.pseudonyms import Naming
from adapters.storage.saved_counts import ReferralCounts
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import audit, chats, inbox, metadata, outbox, polls, secrets, spending, standing
from adapters.storage.vault import Vault
from engine.exceptions import ConfigurationError, StaleState, StorageError
from engine.types import Usage
from tests.feedback import event
from tests.storage import ANNA, POLL, message, state, store_over

T = TypeVar("T")
RING = Keyring(current=Secret(b"s" * 32))


@pytest.fixture
def both(database_url: str) -> Iterator[tuple[Database, Database]]:
    """Two processes over one empty database."""
    made = Database(database_url), Database(database_url)
    migrate(made[0])
    yield made
    for one in made:
        one.close()


Both = tuple[Database, Database]


async def test_two_hundred_increments_of_each_count_are_two_hundred(both: Both) -> None:
    """Feedback, referrals and spending that two processes count at the same moment add up, all of it."""
    counts = UrgentCounts(today=lambda: date(2026, 11, 21))

    async def count(number: int) -> None:
        database = both[number % 2]
        await DatabaseSink(database=database).add([event(), event(option="no")])
        await store_over(database).spend(9, 1, 0.25)
        one = UrgentCounts(today=counts.today)
        one.add("telegram")
        await ReferralCounts(database=database).save(one)

    await asyncio.gather(*(count(number) for number in range(200)))
    assert await store_over(both[0]).spent(9) == (200, 50.0)
    assert await ReferralCounts(database=both[1]).report() == [("2026-W47", "telegram", 200)]
    assert await answered_in(both[0], "2026-W47") == {"helpful": 400}
    assert {one.count for one in read_tallies(both[0].url)} == {200}


async def test_of_many_late_writers_one_is_taken_and_keeps_what_it_wrote(both: Both) -> None:
    """Who writes a chat that another process wrote meanwhile is refused, a chat's first state too, and its message stays."""
    stores = [store_over(one) for one in both]
    waiting = [(await store.take([message()]))[0] for store in stores * 5]
    for version in (0, 1):
        writes = (
            stores[number % 2].finish(one.row, ANNA, state(f"{version} by {number}"), version)
            for number, one in enumerate(waiting)
        )
        done = await asyncio.gather(*writes, return_exceptions=True)
        winners = [number for number, one in enumerate(done) if one == version + 1]
        assert len(winners) == 1 and all(isinstance(one, StaleState | int) for one in done)
        (winner,) = winners
        assert (await stores[0].load(ANNA)).state == state(f"{version} by {winner}")
        left, _ = await stores[0].unanswered("telegram")
        del waiting[winner]
        assert [one.row for one in left] == [one.row for one in waiting]


async def test_messages_wait_in_the_order_they_were_given(both: Both) -> None:
    """Fifty that arrive in one process at the same moment have rising numbers, whoever else takes messages meanwhile."""
    here, elsewhere = (store_over(one) for one in both)
    taken = [here.take([message(text=f"{number}")], ("telegram", number)) for number in range(50)]
    others = [elsewhere.take([message(text="another")]) for _ in range(50)]
    done = await asyncio.gather(*taken, *others)
    rows = [one[0].row for one in done[:50]]
    assert rows == sorted(rows) and len({one[0].row for one in done}) == 100
    assert await here.cursor("telegram") == 49


async def begun_meanwhile(first: Database, statement: Executable, second: Coroutine[Any, Any, T]) -> T:
    """What comes of something that begins while a first transaction keeps a change to itself, until it is waited for."""
    loop = asyncio.get_running_loop()

    def hold(connection: Connection) -> Future[T]:
        connection.execute(statement)
        begun = asyncio.run_coroutine_threadsafe(second, loop)
        # SQLite lets nobody else begin; on PostgreSQL whoever comes second may be half-way through.
        waits = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        for _ in range(0 if first.sqlite else 2_000):
            if connection.execute(waits).scalar():
                break
            time.sleep(0.005)
        return begun

    return await asyncio.wrap_future(await asyncio.to_thread(first.run_now, hold))


async def test_a_vote_that_arrives_twice_counts_once(both: Both) -> None:
    """Whoever answers a poll while another process takes the same answer finds none; otherwise it is found once."""
    stores = [store_over(one) for one in both]
    await stores[0].finish(None, ANNA, state(), 0, ("p", POLL))
    assert await begun_meanwhile(both[0], delete(polls), stores[1].answered_poll("telegram", "p")) is None
    await stores[0].finish(None, ANNA, state(), 1, ("p", POLL))
    found = await asyncio.gather(*(stores[number % 2].answered_poll("telegram", "p") for number in range(10)))
    assert [one for one in found if one is not None] == [POLL]


async def test_what_one_process_spends_limits_the_other(both: Both) -> None:
    """A process knows of the others' spending with its own next turn, and stops at the limit of all of them together."""
    budgets = [DailyBudget(store=store_over(one), tokens_a_day=250, today=lambda: 9) for one in both]
    turn = Usage(prompt_tokens=60, completion_tokens=40)
    for one in budgets:
        await one.load()
    await budgets[0].add(turn)
    await budgets[0].add(turn)
    assert not any(one.exhausted for one in budgets)
    await budgets[1].add(turn)
    assert budgets[1].exhausted


async def test_starting_together_notes_each_secret_once(both: Both) -> None:
    """A process that begins while another one notes the same secret waits for it, and does not fail."""
    noting = insert(secrets).values(id=RING.current.id, day=1)
    await begun_meanwhile(both[0], noting, Vault(database=both[1], keyring=RING).open())
    found = both[0].run_now(lambda connection: connection.execute(select(secrets.c.id)).scalars().all())
    assert found == [RING.current.id]


async def test_a_database_is_one_programs_until_it_lets_go(both: Both) -> None:
    """Who comes second is refused with the database's name and a remedy; after the first has ended it gets in."""
    with alone(both[0]), pytest.raises(ConfigurationError, match=r"cafi.*Another CAFI.*Stop it first"), alone(both[1]):
        pass
    with alone(both[1]):
        pass


async def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    """An error in the middle of a transaction takes back what came before it, and the next one works."""

    def half(connection: Connection) -> None:
        connection.execute(insert(standing).values(platform="web", content="{}"))
        connection.execute(insert(standing).values(platform="web", content="{}"))

    with pytest.raises(StorageError, match=r"IntegrityError|UniqueViolation") as raised:
        await database.run(half)
    assert isinstance(raised.value.__cause__, IntegrityError) and "web" not in str(raised.value)
    count = select(func.count()).select_from(standing)
    assert await database.run(lambda connection: connection.execute(count).scalar()) == 0


async def test_every_type_comes_back_as_it_was(database: Database) -> None:
    """Bytes of every value, long numbers, fractions, empty words and words in many scripts are the same after reading."""
    every = bytes(range(256)) * 40
    text = '{"mode": "öffentlich", "sources": ["資料", "مصدر", "🐟", "\\u0000"]}'
    rows = {
        chats: {"chat": b"\x00" * 16, "version": 2**31 - 1, "seen_hour": 500_000, "sealed": every},
        spending: {"day": 20_000, "tokens": 2**62, "cost": 0.1 + 0.2},
        standing: {"platform": "", "content": text},
        inbox: {"id": 2**40, "chat": b"\xff" * 16, "attempts": 0, "sealed": b""},
        audit: {"id": 1, "hour": 1, "action": "pause", "moderator": b"", "target": "bot", "sealed": None},
        outbox: {"id": 2**40, "event": text},
    }
    for table, row in rows.items():
        await database.run(lambda connection, table=table, row=row: connection.execute(insert(table).values(row)))
        found = await database.run(lambda connection, table=table: connection.execute(select(table)).mappings().one())
        assert dict(found) == row


async def test_numbers_go_on_after_the_longest(database: Database) -> None:
    """A message after many thousand millions of them has a number that fits."""
    if not database.sqlite:
        later = select(func.setval("inbox_id_seq", 2**40))
        database.run_now(lambda connection: connection.execute(later))
    else:
        sealed = {"id": 2**40, "chat": b"", "attempts": 0, "sealed": b""}
        database.run_now(lambda connection: connection.execute(insert(inbox).values(sealed)))
    (waiting,) = await store_over(database).take([message()])
    assert waiting.row == 2**40 + 1


async def test_who_was_asked_and_what_moderators_set_is_replaced(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A later day takes the place of an earlier one, a later word of moderators that of an earlier one."""
    asked = AskedDays(database=database, naming=Naming(RING))
    await asked.mark(ANNA, 5)
    await asked.mark(ANNA, 9)
    assert await asked.day(ANNA) == 9 and await asked.sweep(30, 14) == 1 and await asked.day(ANNA) is None
    for number in range(2):
        here = tmp_path_factory.mktemp(f"process{number}")
        status = StatusStore(file=here / "standing.json", database=database, platform="discord")
        status.load()
        assert status.now.number == number
        status.change(paused=not status.now.paused)
        assert await status.save()


async def test_the_outbox_drops_the_oldest(database: Database) -> None:
    """Of fifteen events in a box for ten the last ten wait."""
    sink = WebhookSink(database=database, address="https://x.invalid", secret="s", limit=10, random=random.Random(1))
    for number in range(3):
        await sink.add([event(option="yes" if number else "no")] * 5)
    kept = await database.run(lambda connection: connection.execute(select(outbox.c.event)).scalars().all())
    assert len(kept) == 10 and not any('"no"' in one for one in kept)


async def test_sweeping_takes_what_has_expired_while_others_write(both: Both) -> None:
    """Expired chats, polls and sums go, present ones stay, though the other process writes at the same moment."""
    stores = [store_over(one) for one in both]
    await stores[0].finish(None, ANNA, state("old"), 0, ("p", POLL))
    old = [
        update(chats).values(seen_hour=1),
        update(polls).values(day=1),
        insert(spending).values(day=1, tokens=1, cost=1.0),
    ]
    for one in old:
        both[0].run_now(lambda connection, one=one: connection.execute(one))
    swept, *_ = await asyncio.gather(stores[0].sweep(14), *(stores[1].spend(20_717, 1, 0.0) for _ in range(20)))
    assert swept == 1
    left = {
        name: both[1].run_now(lambda one, table=table: one.execute(select(func.count()).select_from(table)).scalar())
        for name, table in metadata.tables.items()
    }
    assert {name for name, count in left.items() if count} == {"spending"} and left["spending"] == 1


async def test_of_two_that_begin_a_message_the_last_one_may_end_it(both: Both) -> None:
    """Whoever began a message before somebody else did can neither show, end nor forget anything by it any more."""
    late, now = (store_over(one) for one in both)
    (taken,) = await late.take([message()])
    former, present = await late.begin(taken.row), await now.begin(taken.row)
    assert former is not None and present is not None and (former.attempts, present.attempts) == (0, 1)
    await now.finish(None, ANNA, state("present"), 0)
    for work in (late.hold(former), late.finish(former, ANNA, state("late"), 1), late.erase(ANNA, asked_by=former)):
        with pytest.raises(Superseded):
            await work
    await now.hold(present)
    assert await now.load(ANNA) == Kept(state=state("present"), version=1)
    await now.finish(present, ANNA, state("after"), 1)
    assert await late.begin(taken.row) is None
    with pytest.raises(Superseded):
        await now.hold(present)


async def test_a_message_that_asks_to_forget_stays_until_it_is_answered(both: Both) -> None:
    """What erases a chat is counted with it, is not lost itself when its process ends, and goes with its answer."""
    store = store_over(both[0])
    forget, other = await store.take([message(text="/forget"), message(text="later")])
    asked_by = await store.begin(forget.row)
    assert asked_by is not None
    assert (await store.erase(ANNA, asked_by=asked_by)).waiting == 2
    assert await store.waiting([forget.row, other.row]) == {forget.row}
    await store.finish(asked_by, ANNA, None, 0)
    assert await store.waiting([forget.row]) == set()
