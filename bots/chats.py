"""What every platform's chats are made of: storage, secrets, texts, limits. Part of the composition root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import Connection, func, select
from sqlalchemy.engine import make_url

from adapters.chat.chat import Chat
from adapters.chat.clock import WallClock
from adapters.chat.feedback_port import FeedbackPort
from adapters.chat.limits import ChatLimits
from adapters.chat.privacy import Platform, PrivacyFacts, Sink
from adapters.chat.spending import Spending
from adapters.chat.store import ChatStore
from adapters.chat.texts import Languages, load_languages
from adapters.chat.vault import Vault
from adapters.feedback.asking import AskedDays
from adapters.feedback.composing import forwarding
from adapters.feedback.desk import FeedbackDesk
from adapters.feedback.events import AllowList
from adapters.feedback.questions import Questions, read_questions
from adapters.feedback.sinks import Forwarding
from adapters.storage.database import Database, make_folder
from adapters.storage.keyring_file import from_texts, inbox_secret, load, renewed_inbox_secret, save
from adapters.storage.lock import DatabaseLock
from adapters.storage.referral_counts import ReferralCounts
from adapters.storage.sealing import Keyring, Secret
from adapters.storage.tables import inbox, reviews
from bots.compose import Application


@dataclass(kw_only=True)
class Chats:
    """Everything around turns, built on first use over one application."""

    application: Application

    @cached_property
    def database(self) -> Database:
        """The database, at the present version of its tables."""
        from adapters.storage.migrating import migrate

        storage = self.application.settings.storage
        database = Database(storage.url, busy_seconds=storage.busy_seconds)
        self.application.closing.push_async_callback(database.aclose)
        migrate(database)
        return database

    def alone(self) -> None:
        """Hold the database for this program alone, until the application closes; raises ConfigurationError.

        Two programs would answer every waiting message twice. On PostgreSQL nothing is held.
        """
        url = make_url(self.application.settings.storage.url)
        if url.get_backend_name() == "sqlite" and url.database:
            file = Path(url.database)
            make_folder(file)
            self.application.closing.callback(DatabaseLock(file).release)

    @cached_property
    def clock(self) -> WallClock:
        """The time of day for all that is kept."""
        return WallClock()

    @cached_property
    def keyring(self) -> Keyring:
        """The operator's secrets, from the settings or the file; a new one, not on disk yet, where there is none."""
        sessions = self.application.settings.sessions
        if sessions.secret is not None:
            former = (one.get_secret_value() for one in sessions.former_secrets)
            return from_texts(sessions.secret.get_secret_value(), former)
        file = sessions.secret_file
        return load(file) if file.exists() else Keyring(current=Secret.random())

    @cached_property
    def vault(self) -> Vault:
        """The secrets and what lies under them."""
        return Vault(database=self.database, keyring=self.keyring, now=self.clock)

    @cached_property
    def inbox_secret(self) -> Secret:
        """The key of waiting messages and reviews; a new one while none wait: no copy of the database then holds any that
        opens."""
        file = self.application.settings.sessions.inbox_key_file

        def work(connection: Connection) -> int:
            return sum(
                connection.execute(select(func.count()).select_from(one)).scalar_one() for one in (inbox, reviews)
            )

        return inbox_secret(file) if self.database.run_now(work) else renewed_inbox_secret(file)

    @cached_property
    def store(self) -> ChatStore:
        """Chats on disk."""
        sessions = self.application.settings.sessions
        return ChatStore(
            database=self.database,
            keyring=self.keyring,
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
    def spending(self) -> Spending:
        """The day's spending of all platforms together."""
        limits = self.application.settings.spending
        return Spending(
            store=self.store,
            tokens_a_day=limits.tokens_a_day,
            cost_a_day=limits.cost_a_day,
            today=lambda: int(self.clock() // 86_400),
        )

    @cached_property
    def facts(self) -> PrivacyFacts:
        """What people are told about who can read what they write."""
        settings = self.application.settings
        return PrivacyFacts(
            provider=self._provider,
            provider_stores=settings.models.store,
            idle_hours=settings.sessions.idle_hours,
            asked_days=self.questions.policy.every_days,
            sinks=self._sinks,
            log_level=settings.log_level,
        )

    @property
    def _provider(self) -> str | None:
        if self.application.chat_model is None:
            return None
        models = self.application.settings.models
        return urlsplit(models.base_url).hostname if models.base_url else "OpenAI"

    @property
    def _sinks(self) -> tuple[Sink, ...]:
        feedback = self.application.settings.feedback
        if not feedback.enabled:
            return ()
        host = urlsplit(feedback.webhook_url or "").hostname or ""
        return tuple(Sink(kind=one, host=host if one == "webhook" else "") for one in feedback.sinks)

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
    def feedback(self) -> FeedbackPort | None:
        """Feedback as chats see it, None where it is switched off."""
        if not self.application.settings.feedback.enabled:
            return None
        assistants = self.application.engine.assistants
        sources = {name: tuple(assistants[name].knowledge.sources) for name in assistants}
        return FeedbackDesk(
            questions=self.questions,
            allowed=AllowList.of(self.questions, sources),
            forwarding=self.forwarding,
            asked=AskedDays(database=self.database, keyring=self.keyring),
        )

    def limits(self) -> ChatLimits:
        """One platform's limits of each chat."""
        sessions = self.application.settings.sessions
        return ChatLimits(messages_a_minute=sessions.messages_a_minute, waiting=sessions.waiting_messages)

    def chat(self, platform: Platform) -> Chat:
        """The chats of one platform."""
        return Chat(
            session=replace(self.application.session, platform=platform.id),
            languages=self.languages,
            platform=platform,
            facts=self.facts,
            erase=self.store.erase,
            spending=self.spending,
            feedback=self.feedback,
        )

    async def begin(self) -> None:
        """Check what is stored against what is configured, before anything is written."""
        await self.database.check()
        await self.vault.open()
        sessions = self.application.settings.sessions
        if sessions.secret is None and not sessions.secret_file.exists():
            save(sessions.secret_file, self.keyring)
        await self.spending.load()
        if self.feedback is not None:
            await self.application.closing.enter_async_context(self.forwarding)

    async def sweep(self) -> None:
        """Erase what has expired, and save what was counted; raises StorageError."""
        await self.store.sweep(self.facts.asked_days)
        await self.count()

    async def count(self) -> None:
        """Save how often the referral was shown; raises StorageError."""
        await ReferralCounts(database=self.database).save(self.application.session.counts)
