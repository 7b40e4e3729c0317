"""What only the terminal needs to have said, by language: `config/console/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic import model_validator

from adapters.texts import ByLanguage, check_keys, read_texts
from engine import Outcome, Stage, Strict, check_braces

_PUT_IN: Mapping[str, frozenset[str]] = {
    "cites": frozenset({"titles"}),
    "why.sources": frozenset({"sources", "cited"}),
    "why.sent_back": frozenset({"reason"}),
    "why.about": frozenset({"sentence"}),
    "why.reminder": frozenset({"reminder"}),
    "why.calls": frozenset({"calls", "prompt", "completion"}),
}


class WhyTexts(Strict):
    """Why an answer is as it is, in parts. `questions`: what the judges of a name ask."""

    nothing: str
    outcomes: dict[Outcome, str]
    stages: dict[Stage, str]
    questions: dict[str, str]
    built_in: str
    sources: str
    none_cited: str
    sent_back: str
    failed: str
    about: str
    reminder: str
    calls: str


class ConsoleTexts(Strict):
    """All of one language. Braces name what is put in."""

    help: str
    goodbye: str
    stopped: str
    cites: str
    why: WhyTexts

    @model_validator(mode="after")
    def _whole(self) -> ConsoleTexts:
        check_keys("why.outcomes", self.why.outcomes, Outcome)
        check_keys("why.stages", self.why.stages, Stage)
        check_braces(self.model_dump(), _PUT_IN)
        return self


ConsoleLanguages: TypeAlias = ByLanguage[ConsoleTexts]


def load_console_texts(folder: Path, default: str = "en") -> ConsoleLanguages:
    """Every language in a folder; raises ConfigurationError."""
    texts = read_texts(folder, ConsoleTexts, (default,), called="texts of the terminal", remedy="Use one of: {known}.")
    return ByLanguage(texts=texts, default=default)
