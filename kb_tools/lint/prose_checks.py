"""Checks of what readers see: is it easy to read, short enough, and can each paragraph stand alone?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine import fold, grade, words
from kb_tools.lint.case import Check, LintedCase
from kb_tools.lint.finding import LintFinding

# "It is common to feel low": here "it" points to nothing before it.
_EMPTY_IT = re.compile(
    r"it(?:'s| (?:is|was|can|may|might|could|will|would|takes|helps))\b.*\b(?:to|that|if|when|who|for)\b"
)
_WRITTEN = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|\d+)"
_ROUND = r"(?:two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|a hundred|hundred|a thousand|thousand|\d+)"
_SHARE = re.compile(
    rf"\b{_WRITTEN} (?:in|out of)(?: every)? {_ROUND}\b"
    r"|\b(?:half|a third|one third|two thirds|a quarter|one quarter|three quarters) of\b|\bper ?cent\b"
)
# No part of a name such as ICD-11 or CG178, and no "24/7".
_FIGURE = re.compile(r"(?<![\w./-])(?!24/7)\d+(?:[.,]\d+)*(?![\w/])")
_YEAR = re.compile(r"(?:19|20)\d\d")
# A year in parentheses follows the name of what is cited, whatever that is.
_CITED = re.compile(r"\w \((?:19|20)\d\d\)")


def reading_grade(case: LintedCase) -> Iterator[LintFinding]:
    """No source is harder to read than the limit."""
    limit, text = case.limits.grade, case.source.prose
    if not case.english or len(words(text)) < limit.from_words or (found := grade(text)) <= limit.most:
        return
    hardest = max((one for piece in case.sheet.pieces for one in piece.sentences()), key=lambda one: grade(one[1]))
    yield case.error(
        "grade",
        case.first_line,
        f"The reading grade is {found:.1f}, over {limit.most:g}.",
        f"Shorten sentences and choose shorter words; the hardest sentence begins on line {hardest[0]}.",
    )


def length(case: LintedCase) -> Iterator[LintFinding]:
    """A source is neither too short to answer nor too long to be used whole."""
    count, limit = len(words(case.source.prose)), case.limits.words
    if not limit.holds(count):
        remedy = "Join it with a related source." if count < limit.least else "Divide it, or cut what is said twice."
        yield case.warning("length", case.first_line, f"The text has {count} words, not {limit}.", remedy)


def openings(case: LintedCase) -> Iterator[LintFinding]:
    """No paragraph begins by pointing to the one before: each may be quoted by itself."""
    if not case.english:
        return
    for piece in case.sheet.pieces:
        first = next(iter(words(piece.text)), "")
        if piece.kind != "paragraph" or first not in case.limits.pointing or _EMPTY_IT.match(fold(piece.text)):
            continue
        problem = f"The paragraph begins with {first.capitalize()!r}, which points to what may not be shown."
        yield case.warning("opening", piece.line, problem, "Name what is meant.")


def figures(case: LintedCase) -> Iterator[LintFinding]:
    """A number stands in one sentence with the authority that publishes it."""
    if not case.english:
        return
    named = _any_of((*case.limits.authorities, *_bodies(case)))
    beside = _any_of(case.limits.no_figures)
    for piece in case.sheet.pieces:
        for line, sentence in piece.sentences():
            plain = fold(sentence)
            figure = figure_in(plain)
            excused = _CITED.search(plain) or named.search(plain) or beside.search(plain)
            if piece.kind != "heading" and figure and not excused:
                problem = f"The figure {figure!r} has no named authority in its sentence."
                yield case.warning("figure", line, problem, "Name who publishes it, and the year.")


def figure_in(plain: str) -> str | None:
    """The first share or number of a folded sentence that is neither a year nor part of a name."""
    if share := _SHARE.search(plain):
        return share[0]
    return next((one[0] for one in _FIGURE.finditer(plain) if not _YEAR.fullmatch(one[0])), None)


def _bodies(case: LintedCase) -> Iterator[str]:
    """The names of the references' bodies, with what stands in parentheses as a name of its own."""
    for one in case.source.references:
        for name in re.split(r"[()]", one.body):
            if name.strip():
                yield name.strip()


def _any_of(terms: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(re.escape(fold(term)) for term in terms) + r")(?!\w)")


PROSE_CHECKS: tuple[Check, ...] = (reading_grade, length, openings, figures)
