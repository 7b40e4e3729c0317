"""Checks of what a source rests on and points to: references, review, links and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from engine import (
    MEDIA_LIST,
    UNSIGNED,
    DirectiveKind,
    KnowledgeBase,
    KnowledgeBaseError,
    MediaEntry,
    belongs,
    line_of,
    read_text,
    read_yaml,
    reviewed_on,
    squash,
)
from kb_tools.lint.case import Check, LintedCase
from kb_tools.lint.finding import LintFinding, Severity

PICTURES = frozenset((".png", ".jpg", ".jpeg", ".gif", ".webp"))

_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(<?([^()\s>]+)[^()]*\)")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.I)


def references(case: LintedCase) -> Iterator[LintFinding]:
    """A source names what it rests on, and nothing from the future."""
    if not case.source.references:
        line = case.sheet.key_line("references")
        problem, remedy = "The source names no reference.", "Name title, body and year of what it rests on."
        # There, no general knowledge is added: the source is all that supports a reply.
        said = case.error if case.source.high_stakes else case.warning
        yield said("references", line, problem, remedy)
    for number, one in enumerate(case.source.references):
        if one.year > case.today.year:
            line = case.sheet.key_line("references", number, "year")
            yield case.warning("references", line, f"The reference is of {one.year}, which has not begun yet.")


def review(case: LintedCase) -> Iterator[LintFinding]:
    """A review has a date, and that is not too long ago; `none` is honest and no fault."""
    said = case.source.reviewed
    if said.strip().casefold() == UNSIGNED:
        return
    line, day = case.sheet.key_line("reviewed"), reviewed_on(said)
    if day is None:
        yield case.warning("review", line, "The review has no date.", 'Write "Name, 2026-05-01", or none.')
    elif day - case.today > timedelta(days=366):  # a year alone counts as its last day
        yield case.warning("review", line, f"The review is dated {day}, which is still to come.")
    elif (case.today - day).days > case.limits.review_days:
        problem = f"The review of {day} is older than {case.limits.review_days} days."
        yield case.warning("review", line, problem, "Have the text reviewed again.")


def links(case: LintedCase) -> Iterator[LintFinding]:
    """What a text links to exists, and no source sends its readers to itself."""
    for one in case.source.directives:
        if one.kind is DirectiveKind.MORE and one.value == case.source.id:
            yield case.warning("link", one.line, "The source points to itself.", "Leave it out.")
    for match in _LINK.finditer(case.sheet.body):
        target, line = match[3], case.sheet.above + case.sheet.body.count("\n", 0, match.start()) + 1
        if match[1] and not match[2].strip():
            yield case.error("media", line, f"The picture {target!r} has no text alternative.", "Describe it in [].")
        if not _ELSEWHERE.match(target) and not (case.source.path.parent / target.partition("#")[0]).exists():
            yield case.error("link", line, f"The link goes to {target!r}, which does not exist.")


TRUST_CHECKS: tuple[Check, ...] = (references, review, links)


def media(base: KnowledgeBase) -> Iterator[LintFinding]:
    """Every picture says in words what it shows, and some source shows it."""
    folder = base.folder / "media"
    path = base.folder / MEDIA_LIST
    entries = _entries(path) if belongs(path, base.folder) else []
    if entries is None:
        return
    text = read_text(path) if entries else ""
    shown = {file for source in base.sources.values() for file in source.shown_files()}
    for number, one in enumerate(entries):
        alt = squash(one.alt)
        if not alt:
            yield _said(Severity.ERROR, path, line_of(text, (number, "alt")), f"{one.file!r} has no text alternative.")
        elif alt in {squash(one.file), squash(one.caption), squash(Path(one.file).stem)}:
            problem = f"The text alternative of {one.file!r} says no more than its name or caption."
            yield _said(Severity.WARNING, path, line_of(text, (number, "alt")), problem)
        if one.file not in shown:
            yield _said(Severity.WARNING, path, line_of(text, (number, "file")), f"No source shows {one.file!r}.")
    listed = {one.file for one in entries}
    for file in sorted(folder.glob("*")):
        if file.suffix.casefold() in PICTURES and file.name not in listed:
            problem = f"{file.name!r} is not in media.yaml, so it has no text alternative and cannot be shown."
            yield _said(Severity.ERROR, file, 1, problem)


def _entries(path: Path) -> list[MediaEntry] | None:
    """The pictures listed; None where the list cannot be read, which is reported elsewhere."""
    try:
        return read_yaml(path, list[MediaEntry], error=KnowledgeBaseError)
    except KnowledgeBaseError:
        return None


def _said(severity: Severity, file: Path, line: int, problem: str) -> LintFinding:
    remedy = "Describe in `alt` what a reader who cannot see it needs to know." if "alternative" in problem else None
    return LintFinding(check="media", severity=severity, file=file, line=line, problem=problem, remedy=remedy)
