"""Checks of dangers: each is used, easy to read, told before all else, and the same in every knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine import (
    DANGERS_FILE,
    Dangers,
    DirectiveKind,
    KnowledgeBase,
    KnownDanger,
    conflicting_dangers,
    grade,
    read_dangers,
    read_manifest,
    stretches,
    words,
)
from kb_tools.lint.case import LintedCase
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.limits import LintLimits


def emergency_first(case: LintedCase) -> Iterator[LintFinding]:
    """In a source that is presented in parts, no emergency stands behind a section that has none.

    Whoever stops after the first part has then seen it. What stands above the first section comes with any part.
    """
    source = case.source
    if all(one.kind is not DirectiveKind.PARTS for one in source.directives):
        return
    emergencies = {one.id for one in source.dangers if one.emergency}
    calm: str | None = None
    for part in stretches(case.sheet.body):
        named = [one for one in source.directives if one.kind is DirectiveKind.DANGER and one.value in emergencies]
        first, last = part.line, part.line + part.body.count("\n")
        here = [one for one in named if first <= one.line - case.sheet.above <= last]
        if here and calm is not None:
            problem = f"The emergency {here[0].value!r} stands behind the section {calm!r}, which has none."
            yield case.error("danger", here[0].line, problem, "Put sections with an emergency first.")
        elif not here and part.level == 2 and calm is None:
            calm = part.heading


def table_of_dangers(base: KnowledgeBase, cases: Sequence[LintedCase], limits: LintLimits) -> Iterator[LintFinding]:
    """Every entry is included by some source, and the table is no harder to read than a source may be."""
    english = base.manifest.language.casefold().startswith("en")
    used = {one.value for case in cases for one in case.source.directives if one.kind is DirectiveKind.DANGER}
    for danger in base.dangers.entries.values():
        if danger.id not in used:
            problem = f"No source includes the danger {danger.id!r}."
            remedy = f"Write [danger: {danger.id}] in a source, or take the entry out."
            yield entry_fault(danger, problem, remedy)
        found = grade(danger.text) if english and len(words(danger.text)) >= limits.grade.from_words else 0.0
        if found > limits.grade.most:
            problem = f"The reading grade of {danger.id!r} is {found:.1f}, over {limits.grade.most:g}."
            remedy = "Nothing is to be shorter and plainer than an emergency."
            yield entry_fault(danger, problem, remedy)


def entry_fault(danger: KnownDanger, problem: str, remedy: str) -> LintFinding:
    """An error at the line of an entry."""
    file, line = danger.path, danger.line
    return LintFinding(check="danger", severity=Severity.ERROR, file=file, line=line, problem=problem, remedy=remedy)


def differing_dangers(base: KnowledgeBase) -> Iterator[LintFinding]:
    """No knowledge base beside this one, in the same language, has other words for a danger of the same id."""
    for problem in conflicting_dangers((*tables_beside(base), base.dangers)):
        if problem.file == base.folder / DANGERS_FILE:
            yield LintFinding.of(problem, base.folder, check="danger")


def tables_beside(base: KnowledgeBase) -> Iterator[Dangers]:
    """The tables of the other folders beside a knowledge base that are in its language."""
    for path in sorted(base.folder.resolve().parent.glob(f"*/{DANGERS_FILE}")):
        if path.parent != base.folder.resolve() and read_manifest(path.parent, []).language == base.manifest.language:
            yield read_dangers(path.parent)[0]
