"""The linter on one changed text, before it is a file: what keeps it from taking the place of the one that is there.

The whole folder takes seconds, too long for somebody who writes. This looks at the text itself, at what it names, and at
what names it: lay questions, translations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from engine import (
    TRANSLATIONS,
    KnowledgeBase,
    KnowledgeBaseError,
    Sheet,
    Source,
    dead_links,
    grade,
    lay_question_faults,
    read_source,
    read_translations,
    translated_languages,
    without_brackets,
)
from kb_tools.lint.case import LintedCase
from kb_tools.lint.finding import LintFinding
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import FOREIGN_CHECKS, OWN_CHECKS
from kb_tools.lint.sign_checks import signs_in_prose
from kb_tools.lint.translation_checks import source_findings
from kb_tools.reading_ease import EASE


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftLint:
    """What is said of a changed text. `ease`: how easy it is to read by the measure `measure`, None where there is none."""

    findings: tuple[LintFinding, ...]
    measure: str
    ease: float | None


def lint_draft(base: KnowledgeBase, name: str, language: str, text: str, limits: LintLimits, today: date) -> DraftLint:
    """Check a text that is to stand in place of a source, or of its translation where `language` is not the base's.

    Raises OSError where no passing file can be made.
    """
    with TemporaryDirectory() as made:
        folder = Path(made)
        if language == base.language:
            return _original(base, name, text, folder, limits, today)
        return _translation(base, name, language, text, folder, limits)


def _original(base: KnowledgeBase, name: str, text: str, folder: Path, limits: LintLimits, today: date) -> DraftLint:
    path = folder / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    source, problems = read_source(path, dangers=base.dangers)
    found = [LintFinding.of(one, folder) for one in problems]
    if source is None:
        return DraftLint(findings=tuple(found), measure="", ease=None)
    found += _of_source(base, source, limits, today)
    found += [LintFinding.of(one, base.folder) for one in _left_behind(base, source)]
    measure = EASE.get(base.language)
    if measure is not None:
        return DraftLint(findings=_in_order(found), measure=measure.name, ease=measure.measured(source.prose))
    ease = grade(source.prose) if base.language == "en" else None
    return DraftLint(findings=_in_order(found), measure="" if ease is None else "Flesch-Kincaid", ease=ease)


def _of_source(base: KnowledgeBase, source: Source, limits: LintLimits, today: date) -> Iterator[LintFinding]:
    case = LintedCase(
        source=source, sheet=Sheet.read(source.path), limits=limits, today=today, english=base.language == "en"
    )
    for check in FOREIGN_CHECKS if source.foreign else OWN_CHECKS:
        yield from check(case)
    yield from _taken_out(base.sources[source.id], source, case)
    changed = replace(base, sources={**base.sources, source.id: source})
    dead = dead_links(changed, changed.sources)
    yield from (LintFinding.of(one, base.folder) for one in dead if one.file == source.path)
    yield from signs_in_prose(changed, [case], limits)


def _taken_out(before: Source, source: Source, case: LintedCase) -> Iterator[LintFinding]:
    """What must not go unseen: the front matter, and dangers that stood in the text."""
    if source.foreign and not before.foreign:
        yield case.error("reading", 1, "The front matter is missing.", "It stands at the top, between two lines '---'.")
    for one in before.dangers:
        if one.id not in {each.id for each in source.dangers}:
            yield case.warning("danger", case.first_line, f"The danger {one.id!r} does not stand in the text any more.")


def _left_behind(base: KnowledgeBase, source: Source) -> Iterator[KnowledgeBaseError]:
    """Lay questions and translations of sections that the changed text does not have any more."""
    before = {str(one) for one in lay_question_faults(base.folder, base.sources)}
    after = lay_question_faults(base.folder, {**base.sources, source.id: source})
    yield from (one for one in after if str(one) not in before)
    for language in translated_languages(base.folder):
        known = read_translations(base.folder, language, {source.id: base.sources[source.id]})[1]
        found = read_translations(base.folder, language, {source.id: source})[1]
        yield from (one for one in found if str(one) not in {str(each) for each in known})


def _translation(
    base: KnowledgeBase, name: str, language: str, text: str, folder: Path, limits: LintLimits
) -> DraftLint:
    place = folder / TRANSLATIONS / language
    place.mkdir(parents=True)
    (folder / f"{name}.md").touch()  # so that nobody asks where the original is
    (place / f"{name}.md").write_text(text, encoding="utf-8")
    source = base.sources[name]
    read, problems = read_translations(folder, language, {name: source})
    found = [LintFinding.of(one, folder) for one in problems]
    measure = EASE.get(language)
    if name in read:
        found += source_findings(source, read[name], limits, language)
    ease = measure.measured(without_brackets(read[name].body)) if measure is not None and name in read else None
    return DraftLint(findings=_in_order(found), measure="" if measure is None else measure.name, ease=ease)


def _in_order(found: list[LintFinding]) -> tuple[LintFinding, ...]:
    return tuple(sorted(dict.fromkeys(found), key=lambda one: (one.severity, one.line, one.check)))
