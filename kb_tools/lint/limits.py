"""What sources are measured by: the thresholds of `config/kb_lint.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from engine import Strict, read_yaml

Count = Annotated[int, Field(ge=0)]
Word = Annotated[str, Field(pattern=r"\w")]


class GradeLimits(Strict):
    """Flesch-Kincaid grades: `most` for one source, `mean` over all; shorter texts than `from_words` have none."""

    most: float = Field(gt=0)
    mean: float = Field(gt=0)
    from_words: Count


class Span(Strict):
    """A number from `least` to `most`."""

    least: Count
    most: Count

    def holds(self, number: int) -> bool:
        """Whether a number is within."""
        return self.least <= number <= self.most

    def __str__(self) -> str:
        return f"{self.least} to {self.most}"


class SignLimits(Strict):
    """Which words of a sign tell it from other text, and how many of them a sentence needs to name it.

    `few`, `in_sources`: a telling word stands in so many sources or in such a share of them at most, whichever is more.
    `of_sign`: the share of its telling words by which a sign is named.
    """

    few: Count
    in_sources: float = Field(gt=0, le=1)
    of_sign: float = Field(gt=0, le=1)


class LintLimits(Strict):
    """All thresholds; what each is for stands in the file."""

    grade: GradeLimits
    words: Span
    questions: Span
    section_questions: Span
    lay_lines: Count
    near_duplicate: float = Field(gt=0, le=100)
    copied_words: int = Field(ge=3)
    signs: SignLimits
    review_days: Count
    ease: dict[str, float] = Field(default_factory=dict)
    pointing: tuple[Word, ...]
    authorities: tuple[Word, ...]
    no_figures: tuple[Word, ...]

    @classmethod
    def load(cls, path: Path) -> LintLimits:
        """Read the thresholds; raises ConfigurationError."""
        return read_yaml(path, cls)
