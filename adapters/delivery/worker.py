"""A worker: procrastinate's own, which answers jobs through the dispatches of platforms, and looks for those of dead ones.

A killed worker's jobs stay its own for ever unless somebody puts them back (the library's recipe). Each worker looks for
them itself, not in a periodic job, which would wait behind turns where all workers are busy.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import DeleteJobCondition, Job, Status
from procrastinate.retry import BaseRetryStrategy, RetryDecision
from procrastinate.worker import Worker

from adapters.delivery.dispatch import GIVE_UP_AFTER, Dispatch
from adapters.delivery.job_queue import QUEUE, STALLED_SECONDS, TASK, FencedJobs, JobQueue
from adapters.tasks import ended
from engine import SealBroken

HEARTBEAT_SECONDS = 1.0
PUT_BACK_SECONDS = 1.0
FORGOTTEN_SECONDS = 60.0
"""After so long without a sign of life a worker is forgotten."""
DRAIN_SECONDS = 10.0
"""For turns that run when a worker is told to stop; what is left then is put back."""
AGAIN_SECONDS = 2
TIDY_HOURS = 24
_CONNECTIONS = 4
_log = logging.getLogger("cafi.worker")


class _Again(BaseRetryStrategy):
    """Whatever happened, a message is tried again; how often it was begun is counted with the message."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:
        return RetryDecision(retry_in={"seconds": AGAIN_SECONDS})


class _Jobs(FencedJobs):
    """`lost` is set where an end could not be noted: the job has to become a dead worker's, so that it is put back."""

    def __init__(self, connector: PsycopgConnector) -> None:
        super().__init__(connector)
        self.lost = asyncio.Event()

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        with self._noting():
            await super().finish_job(job, status, delete_job)

    async def retry_job(self, job: Job, *given: Any, **more: Any) -> None:
        with self._noting():
            await super().retry_job(job, *given, **more)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except ConnectorException:
            self.lost.set()


@dataclass(kw_only=True)
class Signs:
    """Whether what the database knows of workers' signs of life can be believed, judged by one's own.

    A server that was away, or silent, has nobody's: all would count as dead, and take each other's messages.
    """

    clock: Callable[[], float] = time.monotonic
    _unbroken_since: float = -math.inf
    _last: float | None = None

    def given(self) -> None:
        """A sign of our own was noted."""
        now = self.clock()
        if self._late(now):
            self._unbroken_since = now
        self._last = now

    def missed(self) -> None:
        """The server could not be reached."""
        self._unbroken_since = self.clock()

    @property
    def believed(self) -> bool:
        """Whether everybody who lives has had the time to give theirs."""
        now = self.clock()
        return now - self._unbroken_since > STALLED_SECONDS and not self._late(now)

    def _late(self, now: float) -> bool:
        return self._last is not None and now - self._last > STALLED_SECONDS / 2


@dataclass(kw_only=True)
class JobWorker:
    """Answers until it is told to stop. `parameters`: of the server, as psycopg takes them. `at_once`: messages.

    `dispatches`: by platform. `quoted_after`: seconds that a message may wait for a worker; beyond, it is answered without
    a model, None for however long. The database may go away and come back.
    """

    queue: JobQueue
    dispatches: Mapping[str, Dispatch]
    parameters: Mapping[str, Any]
    at_once: int
    quoted_after: float | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _beaten: float = -math.inf
    _signs: Signs = field(default_factory=Signs)
    _jobs: _Jobs = field(init=False)
    _app: App = field(init=False)

    def __post_init__(self) -> None:
        connector = PsycopgConnector(kwargs=dict(self.parameters), min_size=1, max_size=_CONNECTIONS)
        self._app = App(connector=connector)
        self._jobs = self._app.job_manager = _Jobs(connector)
        self._app.task(name=TASK, queue=QUEUE, retry=_Again(), pass_context=True)(self._answer)
        # Jobs that the library gave up; and its watch over its own connections ends where nothing is periodic.
        tidied = self._app.task(name="tidy", queue=QUEUE, queueing_lock="tidy")(self._tidy)
        self._app.periodic(cron="17 * * * *")(tidied)

    @property
    def connected(self) -> bool:
        """Whether others can see that it lives."""
        return time.monotonic() - self._beaten < STALLED_SECONDS

    async def run(self) -> None:
        """Raises nothing of the queue's: it waits until the server is there again."""
        try:
            while not self.stopping.is_set():
                try:
                    await self._app.connector.open_async()
                    await self._until_lost()
                except (ConnectorException, psycopg.Error) as error:
                    self._signs.missed()
                    _log.error("the queue cannot be reached (%s); trying on", type(error).__name__)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), PUT_BACK_SECONDS)
        finally:
            await self._app.close_async()

    async def _until_lost(self) -> None:
        """One registration of a worker, until it is told to stop or the server goes away."""
        self._jobs.lost.clear()
        worker = Worker(
            self._app,
            queues=[QUEUE],
            concurrency=self.at_once,
            fetch_job_polling_interval=PUT_BACK_SECONDS,
            shutdown_graceful_timeout=DRAIN_SECONDS,
            delete_jobs=DeleteJobCondition.SUCCESSFUL,
            install_signal_handlers=False,
            update_heartbeat_interval=HEARTBEAT_SECONDS,
            stalled_worker_timeout=FORGOTTEN_SECONDS,
        )
        beside = [
            asyncio.create_task(one) for one in (self._beat(worker), self._put_back_stalled(), self._stop(worker))
        ]
        try:
            await worker.run()
        finally:
            await ended(*beside)

    async def _stop(self, worker: Worker) -> None:
        ends = [asyncio.create_task(one.wait()) for one in (self.stopping, self._jobs.lost)]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            worker.stop()
            await asyncio.sleep(DRAIN_SECONDS * 2)
        finally:
            for task in ends:
                task.cancel()

    async def _beat(self, worker: Worker) -> None:
        """The library's own signs of life end when a worker is told to stop, its last turns do not."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if worker.worker_id is not None:
                try:
                    await self._jobs.update_heartbeat(worker.worker_id)
                    self._beaten = time.monotonic()
                    self._signs.given()
                except ConnectorException:
                    self._signs.missed()

    async def _put_back_stalled(self) -> None:
        """Put back what dead workers had in hand."""
        while True:
            await asyncio.sleep(PUT_BACK_SECONDS)
            with suppress(ConnectorException):
                stalled = await self._jobs.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=STALLED_SECONDS)
                # Asked after the answer: it may have been waited for while the server was silent.
                for job in stalled if self._signs.believed else ():
                    _log.warning("a worker has ended over a message, or is frozen; its message is put back")
                    await self._jobs.retry_job(job)

    async def _answer(self, context: JobContext, row: int, platform: str) -> None:
        """The job: one message to its end. Raises whatever means that it is to be tried again."""
        if platform not in self.dispatches:
            _log.error("a message of a platform waits that this worker has no settings for; another one may have")
            raise KeyError(platform)
        dispatch = self.dispatches[platform]
        waited = 0.0
        if self.quoted_after is not None or dispatch.on_turn is not None:
            waited = await self._jobs.waited(context.job)
        since, late = time.monotonic() - waited, self.quoted_after is not None and waited > self.quoted_after
        try:
            waiting = await self.queue.store.begin(row)
        except SealBroken:
            _log.error("a waiting message does not open: it is damaged, or was sealed under another inbox key")
            if context.job.attempts < GIVE_UP_AFTER:
                raise
            await self.queue.store.drop(row)
            dispatch.on_given_up()
            return
        if waiting is not None:
            incoming = waiting.incoming.in_a_rush() if late else waiting.incoming
            # By the job's own times: no trace id travels with it. Whoever has the queue's tables and the traces could
            # otherwise say which chat's pseudonym each turn belongs to.
            waiting = replace(waiting, incoming=incoming, since=since)
            with self.queue.in_hand(waiting):
                await dispatch.answer(waiting)

    async def _tidy(self, timestamp: int) -> None:
        """Erase the jobs that ended otherwise than by an answer."""
        await self._jobs.delete_old_jobs(
            nb_hours=TIDY_HOURS, include_failed=True, include_cancelled=True, include_aborted=True
        )

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        for dispatch in self.dispatches.values():
            dispatch.sweep()
