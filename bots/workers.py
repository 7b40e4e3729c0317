"""Many processes on one PostgreSQL: what is prepared for them, how one joins, and the worker. Part of the composition root."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy import Connection, select, text

from adapters.storage.keyring_file import read_inbox_key
from adapters.storage.lock import together
from adapters.storage.postgresql import server_parameters
from adapters.storage.schema_version import Migrated, newest, schema
from adapters.storage.tables import cursors
from bots.chats import Chats
from bots.secret_file import secret_file
from bots.signs_of_life import signs_of_life
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.delivery.job_queue import JobQueue
    from adapters.delivery.worker import JobWorker
    from adapters.telegram_adapter.adapter import TelegramBot
    from bots.runner import Bot
    from bots.settings import CafiSettings

PLATFORMS = ("telegram", "web")
PREPARED = "inbox key"
"""The name under which stands with which keys `prepare` was done."""
_MIGRATE = "Stop all workers and receivers, then: cafi migrate"
_COPY = "cafi migrate makes it, once; on another machine, copy it from there."


def job_queue(chats: Chats) -> JobQueue:
    """The queue over the configured database; raises ConfigurationError where there can be none."""
    if chats.database.sqlite:
        raise ConfigurationError(
            "Workers need PostgreSQL.",
            key="storage.url",
            remedy="docs/howto/postgresql.md tells how, or set queue: process.",
        )
    try:
        from adapters.delivery.job_queue import JobQueue
    except ImportError as error:
        raise ConfigurationError(
            "The package 'procrastinate' is not installed.", key="queue", remedy="Install cafi[postgres]."
        ) from error
    return JobQueue(store=chats.store)


def queue_of(chats: Chats) -> JobQueue:
    """The queue that the settings ask for; raises ConfigurationError where they ask for none, or there can be none."""
    require_queue(chats.application.settings)
    assert chats.queue is not None  # noqa: S101 - just asked
    return chats.queue


def require_queue(settings: CafiSettings) -> None:
    """Raises ConfigurationError where the settings ask for no workers: before anything is made for them."""
    if settings.queue != "workers":
        raise ConfigurationError(
            "There is no queue to work off.", key="queue", remedy="Set queue: workers; docs/howto/workers.md tells how."
        )


def refuse_others(settings: CafiSettings) -> None:
    """Raises ConfigurationError for what does not work beside workers yet."""
    if "webhook" in settings.feedback.sinks:
        raise ConfigurationError(
            "The webhook of feedback needs a process of its own, not queue: workers.",
            key="feedback.sinks",
            remedy="Leave webhook out here: the sink database keeps the counts.",
        )


async def prepare(chats: Chats) -> Migrated:
    """Tables, those of the queue too, keys, and jobs for what an earlier CAFI has left; nobody else may run meanwhile."""
    from adapters.storage.queue_schema import migrate_queue

    queue = queue_of(chats)
    migrated = await chats.prepare()
    queued = migrate_queue(chats.database)
    await _enqueue_left(chats, queue)
    await chats.store.put_cursor(PREPARED, _mark(chats))
    if migrated.changed or not queued.changed:
        return migrated
    return Migrated(before=f"{migrated.before} without a queue", after=f"{migrated.after} with one")


async def _enqueue_left(chats: Chats, queue: JobQueue) -> None:
    """What waits without a job: it was taken by a process that meant to answer it itself."""
    found = [one for platform in PLATFORMS for one in (await chats.store.unanswered(platform))[0]]

    def work(connection: Connection) -> None:
        rows = text("SELECT (args ->> 'row')::bigint FROM procrastinate_jobs WHERE status IN ('todo', 'doing')")
        known = set(connection.execute(rows).scalars())
        left = [chats.store.stored(one) for one in found if one.row not in known]
        if left:
            queue.enqueue(connection, left)

    await chats.database.run(work)


async def join(chats: Chats) -> None:
    """Share the database with the others. Raises ConfigurationError where it or the keys are not prepared."""
    from adapters.storage.queue_schema import check_queue

    refuse_others(chats.application.settings)
    queue_of(chats)
    chats.application.closing.enter_context(together(chats.database))
    if schema(chats.database) != newest():
        raise ConfigurationError(
            "The database's tables are not those of this version.", file=chats.database.place, remedy=_MIGRATE
        )
    check_queue(chats.database)
    sessions = chats.application.settings.sessions
    if not chats.has_secret:
        raise ConfigurationError(
            "There is no secret here yet.", file=secret_file(chats.application.settings), remedy=_COPY
        )
    if read_inbox_key(sessions.inbox_key_file) is None:
        raise ConfigurationError("There is no key of the inbox here yet.", file=sessions.inbox_key_file, remedy=_COPY)
    await chats.database.check()
    await chats.vault.open()
    if not await chats.database.run(_prepared):
        raise ConfigurationError(
            "What waits has no jobs yet, as after a restore.", file=chats.database.place, remedy=_MIGRATE
        )
    if await chats.store.cursor(PREPARED) != _mark(chats):
        raise ConfigurationError(
            "The inbox's key or the secret here is another one than where cafi migrate ran.",
            file=sessions.inbox_key_file,
            remedy="Copy both from there: what the others take could not be opened here.",
        )


def _prepared(connection: Connection) -> bool:
    return connection.execute(select(cursors.c.name).where(cursors.c.name == PREPARED)).first() is not None


def _mark(chats: Chats) -> int:
    """A number that is the inbox key's own and tells nothing about it; it is kept sealed under the secret."""
    return int.from_bytes(chats.inbox_secret.keyed("mark", b"")[:7], "big")


def worker(chats: Chats) -> list[Bot]:
    """A worker for every platform that workers answer on; raises ConfigurationError."""
    queue = queue_of(chats)
    from adapters.delivery.worker import JobWorker

    settings, dispatches = chats.application.settings, {}
    bot = None
    if settings.telegram.token is not None:
        from bots.telegram import telegram

        bot = telegram(chats)
        dispatches["telegram"] = bot.dispatch
    if settings.web.enabled:
        from bots.web import web_answers

        dispatches["web"] = web_answers(chats, queue)
    if not dispatches:
        raise ConfigurationError(
            "Nothing is configured to answer.",
            key="telegram.token",
            remedy="Set what the receivers have: a platform's token, or web.enabled.",
        )
    jobs = JobWorker(
        queue=queue,
        dispatches=dispatches,
        parameters=server_parameters(chats.database.engine),
        # Half of them for what needs no model: help in danger must not wait for turns that do.
        at_once=2 * settings.spending.turns_at_once,
        quoted_after=None if chats.application.provider is None else settings.sessions.quoted_after_seconds,
    )
    answering: list[Bot] = [AnsweringBot(bot=bot, jobs=jobs)]
    watched = signs_of_life(chats, lambda: jobs.connected)
    return answering if watched is None else [*answering, watched]


@dataclass(kw_only=True)
class AnsweringBot:
    """A worker's platforms: Telegram, where it is one of them, is reached first and let go of last."""

    jobs: JobWorker
    bot: TelegramBot | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Answer until it is told to stop; turns that run then come to their end. Raises ConfigurationError."""
        self.jobs.stopping = self.stopping
        async with AsyncExitStack() as stack:
            for dispatch in self.jobs.dispatches.values():
                stack.push_async_callback(dispatch.aclose)
            if self.bot is not None:
                self.bot.stopping = self.stopping
                if not await stack.enter_async_context(self.bot.answering()):
                    return
            await self.jobs.run()

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        self.jobs.sweep()
