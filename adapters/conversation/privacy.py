"""“Who can read this?” and “What is kept?”, made from what is really configured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from adapters.conversation.texts import ChatTexts

Carrier = Literal["platform", "web", "terminal"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """A place where people meet the bot. `id` is used in counts, `name` is how people call it."""

    id: str
    name: str
    carrier: Carrier = "platform"


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedbackDestination:
    """Where feedback goes: `kind` is database or webhook, `host` the webhook's."""

    kind: Literal["database", "webhook"]
    host: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivacyFacts:
    """What the live configuration means for people. `provider`: the host of the language model, None without one.

    `moderators`: in the operator's own words what moderators are shown, empty for nothing; `crisis_notes`: they are told
    that somebody was shown where help is. `in_memory`: nothing of a chat is on disk.
    `reports`: it is counted what worried or harmed somebody. `traces`: the host that is told how long answers took.
    """

    provider: str | None = None
    provider_stores: bool = False
    idle_hours: int = 24
    asked_days: int = 14
    sinks: tuple[FeedbackDestination, ...] = ()
    log_level: str = "INFO"
    moderators: str = ""
    crisis_notes: bool = False
    in_memory: bool = False
    reports: bool = False
    traces: str = ""


class ModeratorNotices(Protocol):
    """What is told of moderators, as they have set it at the moment; empty for nothing. Languages as somebody chose them."""

    def reads(self, language: str | None) -> str:
        """What they read."""
        ...

    def kept(self, language: str | None) -> str:
        """What waits for them, and for how long."""
        ...


def who_can_read(facts: PrivacyFacts, platform: Platform, texts: ChatTexts, *, private: bool) -> str:
    """Everybody who can read a chat, one line each."""
    return "\n".join(f"- {line}" if at else line for at, line in enumerate(_readers(facts, platform, texts, private)))


def _readers(facts: PrivacyFacts, platform: Platform, texts: ChatTexts, private: bool) -> Iterator[str]:
    said = texts.whocanread
    yield said.title
    yield said.you
    if not private:
        yield said.group
    yield {"platform": said.platform, "web": said.web, "terminal": said.terminal}[platform.carrier].format(
        platform=platform.name
    )
    if facts.provider is None:
        yield said.no_provider
    else:
        stored = said.provider_stores if facts.provider_stores else said.provider_asked_not
        yield said.provider.format(provider=facts.provider, stored=stored)
    if platform.carrier == "platform":  # an account can be known or tried; a session of the web page cannot
        yield said.operator_account
    elif platform.carrier == "web":
        yield said.operator
    yield said.moderators.format(notice=facts.moderators) if facts.moderators else said.no_moderators
    if not facts.crisis_notes:  # "I never tell anyone" would not be true
        yield said.nobody_called


def what_is_kept(facts: PrivacyFacts, texts: ChatTexts) -> str:
    """Everything that is kept, and for how long, one line each."""
    return "\n".join(f"- {line}" if at else line for at, line in enumerate(_kept(facts, texts)))


def _kept(facts: PrivacyFacts, texts: ChatTexts) -> Iterator[str]:
    said = texts.privacy
    yield said.title
    if facts.in_memory:
        yield said.conversation_memory
    else:
        yield said.conversation.format(hours=facts.idle_hours)
        yield said.waiting
    if facts.sinks:
        if not facts.in_memory:
            yield said.asked.format(days=facts.asked_days)
        where = "; ".join(getattr(texts.sinks, sink.kind).format(host=sink.host) for sink in facts.sinks)
        yield said.feedback.format(sinks=where)
    else:
        yield said.no_feedback
    if facts.reports:
        yield texts.reports.kept
    yield said.counts
    yield said.logs.format(level=facts.log_level)
    if facts.traces:
        yield said.traces.format(host=facts.traces)
    yield said.choice
