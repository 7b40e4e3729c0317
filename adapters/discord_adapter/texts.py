"""What only Discord needs to have said, by language: `config/discord/<language>.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic import Field, model_validator

from adapters.texts import ByLanguage, check_keys, read_texts
from engine import Strict, check_braces

COMMANDS = (
    "ask", "topics", "source", "crisis", "people", "country", "language", "privacy", "whocanread", "protocol", "feedback",
    "forget",
)  # fmt: skip
"""Slash commands, in the order in which they are registered."""
OPTIONS = {"ask": "text", "topics": "topic", "country": "country", "language": "language"}
"""The one option of those commands that have one."""
LOCALES = {"en": ("en-US", "en-GB"), "nb": ("no",), "de": ("de",), "es": ("es-ES", "es-419"), "fr": ("fr",)}
"""Discord's names for our languages."""
_NAME = re.compile(r"[-_'\w]{1,32}")
_PUT_IN: Mapping[str, frozenset[str]] = {
    "for_you": frozenset({"person", "emergency"}),
    "answered_here": frozenset({"place"}),
    "asked_about": frozenset({"person", "topic"}),
    "asked": frozenset({"person"}),
    "answer_for": frozenset({"person"}),
    "paused": frozenset({"emergency"}),
    "crisis_note": frozenset({"count"}),
    "missing_permissions": frozenset({"place", "permissions"}),
}


class NamedText(Strict):
    """A name and a description, as Discord shows them while somebody types."""

    name: str = Field(min_length=1, max_length=32)
    description: str = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _whole(self) -> NamedText:
        if not _NAME.fullmatch(self.name) or self.name != self.name.lower():
            raise ValueError(f"{self.name}: small letters, digits and - only")
        return self


class ModalTexts(Strict):
    """The form for long questions."""

    title: str = Field(min_length=1, max_length=45)
    label: str = Field(min_length=1, max_length=45)
    placeholder: str = Field(min_length=1, max_length=100)


class DiscordTexts(Strict):
    """All of one language. Braces name what is put in: {person} and {place} are Discord's own marks, which notify nobody."""

    commands: dict[str, NamedText]
    options: dict[str, NamedText]
    ask_about: str = Field(min_length=1, max_length=32)
    modal: ModalTexts
    thread: str = Field(min_length=1, max_length=100)
    asked_about: str
    asked: str
    answer_for: str
    answered_here: str
    for_you: str
    show_me: str = Field(min_length=1, max_length=80)
    held: str
    not_approved: str
    paused: str
    not_here: str
    crisis_note: str
    crisis_note_notice: str
    missing_permissions: str

    @model_validator(mode="after")
    def _complete(self) -> DiscordTexts:
        check_keys("commands", self.commands, COMMANDS)
        check_keys("options", self.options, OPTIONS.values())
        # What Discord itself shows, beside commands and in forms, is never filled in.
        check_braces(self.model_dump(exclude={"commands", "options", "modal"}), _PUT_IN)
        return self


DiscordLanguages: TypeAlias = ByLanguage[DiscordTexts]


def load_discord_texts(folder: Path, default: str = "en") -> DiscordLanguages:
    """Every language in a folder; raises ConfigurationError."""
    remedy = "Use one of: {known}; commands are named in English where no other name is given."
    texts = read_texts(folder, DiscordTexts, (default, "en"), called="Discord texts", remedy=remedy)
    return ByLanguage(texts=texts, default=default)
