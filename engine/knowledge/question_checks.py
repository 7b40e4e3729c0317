"""Checks of the questions that sources say they answer: enough of them, each in one place, in lay words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from engine.knowledge.case import Case, Check
from engine.knowledge.finding import Finding
from engine.text import STOP_WORDS, words

CONTENT_IN_COPY = 2
"""A run of words is a copy only with so many content words; "what can I do about" is everybody's."""


def number_of_questions(case: Case) -> Iterator[Finding]:
    """A source has enough questions to be found by, and not so many that it draws those of others."""
    count, limit = len(case.source.questions), case.limits.questions
    if not limit.holds(count):
        remedy = "Write them as a tired or anxious person would ask." if count < limit.least else "Keep the most usual."
        line = case.sheet.key_line("sections" if case.source.heads else "questions")
        yield case.warning("questions", line, f"The source has {count} questions, not {limit}.", remedy)


def copied_questions(case: Case) -> Iterator[Finding]:
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
    case: Case
    number: int
    sorted_words: str

    @property
    def line(self) -> int:
        return self.case.sheet.question_lines[self.number]


def repeated_questions(cases: Sequence[Case]) -> Iterator[Finding]:
    """No question stands in two sources, or twice in one; the later one is reported."""
    asked = [
        _Asked(case=case, number=number, sorted_words=" ".join(sorted(words(question))))
        for case in cases
        for number, question in enumerate(case.source.questions)
    ]
    texts = [one.sorted_words for one in asked]
    for place, one in enumerate(asked):
        if one.sorted_words:
            least = one.case.limits.near_duplicate
            match = process.extractOne(one.sorted_words, texts[:place], scorer=fuzz.ratio, score_cutoff=least)
            if match is not None:
                yield _repeated(one, asked[match[2]])


def _repeated(later: _Asked, earlier: _Asked) -> Finding:
    where = f"{earlier.case.source.path.name}:{earlier.line}"
    if words(later.case.source.questions[later.number]) != words(earlier.case.source.questions[earlier.number]):
        problem = f"The question is nearly the same as the one at {where}."
        return later.case.warning("duplicate", later.line, problem, "Keep it where it is answered best.")
    if later.case is earlier.case:
        return later.case.warning("duplicate", later.line, f"The question stands at {where} already.", "Leave it out.")
    problem = f"The question is also asked at {where}."
    return later.case.error("duplicate", later.line, problem, "A question belongs to one source.")
