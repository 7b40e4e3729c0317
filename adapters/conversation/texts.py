"""What a chat says around its answers, by language: `config/chat/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import model_validator

from adapters.people.texts import PeopleTexts
from adapters.texts import ByLanguage, check_keys, read_texts
from engine import Strict, check_braces

COMMANDS = (
    "start",
    "help",
    "ask",
    "topics",
    "source",
    "simpler",
    "shorter",
    "example",
    "more",
    "crisis",
    "country",
    "language",
    "privacy",
    "whocanread",
    "protocol",
    "feedback",
    "forget",
    "stop",
    "safe",
    "people",
    "report",
    "pause",
    "resume",
)
"""Every command of a chat. Platforms offer those that make sense there."""
_PUT_IN: Mapping[str, frozenset[str]] = {
    "welcome": frozenset({"name", "condition", "emergency"}),
    "not_end_to_end": frozenset({"platform"}),
    "goodbye_crisis": frozenset({"contacts"}),
    "choose_in": frozenset({"title"}),
    "topic_question": frozenset({"title"}),
    "source_rests_on": frozenset({"references"}),
    "picture": frozenset({"caption", "alt"}),
    "choose_country": frozenset({"country"}),
    "country_set": frozenset({"country"}),
    "too_many": frozenset({"emergency"}),
    "sorry": frozenset({"emergency"}),
    "cannot_take": frozenset({"emergency"}),
    "crowded": frozenset({"emergency"}),
    "forgotten_chat": frozenset({"count"}),
    "forgotten_waiting": frozenset({"count"}),
    "forgotten_polls": frozenset({"count"}),
    "forgotten_reviews": frozenset({"count"}),
    "forgotten_rest": frozenset({"platform"}),
    "whocanread.platform": frozenset({"platform"}),
    "whocanread.provider": frozenset({"provider", "stored"}),
    "whocanread.moderators": frozenset({"notice"}),
    "privacy.conversation": frozenset({"hours"}),
    "privacy.asked": frozenset({"days"}),
    "privacy.feedback": frozenset({"sinks"}),
    "privacy.logs": frozenset({"level"}),
    "privacy.traces": frozenset({"host"}),
    "sinks.webhook": frozenset({"host"}),
    "pauses.still": frozenset({"minutes", "contacts"}),
    "notices.again": frozenset({"emergency"}),
}


class ButtonTexts(Strict):
    """Labels of buttons."""

    consent: str
    whocanread: str
    decline_consent: str
    simpler: str
    shorter: str
    example: str
    more: str
    source: str
    helpful: str
    unhelpful: str
    crisis: str
    topics: str
    more_questions: str
    none_of_these: str
    all_topics: str
    skip: str
    yes: str
    no: str


class BotTexts(Strict):
    """What the platform shows before anybody has written."""

    short: str
    long: str


class WhoCanReadTexts(Strict):
    """Parts of the answer to “who can read this?”; `adapters/conversation/privacy.py` picks those that are true."""

    title: str
    you: str
    group: str
    platform: str
    web: str
    terminal: str
    provider: str
    provider_stores: str
    provider_asked_not: str
    no_provider: str
    operator: str
    operator_account: str
    moderators: str
    no_moderators: str
    nobody_called: str


class PrivacyTexts(Strict):
    """Parts of the answer to “what is kept?”."""

    title: str
    conversation: str
    conversation_memory: str
    waiting: str
    asked: str
    feedback: str
    no_feedback: str
    counts: str
    logs: str
    traces: str
    choice: str


class SinkTexts(Strict):
    """Where feedback goes, in words."""

    database: str
    webhook: str


class ReportTexts(Strict):
    """Around the report that an answer worried or harmed somebody; `help` stands above the contacts that follow it."""

    command: str
    button: str
    rather_not: str
    thanks: str
    again: str
    nothing_counted: str
    no_answer: str
    help: str
    kept: str


class PauseTexts(Strict):
    """A pause that a person makes in their own chat."""

    command: str
    button: str
    begun: str
    still: str
    over: str
    resume: str


class NoticeTexts(Strict):
    """That this is a program, beside the welcome: one line, the whole again, and for whom it is not written."""

    still: str
    again: str
    adults: str


class ChatTexts(Strict):
    """All of one language. Braces name what is put in."""

    language: str
    conditions: dict[str, str]
    welcome: str
    not_end_to_end: str
    ask_consent: str
    consent_first: str
    consented: str
    consented_with_question: str
    stopped: str
    goodbye_crisis: str
    help: str
    unknown_command: str
    topics: str
    choose_in: str
    topic_question: str
    unknown_topic: str
    source_is: str
    source_rests_on: str
    source_no_references: str
    no_source: str
    old_button: str
    picture: str
    choose_country: str
    country_set: str
    unknown_country: str
    choose_language: str
    language_set: str
    unknown_language: str
    working: str
    too_many: str
    late: str
    only_text: str
    edited: str
    sorry: str
    cannot_take: str
    crowded: str
    lost: str
    quoting_today: str
    review_due: str
    quoting_now: str
    forgotten: str
    forgotten_chat: str
    forgotten_waiting: str
    forgotten_asked: str
    forgotten_polls: str
    forgotten_reviews: str
    forgotten_nothing: str
    forgotten_rest: str
    buttons: ButtonTexts
    thumbs_thanks: str
    no_feedback_now: str
    not_yours: str
    commands: dict[str, str]
    bot: BotTexts
    whocanread: WhoCanReadTexts
    privacy: PrivacyTexts
    sinks: SinkTexts
    people: PeopleTexts
    reports: ReportTexts
    pauses: PauseTexts
    notices: NoticeTexts

    @model_validator(mode="after")
    def _whole(self) -> ChatTexts:
        check_keys("commands", self.commands, COMMANDS)
        check_braces(self.model_dump(exclude={"people"}), _PUT_IN)
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class Languages(ByLanguage[ChatTexts]):
    """The chat's texts of every language, and which language a platform means."""

    def known(self, platform_code: str) -> str | None:
        """The language that a platform's code means (“pt-BR”, “no”), None where there is no text for it."""
        code = platform_code.replace("_", "-").split("-")[0].casefold()
        code = {"no": "nb", "nn": "nb"}.get(code, code)
        return code if code in self.texts else None


def load_languages(folder: Path, default: str = "en") -> Languages:
    """Every language in a folder; raises ConfigurationError."""
    texts = read_texts(folder, ChatTexts, (default,), called="chat texts", remedy="Use one of: {known}.")
    return Languages(texts=texts, default=default)
