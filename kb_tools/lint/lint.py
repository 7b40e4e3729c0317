"""The linter: everything that can be said of a knowledge base without asking a person or a model.

Reading finds what keeps a source from being used; the checks find what keeps it from being trusted, found or
understood. A manual from elsewhere, without front matter, and a draft that a program has made are held to what can be
read; of their prose the linter only warns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean

from engine import (
    UNSIGNED,
    KnowledgeBase,
    KnowledgeBaseError,
    Manifest,
    Sheet,
    Source,
    assemble,
    belongs,
    dead_links,
    grade,
    lay_question_faults,
    line_of,
    read_text,
    scan_knowledge,
    sheet_of,
    texts_of,
    words,
)
from kb_tools.lint.case import LintedCase
from kb_tools.lint.danger_checks import differing_dangers, emergency_first, table_of_dangers
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.lay_checks import thin_questions
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.prose_checks import PROSE_CHECKS, length, reading_grade
from kb_tools.lint.question_checks import QUESTION_CHECKS, repeated_questions
from kb_tools.lint.sign_checks import differing_signs, signs_in_prose
from kb_tools.lint.translation_checks import translations
from kb_tools.lint.trust_checks import TRUST_CHECKS, links, media

OWN_CHECKS = (*PROSE_CHECKS, *QUESTION_CHECKS, *TRUST_CHECKS, emergency_first)
FOREIGN_CHECKS = (reading_grade, length, links)
CHECKED_KEY = {"questions": "questions", "copied": "questions", "references": "references", "review": "reviewed"}
"""Which key a check looks at; of one that is wrong nothing more is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LintReport:
    """The findings by file and line, and what is counted without being a fault. `grade` is the mean, or None."""

    findings: tuple[LintFinding, ...]
    sources: int
    unreviewed: int
    grade: float | None

    @property
    def errors(self) -> int:
        """How many findings must be mended."""
        return sum(one.severity is Severity.ERROR for one in self.findings)

    @property
    def warnings(self) -> int:
        """How many want a look."""
        return len(self.findings) - self.errors


def lint(folder: Path, limits: LintLimits, today: date) -> LintReport:
    """Check a whole folder; a missing folder or an unreadable file is a finding, not an exception."""
    base, problems = scan_knowledge(folder)
    faulty = _Faulty.read(folder)
    known = {(one.file, one.line, one.key) for one in problems}
    problems += [one for one in faulty.problems if (one.file, one.line, one.key) not in known]
    if base is None and faulty.sources:
        base = KnowledgeBase(folder=folder, manifest=Manifest(name=folder.name, title=folder.name), sources={})
        problems = [one for one in problems if one.file != folder]
    found = [LintFinding.of(one, folder) for one in problems if not faulty.explains(one)]
    sources = [] if base is None else [*base.sources.values(), *faulty.sources.values()]
    mean = None if base is None else _mean_grade(base, limits)
    if base is not None:
        everything = {**base.sources, **faulty.sources}
        asked = lay_question_faults(folder, everything)
        found += [LintFinding.of(one, folder) for one in (*faulty.dead_links(base), *asked)]
        found += _findings(base, faulty, limits, today, mean)
    return LintReport(
        findings=tuple(sorted(found, key=lambda one: (str(one.file), one.line, one.check))),
        sources=len(sources),
        unreviewed=sum(one.reviewed.strip().casefold() == UNSIGNED for one in sources),
        grade=mean,
    )


@dataclass(frozen=True, kw_only=True)
class _Faulty:
    """The sources whose front matter is wrong, read as far as they can be, and everything wrong with them.

    Reading a knowledge base stops at the first fault of a file; whoever mends it wants to see all of them.
    `missing` are the keys of each that are wrong and so not there to be checked.
    """

    sources: dict[str, Source]
    problems: list[KnowledgeBaseError]
    missing: dict[str, frozenset[str]]

    @classmethod
    def read(cls, folder: Path) -> _Faulty:
        """Look through every file of a folder."""
        faulty = cls(sources={}, problems=[], missing={})
        for path in texts_of(folder):
            if belongs(path, folder):
                faulty._add(path)
        return faulty

    def _add(self, path: Path) -> None:
        try:
            sheet = Sheet.read(path)
        except KnowledgeBaseError:  # reported by reading
            return
        faults = sheet.head_faults() if sheet.front else []
        if not faults:
            return
        source, problems = assemble(path, sheet.salvaged(), sheet.body, offset=sheet.above, front=sheet.front)
        self.sources[path.stem] = source
        self.problems.extend((*faults, *problems))
        self.missing[path.stem] = frozenset((one.key or "").partition(".")[0] for one in faults)

    def explains(self, problem: KnowledgeBaseError) -> bool:
        """Whether a link only seems dead, because what it leads to is one of these."""
        return any(problem.problem == f"There is no source {name!r}." for name in self.sources)

    def dead_links(self, base: KnowledgeBase) -> list[KnowledgeBaseError]:
        """What the links of these lead to and is not there."""
        everything = {**base.sources, **self.sources}
        files = {source.path for source in self.sources.values()}
        return [one for one in dead_links(base, everything) if one.file in files]


def _findings(
    base: KnowledgeBase, faulty: _Faulty, limits: LintLimits, today: date, mean: float | None
) -> Iterator[LintFinding]:
    cases = [
        LintedCase(source=one, sheet=sheet_of(one), limits=limits, today=today, english=_is_english(base))
        for one in (*base.sources.values(), *faulty.sources.values())
    ]
    softly = base.manifest.draft
    for case in cases:
        missing = faulty.missing.get(case.source.path.stem, frozenset())
        for check in FOREIGN_CHECKS if case.source.foreign else OWN_CHECKS:
            for one in check(case):
                if CHECKED_KEY.get(one.check) not in missing:
                    soft = (softly or case.source.foreign) and one.check != "danger"
                    yield one.softened() if soft else one
    for one in (*repeated_questions(cases, limits), *media(base)):
        yield one.softened() if softly else one
    # What is said of an emergency is held to the full, whoever made the draft.
    yield from table_of_dangers(base, cases, limits)
    yield from differing_dangers(base)
    yield from differing_signs(base.dangers, limits)
    yield from signs_in_prose(base, cases, limits)
    yield from thin_questions(base, limits)
    yield from translations(base, limits)
    yield from _of_the_whole(base, limits, mean)


def _of_the_whole(base: KnowledgeBase, limits: LintLimits, mean: float | None) -> Iterator[LintFinding]:
    manifest = base.folder / "manifest.yaml"
    place = manifest if manifest.exists() else base.folder
    if mean is not None and mean > limits.grade.mean:
        problem = f"The mean reading grade is {mean:.1f}, over {limits.grade.mean:g}."
        yield LintFinding(check="grade", severity=Severity.WARNING, file=place, line=1, problem=problem)
    if base.manifest.draft:
        yield LintFinding(
            check="draft",
            severity=Severity.WARNING,
            file=manifest,
            line=line_of(read_text(manifest), ("draft",)),
            problem="The knowledge base is a draft that nobody has gone over.",
            remedy="Take out `draft` when somebody has.",
        )
    if foreign := sum(one.foreign for one in base.sources.values()):
        yield LintFinding(
            check="foreign",
            severity=Severity.WARNING,
            file=base.folder,
            line=1,
            problem=f"{foreign} sources have no front matter: no questions, no references, no review.",
            remedy="`cafi kb import` drafts it.",
        )


def _is_english(base: KnowledgeBase) -> bool:
    return base.manifest.language.casefold().startswith("en")


def _mean_grade(base: KnowledgeBase, limits: LintLimits) -> float | None:
    """The mean over the sources long enough to be graded; None where there is none, or in another language."""
    texts = [one.prose for one in base.sources.values()]
    grades = [grade(text) for text in texts if len(words(text)) >= limits.grade.from_words]
    return fmean(grades) if grades and _is_english(base) else None
