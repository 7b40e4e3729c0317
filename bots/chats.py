"""What every platform's chats are made of: storage, secrets, texts, limits. Part of the composition root."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import urlsplit

from adapters.chat.chat import Chat
from adapters.chat.feedback_port import FeedbackPort
from adapters.chat.limits import ChatLimits
from adapters.chat.privacy import Platform, PrivacyFacts, Sink
from adapters.chat.spending import Spending
from adapters.chat.store import ChatStore
from adapters.chat.texts import Languages, load_languages
from adapters.feedback.asking import AskedDays
from adapters.feedback.composing import forwarding
from adapters.feedback.desk import FeedbackDesk
from adapters.feedback.events import AllowList
from adapters.feedback.questions import Questions, read_questions
from adapters.feedback.sinks import Forwarding
from adapters.storage.database import Database
from adapters.storage.keyring_file import from_texts, inbox_secret, load_or_make, renewed_inbox_secret
from adapters.storage.sealing import Keyring, Secret
from bots.compose import Application


@dataclass(kw_only=True)
class Chats:
    """Everything around turns, built on first use over one application."""

    application: Application

    @cached_property
    def database(self) -> Database:
        """The database, at the present version of its tables."""
        from adapters.storage.migrating import migrate

        database = Database(self.application.settings.storage.url)
        self.application.closing.push_async_callback(database.aclose)
        migrate(database)
        return database

    @cached_property
    def keyring(self) -> Keyring:
        """The operator's secrets, from the settings or the file, which is made on the first start."""
        sessions = self.application.settings.sessions
        if sessions.secret is not None:
            former = (one.get_secret_value() for one in sessions.former_secrets)
            return from_texts(sessions.secret.get_secret_value(), former)
        return load_or_make(sessions.secret_file)

    @cached_property
    def inbox_secret(self) -> Secret:
        """The key of waiting messages."""
        return inbox_secret(self.application.settings.sessions.inbox_key_file)

    @cached_property
    def store(self) -> ChatStore:
        """Chats on disk."""
        sessions = self.application.settings.sessions
        return ChatStore(
            database=self.database,
            keyring=self.keyring,
            inbox_secret=self.inbox_secret,
            idle_hours=sessions.idle_hours,
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
        return Spending(store=self.store, tokens_a_day=limits.tokens_a_day, cost_a_day=limits.cost_a_day)

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
        """Check what is stored against what is configured, and sweep out what has expired."""
        await self.store.check_secrets()
        await self.store.sweep(self.facts.asked_days)
        await self.spending.load()
        if self.feedback is not None:
            await self.application.closing.enter_async_context(self.forwarding)

    def renew_inbox_secret(self) -> None:
        """A new key of waiting messages while none wait: copies of the old database then hold nothing that opens."""
        renewed_inbox_secret(self.application.settings.sessions.inbox_key_file)
