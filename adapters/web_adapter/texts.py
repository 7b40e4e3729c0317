"""What the web page says around the chat, by language: `config/web/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import model_validator

from adapters.conversation.texts import Languages
from adapters.texts import check_keys, read_texts
from engine import Purpose, Strict, check_braces

_PUT_IN: Mapping[str, frozenset[str]] = {
    "title": frozenset({"page", "name"}),
    "start.lead": frozenset({"condition"}),
    "start.ended": frozenset({"hours"}),
    "start.emergency": frozenset({"emergency"}),
    "forget.rest": frozenset({"hours"}),
    "sources.count": frozenset({"count"}),
    "sources.rests": frozenset({"references"}),
    "sources.reviewed": frozenset({"who"}),
    "help.country_now": frozenset({"country"}),
    "access.contact": frozenset({"contact"}),
    "errors.code": frozenset({"code"}),
    "chat.not_sent": frozenset({"emergency"}),
    "chat.paused": frozenset({"emergency"}),
    "results.at_least": frozenset({"count"}),
    "results.corrected": frozenset({"date", "what"}),
}


class FrameTexts(Strict):
    """What stands on every page."""

    skip: str
    main_menu: str
    chat: str
    sources: str
    privacy: str
    feedback: str
    access: str
    look: str
    help: str
    help_title: str
    leave: str
    leave_about: str
    browser_keeps: str
    browser_clear: str
    footer: str
    close: str
    continue_chat: str


class StartTexts(Strict):
    """The first page."""

    heading: str
    lead: str
    program: str
    checked: str
    not_doctor: str
    emergency: str
    who_heading: str
    kept_heading: str
    choose_heading: str
    language: str
    country: str
    country_about: str
    country_none: str
    begin: str
    change_language: str
    ended: str
    english: str


class ConversationTexts(Strict):
    """The chat page."""

    heading: str
    log: str
    you: str
    program: str
    question: str
    question_about: str
    send: str
    keys: str
    looking: str
    look_again: str
    sources_of: str
    sources_of_many: str
    actions: str
    referral: str
    empty: str
    examples: str
    forget: str
    print: str
    print_about: str
    connection_lost: str
    not_sent: str
    paused: str
    vote: str


class HelpTexts(Strict):
    """The contacts, on every page and on one of their own."""

    contacts: str
    lead: str
    always: str
    more: str
    country_now: str
    change_country: str
    purposes: dict[str, str]


class SourcesTexts(Strict):
    """The sources browser."""

    heading: str
    lead: str
    search: str
    search_button: str
    count: str
    none: str
    all: str
    rests: str
    no_references: str
    reviewed: str
    not_reviewed: str
    review_due: str
    passage_link: str
    english: str
    high_stakes: str


class PrivacyPageTexts(Strict):
    """Who can read this, and what is kept."""

    heading: str
    cookies_heading: str
    cookies: str
    addresses: str
    third: str
    forget_heading: str
    forget: str


class FeedbackTexts(Strict):
    """The feedback page."""

    heading: str
    lead: str
    send: str
    skip: str
    none: str
    switched_off: str
    thanks: str
    expired: str


class ResultsTexts(Strict):
    """What became of reports, on the feedback page."""

    heading: str
    lead: str
    few: str
    at_least: str
    corrected: str


class ForgetTexts(Strict):
    """Erasing the conversation."""

    heading: str
    lead: str
    erase: str
    keep: str
    done: str
    rest: str
    again: str


class LookTexts(Strict):
    """Language, country, text size, colours."""

    heading: str
    size: str
    sizes: tuple[str, str, str]
    theme: str
    themes: tuple[str, str, str]
    save: str
    saved: str


class AccessTexts(Strict):
    """The accessibility statement."""

    heading: str
    paragraphs: tuple[str, ...]
    known_heading: str
    known: tuple[str, ...]
    contact_heading: str
    contact: str
    no_contact: str


class ErrorTexts(Strict):
    """Calm words for what went wrong."""

    heading: str
    not_found: str
    too_many: str
    too_long: str
    not_ours: str
    kept: str
    broken: str
    unavailable: str
    help: str
    code: str


class ProtocolPageTexts(Strict):
    """What leads to the protocol of what is done about danger."""

    link: str


class WebTexts(Strict):
    """All of one language. Braces name what is put in."""

    title: str
    frame: FrameTexts
    start: StartTexts
    chat: ConversationTexts
    help: HelpTexts
    sources: SourcesTexts
    privacy: PrivacyPageTexts
    feedback: FeedbackTexts
    forget: ForgetTexts
    look: LookTexts
    access: AccessTexts
    errors: ErrorTexts
    results: ResultsTexts
    protocol: ProtocolPageTexts

    @property
    def notice(self) -> str:
        """What the first page says of this being a program."""
        start = self.start
        return "\n".join((start.program, start.checked, start.not_doctor, start.emergency))

    @model_validator(mode="after")
    def _whole(self) -> WebTexts:
        check_keys("help.purposes", self.help.purposes, get_args(Purpose))
        check_braces(self.model_dump(), _PUT_IN)
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class WebLanguages:
    """The page's texts of every language, beside the chat's."""

    texts: Mapping[str, WebTexts]
    chat: Languages

    def known(self, accepted: str) -> str:
        """The first language of an Accept-Language header that there are texts in, else the operator's."""
        for part in accepted[:200].split(","):
            language = self.chat.known(part.partition(";")[0].strip())
            if language is not None:
                return language
        return self.chat.default


def load_web_texts(folder: Path, chat: Languages) -> WebLanguages:
    """The page's texts in every language of the chat; raises ConfigurationError."""
    remedy = "Add {missing}.yaml, or remove the language from config/chat."
    texts = read_texts(folder, WebTexts, sorted(chat.texts), called="texts for the web page", remedy=remedy)
    return WebLanguages(texts=texts, chat=chat)
