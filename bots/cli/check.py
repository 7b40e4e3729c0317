"""`cafi check`: reads everything that is configured and lists what is wrong, each with its file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from adapters.console_adapter.texts import load_console_texts
from adapters.conversation.protocol import load_protocol
from adapters.conversation.texts import load_languages
from adapters.feedback.corrections import FILE as CORRECTIONS
from adapters.feedback.corrections import correction_faults
from adapters.feedback.questions import read_questions
from adapters.moderation.texts import load_moderation_texts
from adapters.people.services import FILE as PEOPLE
from adapters.people.services import people_warnings
from adapters.storage.private_files import read_by_others
from adapters.web_adapter.texts import load_web_texts
from bots.compose import Application
from bots.options import application
from bots.paths import data_root
from bots.secret_file import database_file, is_beside, secret_file
from bots.settings import CafiSettings
from bots.traces import untaken
from engine import (
    AssistantSettings,
    ConfigurationError,
    CountryContacts,
    Dangers,
    KnowledgeBase,
    Prompts,
    ReferralTexts,
    RuleBook,
    Situation,
    Texts,
    UnreachableModel,
    conflicting_dangers,
    contact_faults,
    contact_warnings,
    lay_question_faults,
    questions_file,
    read_lay_questions,
    read_yaml,
    scan_edition,
    scan_knowledge,
)


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


def findings(config: Path | None, kb: Path | None, agents: str | None, language: str | None = None) -> list[Finding]:
    """Everything that is wrong, errors first; with a language, what it lacks too."""
    try:
        running = application(config, kb, agents)
    except ConfigurationError as error:
        return [Finding(level="error", problem=error)]
    # Not among `findings_of`, which the operator's page shows: it would wait for the collector each time.
    traces = _traces(running.settings, _file(config))
    return [*findings_of(running, config), *traces, *(() if language is None else missing_in(running, language))]


def missing_in(running: Application, language: str) -> Iterator[Finding]:
    """What a language lacks beside English: files of sentences, an assistant's own words, sources, dangers, lay questions."""
    folder = running.settings.config_folder
    for path in sorted((*folder.rglob("en.yaml"), *folder.rglob("en.md"), *folder.rglob("en.txt"))):
        there = path.with_stem(language)
        if path.parent.name not in {"crisis"} and not there.is_file():
            yield _lacking(there, f"There are no sentences in {language!r}.", f"Translate {path.name} beside it.")
    for name in running.settings.assistants:
        settings = running.assistant_settings(name)
        if language not in settings.in_languages:
            file = folder / "assistants" / f"{name}.yaml"
            yield _lacking(
                file, f"The assistant has no words of its own in {language!r}.", "Add them to `in_languages`."
            )
        base, _ = scan_knowledge(settings.knowledge_base)
        if base is None or base.language == language:
            continue
        if language not in base.manifest.in_languages:
            problem = f"There is no title and no notice in {language!r}."
            yield _lacking(base.folder / "manifest.yaml", problem, "Add them to `in_languages`.")
        edition, _ = scan_edition(base, language)
        for source in edition.sources.values():
            if source.foreign_sections:
                count = f"{len(source.foreign_sections)} of {len(source.sections)} sections"
                problem = f"{count} of {source.id!r} are not translated."
                yield _lacking(source.path, problem, f"`cafi kb translate {language} {source.id}` drafts them.")
        for danger in edition.dangers.entries.values():
            if not danger.of:
                yield _lacking(danger.path, f"The danger {danger.id!r} is not translated.", None, danger.line)
        asked = read_lay_questions(base.folder, language, base.sources)[0].sections
        for source in base.sources.values():
            if not any((source.id, one.id) in asked for one in source.sections):
                path = questions_file(base.folder, language, source.id)
                yield _lacking(path, f"Nobody has written how people ask for {source.id!r} in {language!r}.", None)


def _lacking(file: Path, problem: str, remedy: str | None, line: int = 1) -> Finding:
    return Finding(level="warning", problem=ConfigurationError(problem, file=file, line=line, remedy=remedy))


def findings_of(running: Application, config: Path | None = None) -> list[Finding]:
    """The same for an application with its settings, which came from `config` or the usual file."""
    file = _file(config)
    found = [*_crisis(running), *_assistants(running), *_files(running), *_private(running), *_spending(running, file)]
    if not any(one.level == "error" for one in found):
        found += [*_tried(lambda: running.chat_model), *_unscoped(running), *_untold(running)]
        # How the parts fit: handoffs, and every template, even where only built-in agents are to run.
        rehearsal = Application(settings=running.settings, model=UnreachableModel())
        found += _tried(lambda: dict(rehearsal.engine.assistants))
    return sorted(found, key=lambda one: one.level != "error")


def _file(config: Path | None) -> Path:
    return config or data_root() / "config" / "cafi.yaml"


def _spending(running: Application, file: Path) -> Iterator[Finding]:
    """A model that anybody may ask without end costs without end; and what costs nothing known reaches no limit of cost."""
    settings = running.settings
    if not settings.uses_llm or _tried(lambda: running.prices):
        return
    yield from _spending_there(running, file)
    each = settings.models.endpoints
    if settings.spending.tokens_a_day is not None or (each and all(one.tokens_a_day for one in each)):
        return
    key, remedy = "spending.tokens_a_day", "Set it, or CAFI_SPENDING__TOKENS_A_DAY, for example to 2000000."
    if settings.spending.cost_a_day is None:
        if each and all(one.tokens_a_day or one.cost_a_day for one in each):
            return
        problem = "A language model is configured and nothing limits what it may spend a day."
        yield Finding(level="error", problem=ConfigurationError(problem, file=file, key=key, remedy=remedy))
        return
    own = {one.name: set(one.prices) for one in each}
    places = settings.models.places.items()
    if unknown := sorted({one for name, at in places for one in at.names - set(running.prices) - own.get(name, set())}):
        problem = f"spending.cost_a_day counts nothing for {', '.join(unknown)}: config/prices.yaml has no price."
        yield Finding(level="error", problem=ConfigurationError(problem, file=file, key=key, remedy=remedy))


def _traces(settings: CafiSettings, file: Path) -> Iterator[Finding]:
    """Whether traces could be sent, where the operator wants some; a bot answers without them."""
    try:
        problem = untaken(settings, file)
    except ConfigurationError as error:
        yield Finding(level="error", problem=error)
        return
    if problem is not None:
        yield Finding(level="warning", problem=problem)


def _spending_there(running: Application, file: Path) -> Iterator[Finding]:
    """An endpoint's own limit of cost, which counts nothing where a price is missing."""
    models = running.settings.models
    for one in models.endpoints:
        unknown = sorted(models.places[one.name].names - set(running.prices) - set(one.prices))
        if one.cost_a_day is not None and unknown:
            problem = ConfigurationError(
                f"It counts nothing for {', '.join(unknown)}: there is no price.",
                file=file,
                key=f"models.endpoints.{one.name}.cost_a_day",
                remedy=f"Add models.endpoints.{one.name}.prices, or set tokens_a_day.",
            )
            yield Finding(level="error", problem=problem)


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
    yield from _tried(lambda: running.translator_prompt)
    yield from _tried(lambda: running.stakes)
    yield from _tried(lambda: running.prices)
    yield from _tried(lambda: load_moderation_texts(folder / "discord_moderation"))
    yield from _tried(lambda: running.lint_limits)
    yield from _tried(lambda: running.elsewhere)
    yield from _tried(lambda: running.phrases)
    yield from _tried(lambda: running.human_claims)
    yield from _tried(lambda: running.urgency_floor)
    yield from _tried(lambda: running.urgency_classifier)
    yield from _tried(lambda: running.situations)
    yield from _tried(lambda: running.resolution)
    yield from _tried(lambda: running.responses)
    yield from _tried(lambda: running.danger_kinds)
    yield from _tried(lambda: running.person_in_danger)
    yield from _tried(lambda: running.short_languages)
    yield from _tried(lambda: read_questions(folder / "feedback.yaml"))
    yield from _people(running)
    yield from _around(running)
    for path in sorted((folder / "crisis" / "texts").glob("*.yaml")):
        yield from _tried(lambda path=path: read_yaml(path, ReferralTexts))  # type: ignore[misc]


def _people(running: Application) -> Iterator[Finding]:
    """Who answers for the bot, where the operator names somebody."""
    folder = running.settings.config_folder
    found = _tried(lambda: running.people)
    yield from found
    if not found:
        languages = tuple(sorted(one.stem for one in (folder / "chat").glob("*.yaml")))
        warnings = people_warnings(running.people, folder / PEOPLE, languages)
        yield from (Finding(level="warning", problem=one) for one in warnings)


def _unscoped(running: Application) -> Iterator[Finding]:
    """Languages of the guide in which nothing says what other subjects are."""
    for language in sorted(set(running.guide_texts) - set(running.elsewhere)):
        file = running.settings.config_folder / "elsewhere" / f"{language}.txt"
        problem = f"There are no lines about other subjects in {language!r}: a question about anything may be answered."
        yield _lacking(file, problem, "Write some, one a line.")


def _untold(running: Application) -> Iterator[Finding]:
    """Languages of the guide that lack sentences for what people tell, or the questions that follow them."""
    situations = running.situations.situations
    for language, texts in sorted(running.guide_texts.items()):
        file = running.settings.config_folder / "guide" / f"{language}.yaml"
        for what, wanted, there, remedy in (
            ("sentences", situations, texts.remarks.told, "`told`; until then one for whatever was told is said"),
            ("questions", _asked(situations), texts.remarks.asked, "`asked`; until then nothing is asked back"),
        ):
            if lacking := [one for one in wanted if one not in there]:
                problem = f"No {what} in {language!r} for what people tell: {', '.join(lacking[:3])}"
                problem += f" and {len(lacking) - 3} more." if len(lacking) > 3 else "."
                yield _lacking(file, problem, f"Write them below `remarks`, {remedy}.")


def _asked(situations: Mapping[str, Situation]) -> tuple[str, ...]:
    """The questions that follow what people tell, each once."""
    return tuple(dict.fromkeys(one.ask for one in situations.values() if one.ask))


def _corrections(path: Path, bases: Mapping[str, KnowledgeBase]) -> Iterator[Finding]:
    """What is told of corrections, and is not there."""
    found: list[ConfigurationError] = []
    yield from _tried(lambda: found.extend(correction_faults(path, bases, date.today())))
    yield from (Finding(level="error", problem=one) for one in found)


def _private(running: Application) -> Iterator[Finding]:
    """What other accounts, or whoever comes by a copy of one folder, could read."""
    settings = running.settings
    database = database_file(settings)
    files = [settings.sessions.inbox_key_file, settings.moderation.file]
    if database is not None:
        files += [database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))]
    if settings.sessions.secret is None:
        found = _tried(lambda: files.append(secret_file(settings)))
        yield from found
        if not found and is_beside(settings):
            yield Finding(level="warning", problem=_beside(settings))
    folders = {one.parent for one in files if one.parent not in {Path(), Path.cwd()}}
    for one in (*sorted(folders), *files):
        if read_by_others(one):
            problem = ConfigurationError(
                "Other accounts of this computer may read it.", file=one, remedy=f"chmod go-rwx {shlex.quote(str(one))}"
            )
            yield Finding(level="warning", problem=problem)


def _beside(settings: CafiSettings) -> ConfigurationError:
    """The secret lies where the database is."""
    named = settings.sessions.secret_file is not None
    return ConfigurationError(
        "The secret is in the database's folder: whoever has a copy of that has both.",
        file=secret_file(settings),
        key="sessions.secret_file",
        remedy="Stop CAFI, move the file and change the setting." if named else "Stop CAFI, then: cafi secret move",
    )


def _around(running: Application) -> Iterator[Finding]:
    """The texts around answers, those of the terminal, and those of the web page where it is switched on."""
    folder = running.settings.config_folder
    found = _tried(lambda: load_languages(folder / "chat", running.settings.crisis.language))
    yield from found
    if not found:
        yield from _tried(
            lambda: load_protocol(folder, load_languages(folder / "chat", running.settings.crisis.language))
        )
    yield from _tried(lambda: load_console_texts(folder / "console", running.settings.crisis.language))
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
            yield from (Finding(level="error", problem=one) for one in contact_faults(contacts, path))
        yield from (Finding(level="warning", problem=one) for one in contact_warnings(contacts, path, date.today()))


def _assistants(running: Application) -> Iterator[Finding]:
    tables: dict[tuple[str, Path], Dangers] = {}
    bases: dict[str, KnowledgeBase] = {}
    for name in running.settings.assistants:
        try:
            settings = running.assistant_settings(name)
        except ConfigurationError as error:
            yield Finding(level="error", problem=error)
            continue
        yield from _parts(running, settings)
        base, problems = scan_knowledge(settings.knowledge_base)
        yield from (Finding(level="error", problem=one) for one in problems)
        if base is not None:
            asked = lay_question_faults(base.folder, base.sources)
            yield from (Finding(level="error", problem=one) for one in asked)
            for language in base.languages[1:]:
                yield from (Finding(level="error", problem=one) for one in scan_edition(base, language)[1])
            bases[name] = base
            tables[base.manifest.language, base.folder.resolve()] = base.dangers
    yield from _corrections(running.settings.config_folder / CORRECTIONS, bases)
    for language in dict.fromkeys(spoken for spoken, _ in tables):
        same = [table for (spoken, _), table in tables.items() if spoken == language]
        yield from (Finding(level="error", problem=one) for one in conflicting_dangers(same))


def _parts(running: Application, settings: AssistantSettings) -> Iterator[Finding]:
    folder = running.settings.config_folder
    yield from _tried(lambda: RuleBook.load(folder / "rules", settings.rules))
    yield from _tried(lambda: Texts.load(folder / "texts" / f"{settings.texts}.yaml"))
