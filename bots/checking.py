"""`cafi check`: reads everything that is configured and lists what is wrong, each with its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from adapters.chat.texts import load_languages
from adapters.crisis import CountryContacts, ReferralTexts, faults, warnings
from adapters.feedback.questions import read_questions
from adapters.moderation.texts import load_moderation_texts
from adapters.web_adapter.texts import load_web_texts
from bots.compose import Application
from bots.options import application
from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.knowledge.base import scan
from engine.knowledge.dangers import Dangers, differing
from engine.models.scripted import UnreachableModel
from engine.prompts import Prompts
from engine.rules import RuleBook
from engine.settings import AssistantSettings
from engine.texts import Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong (error) or wants attention (warning)."""

    level: str
    problem: ConfigurationError

    @property
    def text(self) -> str:
        """File, line, key, problem and remedy in one line."""
        return str(self.problem)

    def as_document(self) -> dict[str, Any]:
        """The finding for JSON."""
        one = self.problem
        place = None if one.file is None else str(one.file)
        return {
            "level": self.level,
            "file": place,
            "line": one.line,
            "key": one.key,
            "problem": one.problem,
            "remedy": one.remedy,
        }


def findings(config: Path | None, kb: Path | None, agents: str | None) -> list[Finding]:
    """Everything that is wrong, errors first."""
    try:
        running = application(config, kb, agents)
    except ConfigurationError as error:
        return [Finding(level="error", problem=error)]
    return findings_of(running)


def findings_of(running: Application) -> list[Finding]:
    """The same for an application with its settings."""
    found = [*_crisis(running), *_assistants(running), *_files(running)]
    if not any(one.level == "error" for one in found):
        found += _tried(lambda: running.chat_model)
        # How the parts fit: handoffs, and every template, even where only built-in agents are to run.
        rehearsal = Application(settings=running.settings, model=UnreachableModel())
        found += _tried(lambda: dict(rehearsal.engine.assistants))
    return sorted(found, key=lambda one: one.level != "error")


def _tried(read: Callable[[], object]) -> list[Finding]:
    try:
        read()
    except ConfigurationError as error:
        return [Finding(level="error", problem=error)]
    return []


def _files(running: Application) -> Iterator[Finding]:
    folder = running.settings.config_folder
    yield from _tried(lambda: Prompts.load(running.settings.prompts_folder))
    yield from _tried(lambda: running.importer_prompt)
    yield from _tried(lambda: running.stakes)
    yield from _tried(lambda: running.prices)
    yield from _tried(lambda: load_moderation_texts(folder / "discord_moderation"))
    yield from _tried(lambda: running.lint_limits)
    yield from _tried(lambda: running.synonyms)
    yield from _tried(lambda: running.lexicon)
    yield from _tried(lambda: running.urgency_rules)
    yield from _tried(lambda: running.urgency_classifier)
    yield from _tried(lambda: read_questions(folder / "feedback.yaml"))
    yield from _around(running)
    for path in sorted((folder / "crisis" / "texts").glob("*.yaml")):
        yield from _tried(lambda path=path: read_yaml(path, ReferralTexts))  # type: ignore[misc]


def _around(running: Application) -> Iterator[Finding]:
    """The texts around answers, and those of the web page where it is switched on."""
    folder = running.settings.config_folder
    found = _tried(lambda: load_languages(folder / "chat", running.settings.crisis.language))
    yield from found
    if not running.settings.web.enabled or found:
        return
    languages = load_languages(folder / "chat", running.settings.crisis.language)
    yield from _tried(lambda: load_web_texts(folder / "web", languages))


def _crisis(running: Application) -> Iterator[Finding]:
    folder = running.settings.config_folder / "crisis"
    found = _tried(lambda: running.referrals)
    yield from found
    named = {one.problem.file for one in found}
    for path in sorted(folder.glob("*.yaml")):
        try:
            contacts = read_yaml(path, CountryContacts)
        except ConfigurationError as error:
            yield from () if path in named else [Finding(level="error", problem=error)]
            continue
        if path not in named:  # the first fault of all countries has been reported above
            yield from (Finding(level="error", problem=one) for one in faults(contacts, path))
        yield from (Finding(level="warning", problem=one) for one in warnings(contacts, path, date.today()))


def _assistants(running: Application) -> Iterator[Finding]:
    tables: dict[tuple[str, Path], Dangers] = {}
    for name in running.settings.assistants:
        try:
            settings = running.assistant_settings(name)
        except ConfigurationError as error:
            yield Finding(level="error", problem=error)
            continue
        yield from _parts(running, settings)
        base, problems = scan(settings.knowledge_base)
        yield from (Finding(level="error", problem=one) for one in problems)
        if base is not None:
            tables[base.manifest.language, base.folder.resolve()] = base.dangers
    for language in dict.fromkeys(spoken for spoken, _ in tables):
        same = [table for (spoken, _), table in tables.items() if spoken == language]
        yield from (Finding(level="error", problem=one) for one in differing(same))


def _parts(running: Application, settings: AssistantSettings) -> Iterator[Finding]:
    folder = running.settings.config_folder
    yield from _tried(lambda: RuleBook.load(folder / "rules", settings.rules))
    yield from _tried(lambda: Texts.load(folder / "texts" / f"{settings.texts}.yaml"))
