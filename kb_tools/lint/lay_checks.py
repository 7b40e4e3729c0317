"""Checks of lay questions: each section has enough lines to be found by, and a question for its button in each language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine import (
    KnowledgeBase,
    LayQuestions,
    Source,
    question_languages,
    questions_file,
    read_lay_questions,
)
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.limits import LintLimits


def thin_questions(base: KnowledgeBase, limits: LintLimits) -> Iterator[LintFinding]:
    """Sections that will hardly be found, or cannot be offered in a language; of faulty files nothing more is said.

    A knowledge base without lay questions needs none.
    """
    own = base.manifest.language.casefold().split("-")[0]
    languages = question_languages(base.folder)
    for language in languages if own in languages or not languages else (own, *languages):
        questions, problems = read_lay_questions(base.folder, language, base.sources)
        faulty = {one.file for one in problems}
        least = limits.lay_lines if language == own else 0
        for source in base.sources.values():
            file = questions_file(base.folder, language, source.id)
            if file not in faulty:
                yield from _of_source(source, file, questions, least)


def _of_source(source: Source, file: Path, questions: LayQuestions, least: int) -> Iterator[LintFinding]:
    if not file.is_file():
        problem = f"The source has no lay questions in {questions.language!r}."
        yield _warning(source.path, 1, problem, f"Write {'/'.join(file.parts[-3:])}; without it no button offers it.")
        return
    for section in source.sections:
        asked = questions.of(source.id, section.id)
        if len(asked.lines) < least:
            problem = f"The section {section.id!r} has {len(asked.lines)} lay questions, fewer than {least}."
            yield _warning(file, asked.place, problem, "Let people who have not read it write what they would type.")
        if not asked.offer:
            problem = f"The section {section.id!r} has no question for its button."
            yield _warning(file, asked.place, problem, "Write it below the section's line as '> question'.")


def _warning(file: Path, line: int, problem: str, remedy: str) -> LintFinding:
    return LintFinding(check="lay", severity=Severity.WARNING, file=file, line=line, problem=problem, remedy=remedy)
