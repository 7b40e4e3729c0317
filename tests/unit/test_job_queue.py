"""Messages as jobs: with their rows or not at all, for one holder at a time, and made ready by `cafi migrate` alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Connection, text

from adapters.delivery.dispatch import GIVE_UP_AFTER, Dispatch
from adapters.delivery.limits import ChatLimits
from adapters.storage.database import Database
from adapters.storage.schema_version import migrate
from bots.chats import Chats
from bots.settings import CafiSettings, FeedbackSettings, StorageSettings
from engine.exceptions import ConfigurationError
from engine.models.scripted import ScriptedModel
from engine.steps import Step, StepListener, StepName
from tests.chats import MemoryScreen, chat_over
from tests.killing import until
from tests.postgres import PostgresServer
from tests.storage import ANNA, BERT, message, state, store_over
from tests.telegram import chats_in

procrastinate = pytest.importorskip("procrastinate", reason="procrastinate is not installed")
DATABASE, SORRY = "jobs", "Something went wrong on my side"
ROWS = "SELECT (args ->> 'row')::bigint, lock FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id"


@pytest.fixture
def storage(postgresql: PostgresServer) -> Iterator[StorageSettings]:
    """A new database without tables."""
    postgresql.execute(f"CREATE DATABASE {DATABASE}")
    yield StorageSettings(url=postgresql.url(DATABASE))
    postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


async def prepared(folder: Path, storage: StorageSettings) -> None:
    from bots.workers import prepare

    chats = chats_in(folder, queue="workers", storage=storage)
    async with chats.application.closing:
        await prepare(chats)


async def begun(folder: Path, **settings: Any) -> Chats:
    chats = chats_in(folder, queue="workers", **settings)
    async with chats.application.closing:
        await chats.begin()
    return chats


@pytest.fixture
async def jobs(storage: StorageSettings) -> AsyncIterator[Any]:
    """The queue's own side: what fetches, ends and retries jobs for whoever holds them."""
    from adapters.delivery.job_queue import FencedJobs
    from adapters.storage.postgresql import server_parameters
    from adapters.storage.queue_schema import migrate_queue

    database = Database(storage.url)
    migrate(database)
    migrate_queue(database)
    connector = procrastinate.PsycopgConnector(kwargs=server_parameters(database.engine), min_size=1, max_size=2)
    await connector.open_async()
    yield FencedJobs(connector)
    await connector.close_async()
    database.close()


async def test_a_message_and_its_job_are_stored_together_or_not_at_all(jobs: Any, storage: StorageSettings) -> None:
    """Each message has one job with its row's number, and one lock a chat; where the job fails, the message is not kept."""
    from adapters.delivery.job_queue import JobQueue

    database = Database(storage.url)
    queue = JobQueue(store=store_over(database))
    await queue.take([message(), message(BERT), message(text="again")], None)
    run = database.run_now
    rows = run(lambda one: one.execute(text(ROWS)).all())
    assert [row for row, _ in rows] == run(
        lambda one: one.execute(text("SELECT id FROM inbox ORDER BY id")).scalars().all()
    )
    assert rows[0].lock == rows[2].lock != rows[1].lock and await queue.ahead([ANNA, BERT]) == {ANNA: 2, BERT: 1}

    def broken(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE procrastinate_jobs RENAME TO elsewhere"))

    run(broken)
    with pytest.raises(Exception, match="cafi migrate"):
        await queue.take([message()], None)
    assert await queue.ahead([ANNA]) == {ANNA: 2}
    database.close()


async def test_the_queues_figures_tell_of_no_single_message(jobs: Any, storage: StorageSettings) -> None:
    """What waits and for how long, who works it off and what was given up is known; four messages look like none, and
    while the database is away there is no figure that would pass for a calm queue."""
    from adapters.delivery.job_queue import JobQueue
    from adapters.delivery.queue_age import QueueFigures
    from adapters.web_adapter.metrics import Metrics

    database = Database(storage.url)
    queue = JobQueue(store=store_over(database))
    metrics = Metrics(queue=queue.figures)

    async def told() -> dict[str, str]:
        lines = (await metrics.exposition()).decode().splitlines()
        return dict(one.split(" ") for one in lines if one.startswith("cafi_queue_"))

    empty = await told()
    assert set(empty.values()) == {"0.0"} and len(empty) == 4
    await queue.take([message() for _ in range(4)], None)
    assert await told() == empty
    await queue.take([message(BERT) for _ in range(2)], None)
    worker = await jobs.register_worker()
    assert worker is not None
    found = await queue.figures()
    assert found == QueueFigures(waiting=6, oldest=found.oldest, failed=0, workers=1) and 0 <= found.oldest < 60

    def later(connection: Connection) -> None:
        connection.execute(text("UPDATE procrastinate_events SET at = at - interval '75 seconds'"))
        connection.execute(text("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '7 seconds'"))
        connection.execute(
            text("UPDATE procrastinate_jobs SET status = 'failed' WHERE id = (SELECT max(id) FROM procrastinate_jobs)")
        )

    database.run_now(later)
    fresh = Metrics(queue=JobQueue(store=store_over(database)).figures)
    lines = (await fresh.exposition()).decode().splitlines()
    assert [one for one in lines if one.startswith("cafi_queue_")] == [
        "cafi_queue_waiting 5.0",
        "cafi_queue_oldest_seconds 70.0",
        "cafi_queue_failed 1.0",
        "cafi_queue_workers 0.0",
    ]
    database.run_now(lambda one: one.execute(text("ALTER TABLE inbox RENAME TO elsewhere")))
    assert await told() == {}
    database.close()


async def test_whoever_has_lost_a_job_neither_ends_nor_retries_it(jobs: Any, storage: StorageSettings) -> None:
    """A job that was put back and fetched again belongs to the second holder, also where both are one worker."""
    from adapters.delivery.job_queue import QUEUE, JobQueue

    database = Database(storage.url)
    await JobQueue(store=store_over(database)).take([message()], None)
    worker = await jobs.register_worker()
    late = await jobs.fetch_job([QUEUE], worker)
    await jobs.retry_job(late)
    now = await jobs.fetch_job([QUEUE], worker)
    assert late.id == now.id and now.attempts == 1
    states = text("SELECT status::text FROM procrastinate_jobs")
    for work in (jobs.finish_job(late, procrastinate.jobs.Status.SUCCEEDED, True), jobs.retry_job(late)):
        await work
        assert database.run_now(lambda one: one.execute(states).scalars().all()) == ["doing"]
    await jobs.finish_job(now, procrastinate.jobs.Status.SUCCEEDED, True)
    assert database.run_now(lambda one: one.execute(states).scalars().all()) == []
    database.close()


async def test_a_chat_that_floods_waits_behind_others_and_stays_in_order(jobs: Any, storage: StorageSettings) -> None:
    """Beyond twenty of a chat, somebody else's first message comes before; what is written when fewer wait comes last still."""
    from adapters.delivery.job_queue import DEEP, QUEUE, JobQueue

    database = Database(storage.url)
    queue = JobQueue(store=store_over(database))
    worker = await jobs.register_worker()
    seen = []

    async def answered(count: int) -> None:
        for _ in range(count):
            job = await jobs.fetch_job([QUEUE], worker)
            seen.append(job.task_kwargs["row"])
            await jobs.finish_job(job, procrastinate.jobs.Status.SUCCEEDED, True)

    await queue.take([message()] * (2 * DEEP + 5), None)
    await queue.take([message(BERT)], None)
    bert = 2 * DEEP + 6
    await answered(2 * DEEP)
    assert seen.pop(DEEP) == bert
    await queue.take([message()] * 3, None)
    await answered(9)
    assert seen == [*range(1, bert), *range(bert + 1, bert + 4)]
    database.close()


async def test_a_clock_that_is_days_ahead_keeps_nobody_waiting(jobs: Any, storage: StorageSettings) -> None:
    """A job that is to be tried again at a worker's own time is tried within a minute of the server's."""
    from adapters.delivery.job_queue import QUEUE, JobQueue

    database = Database(storage.url)
    await JobQueue(store=store_over(database)).take([message()], None)
    job = await jobs.fetch_job([QUEUE], await jobs.register_worker())
    await jobs.retry_job(job, retry_at=datetime.now(UTC) + timedelta(days=3))
    waits = text("SELECT status::text, scheduled_at - now() FROM procrastinate_jobs")
    ((status, left),) = database.run_now(lambda one: one.execute(waits).all())
    assert status == "todo" and left <= timedelta(minutes=1)
    database.close()


async def test_what_one_process_has_left_gets_jobs_when_workers_take_over(
    tmp_path: Path, storage: StorageSettings
) -> None:
    """Messages that waited for `queue: process` are jobs after `cafi migrate`, once, under the key they were sealed with."""
    chats = chats_in(tmp_path, storage=storage)
    async with chats.application.closing:
        await chats.begin()
        await chats.store.take([message(), message(BERT)])
    for _ in range(2):
        await prepared(tmp_path, storage)
    database = Database(storage.url)
    rows = database.run_now(lambda one: one.execute(text(ROWS)).all())
    assert [row for row, _ in rows] == [1, 2]
    database.close()


async def test_who_joins_is_told_what_is_missing(tmp_path: Path, storage: StorageSettings) -> None:
    """Without PostgreSQL, tables or keys, or beside what has no workers yet, nothing begins; one sentence names the remedy."""
    from bots.workers import require_queue

    with pytest.raises(ConfigurationError, match="There is no queue to work off"):
        require_queue(CafiSettings())
    with pytest.raises(ConfigurationError, match="Workers need PostgreSQL"):
        await begun(tmp_path)
    webhook = FeedbackSettings(sinks=("webhook",), webhook_url="https://a.example", webhook_secret=SecretStr("s" * 16))
    with pytest.raises(ConfigurationError, match=r"feedback\.sinks"):
        await begun(tmp_path, storage=storage, feedback=webhook)
    with pytest.raises(ConfigurationError, match="cafi migrate"):
        await begun(tmp_path, storage=storage)
    await prepared(tmp_path, storage)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(ConfigurationError, match="There is no secret here yet"):
        await begun(elsewhere, storage=storage)
    key = (tmp_path / "inbox.key").read_text()
    (tmp_path / "inbox.key").write_text("0f" * 32)
    with pytest.raises(ConfigurationError, match="another one than where cafi migrate ran"):
        await begun(tmp_path, storage=storage)
    (tmp_path / "inbox.key").write_text(key)
    await prepared(tmp_path, storage)
    assert (tmp_path / "inbox.key").read_text() == key
    await begun(tmp_path, storage=storage)
    (tmp_path / "inbox.key").unlink()
    with pytest.raises(ConfigurationError, match="There is no key of the inbox here yet"):
        await begun(tmp_path, storage=storage)


async def test_those_that_share_a_database_keep_out_who_wants_it_alone(
    tmp_path: Path, storage: StorageSettings
) -> None:
    """Two processes share the database; meanwhile `cafi migrate` and a process that answers by itself are refused."""
    await prepared(tmp_path, storage)
    first, second = (chats_in(tmp_path, queue="workers", storage=storage) for _ in range(2))
    async with first.application.closing, second.application.closing:
        await first.begin()
        await second.begin()
        with pytest.raises(ConfigurationError, match="Another CAFI runs with this database"):
            await prepared(tmp_path, storage)
        alone = chats_in(tmp_path, storage=storage)
        async with alone.application.closing:
            with pytest.raises(ConfigurationError, match="Another CAFI runs with this database"):
                await alone.begin()


@asynccontextmanager
async def working(
    folder: Path,
    storage: StorageSettings,
    model: ScriptedModel | None = None,
    on_turn: StepListener | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[Any, MemoryScreen]]:
    """A worker in this process that shows on a screen in memory; its queue is what to put messages in."""
    from adapters.delivery.job_queue import JobQueue
    from adapters.delivery.worker import JobWorker
    from adapters.storage.postgresql import server_parameters

    database, screen = Database(storage.url), MemoryScreen()
    queue = JobQueue(store=store_over(database, now=time.time))
    chat = replace(chat_over(folder / "kb", model), erase=queue.erase)
    dispatch = Dispatch(chat=chat, store=queue.store, screen=screen, limits=ChatLimits(), inbox=queue, on_turn=on_turn)
    parameters = server_parameters(database.engine)
    worker = JobWorker(queue=queue, dispatches={"telegram": dispatch}, parameters=parameters, at_once=4, **settings)
    running: list[asyncio.Task[None]] = []
    try:
        yield queue, screen
        running.append(asyncio.create_task(worker.run()))
        await until(lambda: not _left(database), 20)
    finally:
        worker.stopping.set()
        await asyncio.gather(*running)
        await dispatch.aclose()
        database.close()


def _left(database: Database) -> int:
    counts = text("SELECT (SELECT count(*) FROM procrastinate_jobs) + (SELECT count(*) FROM inbox)")
    return int(database.run_now(lambda one: one.execute(counts).scalar_one()))


async def test_what_ends_every_worker_gets_an_apology_and_what_never_opens_goes(
    tmp_path: Path, jobs: Any, storage: StorageSettings
) -> None:
    """After twenty beginnings a message is given up with one calm sentence, and one that does not open without; both chats go
    on."""
    async with working(tmp_path, storage) as (queue, screen):
        await queue.take([message(), message(BERT), message(BERT, "what are the voices?")], None)
        for _ in range(GIVE_UP_AFTER):
            await queue.store.tried([1])
        for damage in (
            "UPDATE inbox SET sealed = '' WHERE id = 2",
            "UPDATE procrastinate_jobs SET attempts = 20 WHERE id = 2",
        ):
            queue.store.database.run_now(lambda one, damage=damage: one.execute(text(damage)))
    assert len(screen.texts(ANNA)) == 1 and SORRY in screen.texts(ANNA)[0]
    assert len(screen.texts(BERT)) == 1 and SORRY not in screen.texts(BERT)[0]


async def test_what_was_written_before_an_erasure_is_not_answered_after_it(
    tmp_path: Path, jobs: Any, storage: StorageSettings
) -> None:
    """`/forget` erases what of its chat waits behind it and nothing of others, is answered itself, and leaves no job."""
    async with working(tmp_path, storage) as (queue, screen):
        await queue.store.finish(None, ANNA, state("words"), 0)
        await queue.take([replace(message(), command="forget", text=""), message(), message(BERT)], None)
    assert len(screen.texts(ANNA)) == 1 and len(screen.texts(BERT)) == 1


OLDER = "UPDATE procrastinate_events SET at = at - interval '2 minutes'"


async def test_what_has_waited_long_is_quoted_without_a_model_and_says_so(
    tmp_path: Path, jobs: Any, storage: StorageSettings
) -> None:
    """Beyond its time a message is answered from the texts, no model is asked; what waited for its own chat alone is not."""
    model = ScriptedModel([])
    async with working(tmp_path, storage, model, quoted_after=60.0) as (queue, screen):
        await queue.take([message(text="what are the voices?")], None)
        queue.store.database.run_now(lambda one: one.execute(text(OLDER)))
        assert await queue.age() > 100
    [said] = screen.texts(ANNA)
    assert "Many people are writing to me right now" in said and "Voices are sounds" in said and not model.prompts


async def test_a_worker_measures_how_long_a_message_waited_for_it(
    tmp_path: Path, jobs: Any, storage: StorageSettings
) -> None:
    """A worker's turn begins with the wait in the queue, by the job's own times, and the job carries nothing for it."""
    turns: list[Step] = []
    async with working(tmp_path, storage, on_turn=turns.append) as (queue, screen):
        await queue.take([message(text="what are the voices?")], None)
        job = queue.store.database.run_now(lambda one: one.execute(text("SELECT * FROM procrastinate_jobs")).one())
        assert job.args.keys() == {"row", "platform"}
        queue.store.database.run_now(lambda one: one.execute(text(OLDER)))
    [turn] = turns
    first = turn.steps[0]
    assert first.name is StepName.QUEUE and first.begun == turn.begun and first.ended is not None
    assert 100 < first.ended - first.begun < 200
    assert {StepName.STORAGE, StepName.DRAFT, StepName.DELIVER} <= {one.name for one in turn.steps}
    assert len(screen.texts(ANNA)) == 1


async def test_a_chats_own_line_is_not_the_queues_age(jobs: Any, storage: StorageSettings) -> None:
    """While somebody's first message is answered, their second one waits for nobody else; then it waits from now on."""
    from adapters.delivery.job_queue import QUEUE, JobQueue

    database = Database(storage.url)
    queue = JobQueue(store=store_over(database))
    await queue.take([message(), message()], None)
    database.run_now(lambda one: one.execute(text(OLDER)))
    first = await jobs.fetch_job([QUEUE], await jobs.register_worker())
    assert await jobs.waited(first) > 100 and await queue.age() == 0.0
    await jobs.finish_job(first, procrastinate.jobs.Status.SUCCEEDED, True)
    queue._age.clear()
    assert 0.0 <= await queue.age() < 100
    second = await jobs.fetch_job([QUEUE], first.worker_id)
    assert second is not None and await jobs.waited(second) < 100
    database.close()


async def test_beyond_the_queues_age_people_are_asked_to_write_later(
    tmp_path: Path, jobs: Any, storage: StorageSettings
) -> None:
    """While the oldest message waits too long, nothing new is kept; words of danger get the contacts, commands of help go on."""
    from adapters.delivery.job_queue import JobQueue

    database, screen = Database(storage.url), MemoryScreen()
    queue = JobQueue(store=store_over(database))
    await queue.take([message(ANNA)], None)
    chat = replace(chat_over(tmp_path / "kb"), erase=queue.erase)
    limits = ChatLimits(messages_a_minute=100, waiting=100)
    dispatch = Dispatch(chat=chat, store=queue.store, screen=screen, limits=limits, inbox=queue, crowded_after=60.0)
    assert await dispatch.take([message(BERT)]) == 0
    database.run_now(lambda one: one.execute(text(OLDER)))
    queue._age.clear()
    danger = message(BERT, "I want to kill myself tonight")
    assert (
        await dispatch.take([message(BERT), message(BERT), danger, replace(message(BERT), command="crisis", text="")])
        == 3
    )
    await dispatch.idle()
    crowded, referral = sorted(screen.texts(BERT), key=len)
    assert "more people" in crowded.casefold() and "112" in referral
    assert await queue.ahead([BERT]) == {BERT: 2}
    database.close()
