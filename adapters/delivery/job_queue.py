"""Messages as jobs of procrastinate on PostgreSQL: enqueued with the sealed message, answered by workers in any process.

A job holds the number of the message's row, the platform's name and, as its lock, the chat's pseudonym: nothing that
anybody wrote, and no platform's id. The lock keeps a chat in order. The library does not fence: a process that was frozen
would end a job that another one has begun meanwhile. `FencedJobs` ends and retries a job for its holder alone, and the
row in the inbox is fenced by itself (`ChatStore.begin`).
"""

from __future__ import annotations

import datetime
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from procrastinate import exceptions
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.sync_psycopg_connector import SyncPsycopgConnector
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.receipt import Receipt
from adapters.conversation.state import ChatState
from adapters.delivery.queue_age import QueueFigures
from adapters.delivery.store import ChatStore, Stored, Waiting
from adapters.storage.identity import ChatIdentity

QUEUE, TASK = "cafi", "answer"
DEEP = 20
"""So many messages of one chat wait like anybody's; workers look past each further one only where nobody else's waits."""
_AHEAD = text(
    "SELECT lock, count(*), min(priority) FROM procrastinate_jobs "
    "WHERE lock = ANY(:locks) AND status IN ('todo', 'doing') GROUP BY lock"
)
MOST_WAIT = datetime.timedelta(minutes=1)
"""Before a message is tried again, should our clock jump in the very moment."""
_FINISH = """
WITH held AS (
  SELECT id, lock FROM procrastinate_jobs
   WHERE id = %(job_id)s AND status = 'doing' AND attempts = %(attempts)s
     AND worker_id IS NOT DISTINCT FROM %(worker_id)s::bigint
   FOR UPDATE
), done AS (
  SELECT lock, procrastinate_finish_job_v1(id, %(status)s::procrastinate_job_status, %(delete)s) FROM held
), next AS (
  UPDATE procrastinate_jobs SET scheduled_at = now()
   WHERE id = (SELECT id FROM procrastinate_jobs WHERE lock = (SELECT lock FROM done) AND status = 'todo' ORDER BY id LIMIT 1)
  RETURNING id
)
SELECT CASE WHEN EXISTS (SELECT FROM next)
            THEN pg_notify('procrastinate_queue_v1#cafi', '{"type": "job_inserted", "job_id": 0}') END
  FROM done
"""
"""Workers are told: of a lock that is let go of, and of a job that is to be tried again, the library tells nobody. The
chat's next job waits for a worker from now on: what it waited for its own chat does not count as the queue's age."""
_SINCE = "coalesce(job.scheduled_at, (SELECT min(at) FROM procrastinate_events WHERE job_id = job.id))"
_WAITED = f"SELECT extract(epoch FROM now() - {_SINCE}) AS waited FROM procrastinate_jobs AS job WHERE id = %(job_id)s"  # noqa: S608
_AGE = f"""
SELECT extract(epoch FROM now() - min({_SINCE}))
  FROM (SELECT DISTINCT ON (lock) id, lock, scheduled_at FROM procrastinate_jobs
         WHERE status = 'todo' AND task_name = '{TASK}' ORDER BY lock, id) AS job
 WHERE (scheduled_at IS NULL OR scheduled_at <= now())
   AND NOT EXISTS (SELECT FROM procrastinate_jobs AS other WHERE other.lock = job.lock AND other.status = 'doing')
"""  # noqa: S608 - ours
"""The first message of each chat that nobody answers; each is looked at once, as it is asked most where thousands wait."""
AGE_SECONDS = 1.0
"""For so long the queue's age counts as known."""
STALLED_SECONDS = 6.0
"""Without a sign of life for so long a worker counts as dead; whoever looks each second has its chats go on within ten."""
_FIGURES = text(
    "SELECT (SELECT count(*) FROM inbox) AS waiting, "
    "(SELECT count(*) FROM procrastinate_jobs WHERE status = 'failed') AS failed, "
    "(SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => :dead)) AS workers"
)
_RETRY = """
WITH held AS (
  SELECT id FROM procrastinate_jobs
   WHERE id = %(job_id)s AND status = 'doing' AND attempts = %(attempts)s
     AND worker_id IS NOT DISTINCT FROM %(worker_id)s::bigint
   FOR UPDATE
), done AS (
  SELECT procrastinate_retry_job_v2(id, now() + %(wait)s::interval, NULL, NULL, NULL) FROM held
)
SELECT pg_notify('procrastinate_queue_v1#cafi', '{"type": "job_inserted", "job_id": 0}') FROM done
"""


class FencedJobs(JobManager):
    """The library's, for whoever holds a job: who has lost it ends and retries nothing. Raises ConnectorException."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """End a job, if it is still the one that was fetched."""
        await self.connector.execute_query_all_async(
            query=_FINISH, **_holder(job), status=status.value, delete=delete_job
        )

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime.datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Put a job back, if it is still the one that was fetched; its priority, queue and lock stay.

        The wait is by the server's clock: ours may be days ahead, and its chat would wait as long.
        """
        wait = datetime.timedelta() if retry_at is None else retry_at - datetime.datetime.now(datetime.UTC)
        await self.connector.execute_query_all_async(
            query=_RETRY, **_holder(job), wait=min(max(wait, datetime.timedelta()), MOST_WAIT)
        )

    async def waited(self, job: Job) -> float:
        """How many seconds a job has waited for a worker, by the server's clock; 0 for one that is not there any more."""
        found = await self.connector.execute_query_all_async(query=_WAITED, job_id=job.id)
        return float(found[0]["waited"] or 0.0) if found else 0.0


def _priorities(connection: Connection, stored: Sequence[Stored]) -> list[int]:
    """Of each message's job: the lower, the more of its chat are ahead, and never above one of them, which keeps their order.

    To find the next job, the library looks through all that come before it, those of a chat in somebody's hands too.
    """
    locks = sorted({one.chat.hex() for one in stored})
    ahead = {lock: (count, least) for lock, count, least in connection.execute(_AHEAD, {"locks": locks})}
    found = []
    for one in stored:
        count, least = ahead.get(one.chat.hex(), (0, 0))
        level = min(least, -(count // DEEP))
        ahead[one.chat.hex()] = (count + 1, level)
        found.append(level)
    return found


def _holder(job: Job) -> dict[str, Any]:
    return {"job_id": job.id, "attempts": job.attempts, "worker_id": job.worker_id}


@dataclass(frozen=True, kw_only=True)
class JobQueue:
    """The inbox of many processes. Those that receive enqueue; a worker answers what it has begun within `in_hand`."""

    store: ChatStore
    _jobs: JobManager = field(default_factory=lambda: JobManager(SyncPsycopgConnector()))
    _age: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=1))
    _answering: ContextVar[Waiting | None] = field(default_factory=lambda: ContextVar("answering", default=None))

    async def ahead(self, chats: Collection[ChatIdentity]) -> Mapping[ChatIdentity, int]:
        """What waits in the database, whoever has taken it."""
        return await self.store.counted(chats)

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None) -> Sequence[Waiting]:
        """On disk with their jobs in one transaction; none is for this process itself."""
        await self.store.take(arrived, cursor, self.enqueue)
        return ()

    def enqueue(self, connection: Connection, stored: Sequence[Stored]) -> None:
        """Make a job of each, within a transaction."""
        jobs = [
            Job(
                queue=QUEUE,
                task_name=TASK,
                lock=one.chat.hex(),
                queueing_lock=None,
                task_kwargs={"row": one.row, "platform": one.platform},
                priority=priority,
            )
            for one, priority in zip(stored, _priorities(connection, stored), strict=True)
        ]
        try:
            self._jobs.batch_defer_jobs(jobs, connection=connection.connection.driver_connection)
        except exceptions.ConnectorException as error:
            # As SQLAlchemy would have said it: the border to our own errors is the database's.
            raise OperationalError("enqueue", None, error.__cause__ or error) from error

    async def age(self) -> float:
        """By the server's clock; asked once a second at most."""
        now = time.monotonic()
        if not self._age or now - self._age[-1][0] > AGE_SECONDS:
            age = await self.store.database.run(lambda connection: connection.execute(text(_AGE)).scalar())
            self._age.append((now, float(age or 0.0)))
        return self._age[-1][1]

    async def figures(self) -> QueueFigures:
        """What is to be known of the queue; raises StorageError."""
        given = {"dead": STALLED_SECONDS}
        row = await self.store.database.run(lambda connection: connection.execute(_FIGURES, given).one())
        return QueueFigures(waiting=row.waiting, oldest=await self.age(), failed=row.failed, workers=row.workers)

    async def left(self, platform: str) -> tuple[Sequence[Waiting], int]:
        """Nothing: the queue knows what waits."""
        return (), 0

    @contextmanager
    def in_hand(self, waiting: Waiting) -> Iterator[None]:
        """While this task answers a message: what is erased by it, it has to hold."""
        token = self._answering.set(waiting)
        try:
            yield
        finally:
            self._answering.reset(token)

    @property
    def answering(self) -> Waiting | None:
        """The message that this task answers."""
        return self._answering.get()

    async def hold(self, waiting: Waiting) -> None:
        """Look whether nobody else has begun it; raises Superseded."""
        await self.store.hold(waiting)

    async def finish(
        self, waiting: Waiting, state: ChatState | None, version: int, poll: tuple[str, Poll] | None = None
    ) -> int:
        """As `ChatStore.finish`, for its holder alone; raises Superseded."""
        return await self.store.finish(waiting, waiting.incoming.identity, state, version, poll)

    async def erase(self, identity: ChatIdentity) -> Receipt:
        """As `ChatStore.erase`; raises Superseded where the message that asks for it is somebody else's now."""
        return await self.store.erase(identity, asked_by=self.answering)
