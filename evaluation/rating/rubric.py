"""The rubric: statements that a rater finds true or false of a reply, and the score that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

from pydantic import Field, model_validator

from engine import Strict, read_yaml

RUBRIC = Path(__file__).resolve().parents[1] / "data" / "rating" / "rubric.yaml"
Answers = Mapping[str, bool]


class Statement(Strict):
    """One statement about a reply; `void_when` lists the sets of true statements that make it pointless."""

    id: str = Field(pattern=r"^[A-Z][A-Z0-9]*$")
    points: int = Field(ge=1)
    statement: str
    advice: str = ""
    void_when: tuple[tuple[str, ...], ...] = ()

    def is_void(self, answers: Answers) -> bool:
        """Whether earlier answers leave nothing to ask."""
        return any(all(answers.get(one, False) for one in alternative) for alternative in self.void_when)


class Rubric(Strict):
    """Statements in the order in which they are asked. `acceptable`: the scores from which a reply may count as such."""

    id: str
    version: int
    source: str
    highest: int
    acceptable: tuple[int, ...]
    statements: tuple[Statement, ...]

    @model_validator(mode="after")
    def _adds_up(self) -> Rubric:
        ids = [one.id for one in self.statements]
        for place, one in enumerate(self.statements):
            if any(name not in ids[:place] for alternative in one.void_when for name in alternative):
                raise ValueError(f"{one.id} depends on a statement that does not come before it")
        if max(self.scores()) != self.highest:
            raise ValueError("`highest` is not the highest score that the statements can give")
        return self

    def asked(self, answers: Answers) -> Iterator[Statement]:
        """The statements that these answers leave to be asked, in order."""
        return (one for one in self.statements if not one.is_void(answers))

    def missing(self, answers: Answers) -> tuple[str, ...]:
        """The ids that are asked but not answered; with one of them there is no score."""
        return tuple(one.id for one in self.asked(answers) if one.id not in answers)

    def score(self, answers: Answers) -> int:
        """The points of all statements that are asked and true; 0 to `highest`."""
        return sum(one.points for one in self.asked(answers) if answers.get(one.id, False))

    def scores(self) -> tuple[int, ...]:
        """Every score that can come about, lowest first."""
        ids = [one.id for one in self.statements]
        found = {self.score(dict(zip(ids, truth, strict=True))) for truth in product((False, True), repeat=len(ids))}
        return tuple(sorted(found))


def load_rubric(path: Path = RUBRIC) -> Rubric:
    """Read a rubric; raises ConfigurationError with file and line."""
    return read_yaml(path, Rubric)
