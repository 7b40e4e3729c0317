"""What every platform's chats are made of: storage, secrets, texts, limits. Part of the composition root."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlalchemy import Connection, func, select

from adapters.alerts.alerts import Alerts
from adapters.conversation.chat import Chat
from adapters.conversation.daily_budget import DailyBudget
from adapters.conversation.feedback_port import FeedbackPort, ReportPort
from adapters.conversation.notices import Notices
from adapters.conversation.pages import Pages
from adapters.conversation.privacy import FeedbackDestination, Platform, PrivacyFacts
from adapters.conversation.protocol import PublishedProtocol
from adapters.conversation.reader import Reader
from adapters.conversation.texts import Languages, load_languages
from adapters.conversation.turns import Turns
from adapters.delivery.limits import ChatLimits
from adapters.delivery.queue_age import QueueAge
from adapters.delivery.store import ChatStore
from adapters.editorial.shelf import Shelf
from adapters.feedback.corrections import Correction, read_corrections
from adapters.feedback.desk import FeedbackDesk
from adapters.feedback.questions import Questions, read_questions
from adapters.feedback.report_figures import ReportWatch
from adapters.feedback.schedule import AskedDays
from adapters.feedback.sinks import DatabaseSink, Forwarding, forwarding
from adapters.storage.clock import WallClock
from adapters.storage.counts import MonthlyCounts, UnansweredCounts, UrgentCounts
from adapters.storage.database import Database
from adapters.storage.keyring_file import InboxKey, from_texts, load, make_inbox_key, read_inbox_key, save
from adapters.storage.lock import alone
from adapters.storage.ownership import AdvisoryOwnership, Ownership, Undisputed
from adapters.storage.private_files import make_private_folder
from adapters.storage.pseudonyms import Naming
from adapters.storage.saved_counts import ReferralCounts, save_counts
from adapters.storage.seal import Keyring, Secret
from adapters.storage.shared_places import SharedPlaces
from adapters.storage.tables import inbox, reviews, unanswered
from adapters.storage.vault import Vault
from bots.compose import Application
from bots.parts import Parts
from bots.protocol import published_protocol
from bots.reports import allow_list, report_desk
from bots.secret_file import copied_beside, database_file, secret_file
from bots.traces import turn_traces
from engine import ConfigurationError, StepListener

if TYPE_CHECKING:
    from adapters.delivery.job_queue import JobQueue
    from adapters.storage.schema_version import Migrated
    from adapters.web_adapter.metrics import Metrics
    from bots.alerts import Watch

_log = logging.getLogger("cafi.run")


@dataclass(kw_only=True)
class Chats(Parts):
    """Everything around turns, built on first use over one application. `process`: what this one does, for its traces.

    `held`: whether this program has the database for itself; `copied`: whether that is copied before a migration.
    """

    application: Application
    process: str = "run"
    held: bool = False
    copied: bool = True

    @cached_property
    def database(self) -> Database:
        """The database; `migrate` brings its tables to the present version."""
        storage = self.application.settings.storage
        database = Database(storage.url, busy_seconds=storage.busy_seconds, connections=storage.connections)
        self.application.closing.push_async_callback(database.aclose)
        return database

    @property
    def shared(self) -> bool:
        """Whether several processes work with the database at the same time."""
        return self.application.settings.queue == "workers"

    @cached_property
    def queue(self) -> JobQueue | None:
        """The inbox of many processes, None where this one answers what it receives. Raises ConfigurationError."""
        if not self.shared:
            return None
        from bots.workers import job_queue

        return job_queue(self)

    def migrate(self) -> Migrated:
        """Bring the tables to the present version; raises ConfigurationError where another CAFI runs with older ones.

        The database is copied before.
        """
        from adapters.storage.schema_version import migrate

        return migrate(self.database, self._changing)

    @contextmanager
    def _changing(self, connection: Connection) -> Iterator[None]:
        with nullcontext() if self.held else alone(self.database):
            if self.copied:
                self._keep_copy(connection)
            yield

    def _keep_copy(self, connection: Connection) -> None:
        """Copy the database before a migration, so that there is a way back; raises ConfigurationError, StorageError."""
        from adapters.storage.server_copy import keep_server_copy
        from adapters.storage.snapshot import keep_copy

        file, beside = database_file(self.application.settings), copied_beside(self.application.settings)
        if beside is None:
            return
        try:
            if file is not None:
                copy = keep_copy(file)
            else:
                make_private_folder(beside.parent)
                copy = keep_server_copy(connection, self.database.place, beside)
        except OSError as error:
            raise ConfigurationError(
                f"It cannot be copied before its tables are changed: {error.strerror}.",
                file=file or beside.parent,
                remedy="Check the folder's rights and its space, or copy it yourself and go on: cafi migrate --without-copy",
            ) from error
        if copy is not None:
            _log.warning(
                "%s is the database as it was before this version; docs/howto/upgrade.md tells the way back", copy
            )

    def alone(self) -> None:
        """Hold the database for this program alone, until the application closes; raises ConfigurationError.

        Two programs would answer every waiting message twice, and one would write the other's keys anew.
        """
        if not self.held:
            self.application.closing.enter_context(alone(self.database))
            self.held = True

    @cached_property
    def clock(self) -> WallClock:
        """The time of day for all that is kept."""
        return WallClock()

    @cached_property
    def keyring(self) -> Keyring:
        """The operator's secrets, from the settings or the file; where there is none, one that `begin` would keep."""
        sessions = self.application.settings.sessions
        if sessions.secret is not None:
            former = (one.get_secret_value() for one in sessions.former_secrets)
            return from_texts(sessions.secret.get_secret_value(), former)
        file = secret_file(self.application.settings)
        return load(file) if file.exists() else Keyring(current=Secret.random())

    @property
    def has_secret(self) -> bool:
        """Whether the keyring outlives this program."""
        settings = self.application.settings
        return settings.sessions.secret is not None or secret_file(settings).exists()

    @cached_property
    def naming(self) -> Naming:
        """What chats are called on disk; one for all, so that each active chat's name is made once."""
        return Naming(self.keyring)

    @cached_property
    def vault(self) -> Vault:
        """The secrets and what lies under them."""
        return Vault(database=self.database, keyring=self.keyring, now=self.clock)

    @cached_property
    def inbox_secret(self) -> InboxKey:
        """The key of waiting messages and held replies, which `begin` makes; it is read when it is first needed."""
        return InboxKey(self.application.settings.sessions.inbox_key_file)

    @cached_property
    def store(self) -> ChatStore:
        """Chats on disk."""
        sessions = self.application.settings.sessions
        return ChatStore(
            database=self.database,
            naming=self.naming,
            inbox_secret=self.inbox_secret,
            idle_hours=sessions.idle_hours,
            now=self.clock,
        )

    @cached_property
    def languages(self) -> Languages:
        """The texts around answers."""
        settings = self.application.settings
        return load_languages(settings.config_folder / "chat", settings.crisis.language)

    @cached_property
    def spending(self) -> DailyBudget:
        """The day's spending of all platforms together."""
        limits = self.application.settings.spending
        return DailyBudget(
            store=self.store,
            tokens_a_day=limits.tokens_a_day,
            cost_a_day=limits.cost_a_day,
            accounts=self.application.accounts,
            today=lambda: int(self.clock() // 86_400),
        )

    @cached_property
    def privacy_facts(self) -> PrivacyFacts:
        """What people are told about who can read what they write."""
        settings = self.application.settings
        return PrivacyFacts(
            provider=self.application.provider,
            provider_stores=settings.models.store,
            idle_hours=settings.sessions.idle_hours,
            asked_days=self.questions.policy.every_days,
            sinks=self._sinks,
            reports=self.reports is not None,
            log_level=settings.log_level,
            traces=urlsplit(settings.traces.endpoint).hostname or "",
        )

    @property
    def _sinks(self) -> tuple[FeedbackDestination, ...]:
        feedback = self.application.settings.feedback
        if not feedback.enabled:
            return ()
        host = urlsplit(feedback.webhook_url or "").hostname or ""
        return tuple(FeedbackDestination(kind=one, host=host if one == "webhook" else "") for one in feedback.sinks)

    @cached_property
    def questions(self) -> Questions:
        """The structured questions of feedback."""
        return read_questions(self.application.settings.config_folder / "feedback.yaml")

    @cached_property
    def forwarding(self) -> Forwarding:
        """Where feedback events go; entered by `begin`."""
        settings = self.application.settings.feedback
        secret = settings.webhook_secret
        return forwarding(
            self.database,
            sinks=settings.sinks,
            webhook_url=settings.webhook_url,
            webhook_secret=None if secret is None else secret.get_secret_value(),
        )

    @cached_property
    def reports(self) -> ReportPort | None:
        """Where it is counted what worried or harmed somebody, None where that is switched off.

        It is counted in the database even where feedback goes elsewhere or nowhere.
        """
        elsewhere = self.forwarding.sinks if self.application.settings.feedback.enabled else ()
        further = tuple(one for one in elsewhere if not isinstance(one, DatabaseSink))
        return report_desk(self.application, self.questions, self.database, further)

    @cached_property
    def feedback(self) -> FeedbackPort | None:
        """Feedback as chats see it, None where it is switched off."""
        if not self.application.settings.feedback.enabled:
            return None
        return FeedbackDesk(
            questions=self.questions,
            allowed=allow_list(self.application, self.questions),
            forwarding=self.forwarding,
            asked=AskedDays(database=self.database, naming=self.naming),
        )

    @cached_property
    def corrections(self) -> tuple[Correction, ...]:
        """What became of reports, as it is told in public."""
        return read_corrections(self.application.settings.config_folder)

    @cached_property
    def report_watch(self) -> ReportWatch | None:
        """What alarms the operator of reports, None where they are switched off."""
        if self.reports is None:
            return None
        alarm_at = self.application.settings.reports.alarm_at
        return ReportWatch(database=self.database, now=self.clock, corrections=self.corrections, alarm_at=alarm_at)

    def limits(self) -> ChatLimits:
        """One platform's limits of each chat."""
        sessions = self.application.settings.sessions
        return ChatLimits(messages_a_minute=sessions.messages_a_minute, waiting=sessions.waiting_messages)

    @property
    def crowded_after(self) -> float | None:
        """How long the oldest message may wait for a worker; None where there are none."""
        return self.application.settings.sessions.crowded_after_seconds if self.shared else None

    def ownership(self, number: int, what: str) -> Ownership:
        """Who of several processes does something that one at a time may do: `number` of what; `what` for the log."""
        if not self.shared:
            return Undisputed()
        return AdvisoryOwnership(database=self.database, number=number, what=what)

    def chat(self, platform: Platform) -> Chat:
        """The chats of one platform."""
        pages = self.pages(platform)
        erase = self.store.erase if self.queue is None else self.queue.erase
        return Chat(pages=pages, turns=self.turns(pages), erase=erase, now=self.clock)

    def pages(self, platform: Platform) -> Pages:
        """What people of a platform can look at."""
        return Pages(
            engine=self.application.engine,
            languages=self.languages,
            platform=platform,
            facts=self.privacy_facts,
            review_days=self.application.settings.sources.review_days,
            people=self.application.people,
            notices=self.notices,
            protocol=self.protocol,
        )

    def turns(self, pages: Pages) -> Turns:
        """The turns of a platform; what they count, read and ask of models is one sum for all platforms."""
        return Turns(
            pages=pages,
            spending=self.spending,
            feedback=self.feedback,
            counts=self.counts,
            unanswered=self.unanswered,
            reader=self.reader,
            places=self.places,
            reports=self.reports,
        )

    @cached_property
    def places(self) -> AbstractAsyncContextManager[object] | None:
        """Of turns with a model: of this process, and where that is asked for, of all together."""
        own, most = self.application.places, self.application.settings.spending.turns_of_all
        if own is None or most is None or not self.shared:
            return own
        places = SharedPlaces(database=self.database, most=most, own=own)
        self.application.closing.push_async_callback(places.aclose)
        return places

    @cached_property
    def metrics(self) -> Metrics:
        """What this process counts for Prometheus; raises ConfigurationError."""
        from bots.metrics import metrics

        return metrics(self)

    @cached_property
    def counts(self) -> UrgentCounts:
        """How often the referral was shown."""
        return UrgentCounts(monthly=self.monthly)

    @cached_property
    def monthly(self) -> MonthlyCounts:
        """What the law wants counted by month."""
        return MonthlyCounts()

    @cached_property
    def notices(self) -> Notices:
        """When people are told that they write to a program."""
        service = self.application.service
        return Notices(
            now=self.clock,
            counts=self.monthly,
            asked={code: service.here(code).answers.get("person", "") for code in self.languages.texts},
            adults_only=self.application.settings.notices.adults_only,
        )

    @cached_property
    def protocol(self) -> PublishedProtocol:
        """How danger is recognised here; raises ConfigurationError."""
        return published_protocol(self.application, self.languages)

    @cached_property
    def on_turn(self) -> StepListener | None:
        """Who is told where the seconds of turns go, None where nobody is; raises ConfigurationError."""
        traces = turn_traces(self.application.settings, self.process)
        if traces is None:
            return None
        self.application.closing.push_async_callback(traces.aclose)
        traces.begin()
        return traces.turned

    @cached_property
    def queue_age(self) -> QueueAge:
        """How many messages wait, and how long the oldest does."""
        return QueueAge(database=self.database)

    @cached_property
    def alerts(self) -> Alerts:
        """What wakes the operator."""
        from bots.alerts import alerts

        return alerts(self)

    @cached_property
    def watch(self) -> Watch:
        """What looks for trouble once a minute."""
        from bots.alerts import Watch

        return Watch(chats=self)

    @cached_property
    def shelf(self) -> Shelf:
        """The sources of all assistants as files."""
        running = self.application
        return Shelf(
            folders={name: running.assistant_settings(name).knowledge_base for name in running.settings.assistants},
            review_days=running.settings.sources.review_days,
        )

    @cached_property
    def unanswered(self) -> UnansweredCounts:
        """On which topics nothing was found."""
        return UnansweredCounts()

    @cached_property
    def reader(self) -> Reader:
        """What reads people's words for danger."""
        return Reader()

    async def begin(self) -> None:
        """Hold the database for this program, check what is stored against what is configured, and make keys.

        Where several processes share it, everything has been made before: raises ConfigurationError where it was not.
        """
        if self.shared:
            from bots.workers import join

            await join(self)
        else:
            await self.prepare()
        await self.spending.load()
        if self.keyring.former:
            await self._renew()
        if self.feedback is not None:
            await self.application.closing.enter_async_context(self.forwarding)

    async def prepare(self) -> Migrated:
        """Tables and keys, for this program alone until the application closes.

        This is the one place where keys are made: nobody else may run meanwhile, and nobody else makes any.
        """
        self.alone()
        migrated = self.migrate()
        await self.database.check()
        await self.vault.open()
        # Where other machines have a copy of the inbox's key, it is made anew by whoever removes the file.
        self._make_keys(self.shared or await self.database.run(_anything_waits))
        await self.store.seal_cursors()
        return migrated

    def _make_keys(self, waits: bool) -> None:
        """A secret where there is none; the inbox's key anew while nothing waits under it: no copy of the database then
        holds anything that opens."""
        if not self.has_secret:
            file = secret_file(self.application.settings)
            save(file, self.keyring)
            _log.info("%s holds the new secret of this database. Keep a safe copy of it", file)
        inbox_key = self.application.settings.sessions.inbox_key_file
        if not waits or read_inbox_key(inbox_key) is None:
            make_inbox_key(inbox_key)

    async def _renew(self) -> None:
        """Put what operators keep under the present secret, so that a former one can be given up; raises StorageError."""
        from bots.editorial import audit, desk, staff

        log = audit(self)
        for one in (staff(self), desk(self, log).proposals, log):
            await one.renew()

    async def sweep(self) -> None:
        """Erase what has expired, in copies from before a migration too, and save what was counted; raises StorageError."""
        from adapters.storage.snapshot import erase_expired
        from bots.editorial import audit, desk, staff

        await self.store.sweep(self.privacy_facts.asked_days)
        log = audit(self)
        for one in (staff(self), desk(self, log).proposals, log):
            await one.sweep()
        await self.count()
        if self.report_watch is not None:
            await self.report_watch.look()
        file = copied_beside(self.application.settings)
        if file is not None:
            await asyncio.to_thread(erase_expired, file, self.clock() - 3600 * self.store.idle_hours)

    async def count(self) -> None:
        """Save how often the referral was shown, and on which topics nothing was found; raises StorageError."""
        await ReferralCounts(database=self.database).save(self.counts)
        await save_counts(self.database, unanswered, self.unanswered.pending)


def _anything_waits(connection: Connection) -> bool:
    """Whether anything lies under the inbox's key."""
    found = (inbox.c.sealed, reviews.c.sealed)
    return any(connection.execute(select(func.count()).where(func.length(one) > 0)).scalar_one() for one in found)
