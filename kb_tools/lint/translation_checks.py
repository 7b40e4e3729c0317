"""Checks of translations: nothing missing, nothing older than its original, no other figure and no other directive in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine import (
    DANGERS_FILE,
    MEDIA_LIST,
    TRANSLATIONS,
    WHOLE_TRANSLATION,
    DangerEntry,
    DirectiveKind,
    KnowledgeBase,
    KnownDanger,
    Source,
    Stretch,
    Translation,
    brackets,
    danger_hash,
    language_identifier,
    parse_directive,
    read_translations,
    scan_edition,
    sentences,
    stretches,
    translated_languages,
    translation_hashes,
    without_anchors,
    without_brackets,
    words,
)
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.limits import LintLimits
from kb_tools.reading_ease import EASE

_FIGURE = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
_MARKS = re.compile(r"[.,\u00a0\u202f]")
_ITEM = re.compile(r"^[ \t]*[-*•][ \t]", re.M)
_READ = frozenset({DirectiveKind.SHOW, DirectiveKind.ASK})
"""Directives with words that people read: these are translated, the rest stays to the letter."""
LONG_ENOUGH, SURELY = 8, 0.8
"""A sentence of so many words that is English with such a probability has been left in English."""
RENEW = "Go over it, then `cafi kb translate LANGUAGE --renew`."


def translations(base: KnowledgeBase, limits: LintLimits) -> Iterator[LintFinding]:
    """Everything to be said of all languages; nothing for a knowledge base in one language."""
    for language in translated_languages(base.folder):
        if language != base.language:
            yield from _language(base, language, limits)


def _language(base: KnowledgeBase, language: str, limits: LintLimits) -> Iterator[LintFinding]:
    edition, problems = scan_edition(base, language)
    yield from (LintFinding.of(one, base.folder) for one in problems)
    found, _ = read_translations(base.folder, language, base.sources)
    faulty = {one.file for one in problems}
    folder = base.folder / TRANSLATIONS / language
    for source in base.sources.values():
        path = folder / f"{source.id}.md"
        if source.id in found:
            yield from source_findings(source, found[source.id], limits, language)
        elif path not in faulty:
            problem = f"The source {source.id!r} is not translated."
            yield _finding("missing", Severity.WARNING, path, 1, problem, "Until then it is shown in its own language.")
    yield from _dangers(base, edition, folder / DANGERS_FILE)
    for name, medium in base.media.items():
        if edition.media[name].alt == medium.alt:
            problem = f"The words for the picture {name!r} are not translated."
            yield _finding("missing", Severity.WARNING, folder / MEDIA_LIST.name, 1, problem)


def source_findings(
    source: Source, translation: Translation, limits: LintLimits, language: str
) -> Iterator[LintFinding]:
    """Everything to be said of one translated text."""
    wanted, stated, path = translation_hashes(source), translation.head.of, translation.path
    for name, value in wanted.items():
        if stated.get(name) != value:
            what = "the title and the summary" if name == WHOLE_TRANSLATION else f"the section {name!r}"
            line = translation.key_line("of", name) if name in stated else 1
            problem = (
                f"The original of {what} has changed." if name in stated else f"It does not say of what {what} is one."
            )
            yield _finding("stale", Severity.WARNING, path, line, problem, RENEW)
    sections = translation.sections_of(source)
    for one in stretches(source.body):
        here = sections.get(one.id)
        if here is None:
            yield _finding("missing", Severity.WARNING, path, 1, f"The section {one.id!r} is not translated.")
        else:
            yield from _section(one, here, translation, local=one.id in translation.head.local)
    for name in translation.head.local:
        if name not in sections:
            yield _finding(
                "local", Severity.ERROR, path, translation.key_line("local"), f"There is no section {name!r}."
            )
    yield from _read_aloud(translation, limits, language)


def _section(original: Stretch, here: Stretch, translation: Translation, *, local: bool) -> Iterator[LintFinding]:
    path, line = translation.path, here.line + translation.above
    there, own = _directives(original.body), _directives(here.body)
    for text in (there - own) + (own - there):
        how = "less" if there[text] > own[text] else "more"
        problem = f"The directive [{text}] stands here {how} often than in the original."
        yield _finding("directives", Severity.ERROR, path, line, problem, "Copy it from the original.")
    if local:
        return
    differing = _differing(without_brackets(original.body), without_brackets(here.body))
    if differing:
        yield _finding("figures", Severity.ERROR, path, line, f"The figures of {original.id!r} differ: {differing}.")
    if len(_ITEM.findall(original.body)) != len(_ITEM.findall(here.body)):
        problem = f"The list of {original.id!r} has another number of items than the original's."
        yield _finding("items", Severity.WARNING, path, line, problem)


def _directives(body: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for bracket in brackets(body):
        directive = parse_directive(bracket, foreign=False)
        if directive is None:
            continue
        value = directive.value if directive.kind is not DirectiveKind.ASK else "…"
        found[f"{directive.kind}: {value}" if directive.kind in _READ else bracket.content] += 1
    return found


def _differing(original: str, here: str) -> str:
    """The figures that stand in one text and not in the other, in words; empty where there are none."""
    there, own = (Counter(_MARKS.sub("", one) for one in _FIGURE.findall(text)) for text in (original, here))
    return ", ".join(sorted({*(there - own), *(own - there)}))


def _read_aloud(translation: Translation, limits: LintLimits, language: str) -> Iterator[LintFinding]:
    path, body = translation.path, without_brackets(translation.body)
    for one in sentences(without_anchors(body)):
        if len(words(one)) < LONG_ENOUGH:
            continue
        code, chance = language_identifier().likeliest(one)
        if code == "en" and chance >= SURELY and one in translation.body:
            line = translation.body.count("\n", 0, translation.body.index(one)) + 1 + translation.above
            yield _finding("english", Severity.WARNING, path, line, f"This is English: “{one[:60]}”.")
    measure, limit = EASE.get(language), limits.ease.get(language)
    if measure is not None and limit is not None:
        value = measure.measured(body)
        if measure.is_harder(value, limit):
            problem = f"It is hard to read: {measure.name} {value:.0f}, limit {limit:g}."
            yield _finding("ease", Severity.WARNING, path, 1, problem, "Shorter sentences, shorter words.")


def _dangers(base: KnowledgeBase, edition: KnowledgeBase, path: Path) -> Iterator[LintFinding]:
    originals: Mapping[str, KnownDanger] = base.dangers.entries
    for name, original in originals.items():
        here = edition.dangers.entries[name]
        if here.path != path:
            problem = f"The danger {name!r} is not translated."
            yield _finding("missing", Severity.ERROR, path, 1, problem, "Whoever is in danger must be able to read it.")
            continue
        if here.of != danger_hash(original.entry):
            problem = f"The danger {name!r} is not stated to be that of the table as it is now."
            yield _finding("stale", Severity.WARNING, path, here.line, problem, RENEW)
        if len(original.entry.signs) != len(here.entry.signs):
            yield _finding(
                "signs", Severity.ERROR, path, here.line, f"The danger {name!r} has another number of signs."
            )
        if differing := _differing(_words(original.entry), _words(here.entry)):
            problem = f"The figures of the danger {name!r} differ: {differing}."
            yield _finding("figures", Severity.ERROR, path, here.line, problem)


def _words(entry: DangerEntry) -> str:
    return "\n".join((entry.name, *entry.signs, *entry.do, entry.say))


def _finding(
    check: str, severity: Severity, path: Path, line: int, problem: str, remedy: str | None = None
) -> LintFinding:
    return LintFinding(check=check, severity=severity, file=path, line=line, problem=problem, remedy=remedy)
