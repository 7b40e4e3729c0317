"""Checks of the questions that sources say they answer: enough of them, each in one place, in lay words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from engine import STOP_WORDS, words
from kb_tools.lint.case import Check, LintedCase
from kb_tools.lint.finding import LintFinding
from kb_tools.lint.limits import LintLimits

CONTENT_IN_COPY = 2
"""A run of words is a copy only with so many content words; "what can I do about" is everybody's."""


def number_of_questions(case: LintedCase) -> Iterator[LintFinding]:
    """A source has enough questions to be found by, and not so many that it draws those of others; so has a section."""
    count, limit = len(case.source.questions), case.limits.questions
    if not limit.holds(count):
        remedy = "Write them as a tired or anxious person would ask." if count < limit.least else "Keep the most usual."
        line = case.sheet.key_line("sections" if case.source.heads else "questions")
        yield case.error("questions", line, f"The source has {count} questions, not {limit}.", remedy)
    of_section = case.limits.section_questions
    for name, head in case.source.heads.items():
        if not of_section.holds(len(head.questions)):
            problem = f"The section {name!r} has {len(head.questions)} questions, not {of_section}."
            remedy = "Write those that it answers, as people ask them; what has none is never found."
            yield case.error("questions", case.sheet.key_line("sections", name), problem, remedy)


def copied_questions(case: LintedCase) -> Iterator[LintFinding]:
    """No question takes its words from the text it is meant to find."""
    size = case.limits.copied_words
    own = set(_runs(words(f"{case.source.title}\n{case.source.prose}"), size))
    for number, question in enumerate(case.source.questions):
        asked = words(question)
        if asked == words(case.source.title):
            run = tuple(asked)
        else:
            run = next((one for one in _runs(asked, size) if one in own and _says_something(one)), ())
        if run:
            line = case.sheet.question_lines[number]
            problem = f"The question takes the words {' '.join(run)!r} from the source."
            yield case.warning("copied", line, problem, "Ask it in other words.")


def _runs(found: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(found[place : place + size]) for place in range(len(found) - size + 1))


def _says_something(run: tuple[str, ...]) -> bool:
    return sum(word not in STOP_WORDS for word in run) >= CONTENT_IN_COPY


QUESTION_CHECKS: tuple[Check, ...] = (number_of_questions, copied_questions)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Asked:
    """A question with its words: in order, and sorted so that those in another order are like it."""

    case: LintedCase
    number: int
    words: tuple[str, ...]
    sorted_words: str

    @property
    def line(self) -> int:
        return self.case.sheet.question_lines[self.number]

    @property
    def where(self) -> str:
        return f"{self.case.source.path.name}:{self.line}"


def repeated_questions(cases: Sequence[LintedCase], limits: LintLimits) -> Iterator[LintFinding]:
    """No question stands twice, in two sources, two sections or one; the later one is reported.

    Case and punctuation make no other question. One that is only nearly the same is warned of.
    """
    earlier: dict[tuple[str, ...], _Asked] = {}
    texts: list[str] = []
    asked = [one for one in _all_asked(cases) if one.words]
    for one in asked:
        first = earlier.setdefault(one.words, one)
        like = process.extractOne(one.sorted_words, texts, scorer=fuzz.ratio, score_cutoff=limits.near_duplicate)
        texts.append(one.sorted_words)
        if first is not one:
            problem = f"The question stands at {first.where} already."
            yield one.case.error("duplicate", one.line, problem, "A question belongs to the section that answers it.")
        elif like is not None:
            problem = f"The question is nearly the same as the one at {asked[like[2]].where}."
            yield one.case.warning("duplicate", one.line, problem, "Keep it where it is answered best.")


def _all_asked(cases: Sequence[LintedCase]) -> Iterator[_Asked]:
    for case in cases:
        for number, question in enumerate(case.source.questions):
            found = tuple(word.replace("'", "") for word in words(question))
            yield _Asked(case=case, number=number, words=found, sorted_words=" ".join(sorted(found)))
