"""The fixed questions about usefulness, in every language, and how often they are asked: `config/feedback.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from engine import Strict, read_yaml

LANGUAGES = ("en", "nb", "de", "es", "fr")
THUMBS = ("helpful", ("yes", "no"))
"""The question below single answers and its options: the buttons of every platform rely on these ids."""
REPORT = ("worried", ("frightened", "wrong", "unwell", "other"))
"""The question after an answer that worried or harmed somebody, and its reasons."""
Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,23}$")]
# One line each: polls and buttons have no other form. 55 characters are what a Discord poll takes for an answer.
QuestionText = Annotated[str, StringConstraints(pattern=r"^\S[^\r\n\t]*$", max_length=120)]
OptionText = Annotated[str, StringConstraints(pattern=r"^\S[^\r\n\t]*$", max_length=55)]


class QuestionTexts(Strict):
    """A question in every language."""

    en: QuestionText
    nb: QuestionText
    de: QuestionText
    es: QuestionText
    fr: QuestionText

    def choose(self, language: str | None) -> str:
        """The text in a language, in English where that one is not known."""
        return _chosen(self, language)


class OptionTexts(Strict):
    """An option in every language."""

    en: OptionText
    nb: OptionText
    de: OptionText
    es: OptionText
    fr: OptionText

    def choose(self, language: str | None) -> str:
        """The text in a language, in English where that one is not known."""
        return _chosen(self, language)


class Option(Strict):
    """One answer to choose. `favourable` options are counted together where reports show changes."""

    id: Id
    favourable: bool
    text: OptionTexts


class Question(Strict):
    """One question with two to five options, the most favourable first."""

    id: Id
    text: QuestionTexts
    options: tuple[Option, ...] = Field(min_length=2, max_length=5)

    @model_validator(mode="after")
    def _different(self) -> Question:
        _once("option", (one.id for one in self.options))
        _once_each_language(self.options)
        return self

    @property
    def favourable(self) -> frozenset[str]:
        """Ids of the favourable options."""
        return frozenset(one.id for one in self.options if one.favourable)


class Policy(Strict):
    """How rarely somebody is asked. Answers, days and turns of one person."""

    after_answers: int = Field(default=5, ge=1)
    every_days: int = Field(default=14, ge=1)
    not_after_referral_turns: int = Field(default=6, ge=1)
    one_question_at_a_time: bool = True


class Questions(Strict):
    """The whole file."""

    policy: Policy = Policy()
    thumbs: Question
    report: Question
    questions: tuple[Question, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _whole(self) -> Questions:
        _once("question", (one.id for one in self))
        if (self.thumbs.id, tuple(one.id for one in self.thumbs.options)) != THUMBS:
            raise ValueError("thumbs: the id must be 'helpful' and the options 'yes' and 'no', in this order")
        if (self.report.id, tuple(one.id for one in self.report.options)) != REPORT:
            raise ValueError(
                f"report: the id must be {REPORT[0]!r} and the options {', '.join(REPORT[1])}, in this order"
            )
        return self

    def __iter__(self) -> Iterator[Question]:  # type: ignore[override]  # pydantic's own gives fields; nobody needs it
        yield self.thumbs
        yield self.report
        yield from self.questions

    def get(self, question_id: str) -> Question | None:
        """The question of an id, or None."""
        return next((one for one in self if one.id == question_id), None)


def read_questions(path: Path) -> Questions:
    """All questions; raises ConfigurationError with file, line and key of the first fault."""
    return read_yaml(path, Questions)


def _chosen(texts: QuestionTexts | OptionTexts, language: str | None) -> str:
    return str(getattr(texts, language if language in LANGUAGES else "en"))


def _once(kind: str, ids: Iterator[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ValueError(f"the {kind} {one!r} is there twice")
        seen.add(one)


def _once_each_language(options: tuple[Option, ...]) -> None:
    for language in LANGUAGES:
        texts = [one.text.choose(language).casefold() for one in options]
        if len(set(texts)) < len(texts):
            raise ValueError(f"two options read the same in {language!r}")
