"""Filled sheets held against the key: what raters send back, refused whole when one row is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from engine import ConfigurationError
from evaluation.rating.blinding import Coded, Key
from evaluation.rating.marks import Mark, read_marks, refuse
from evaluation.rating.ratings import HUMAN, Rating
from evaluation.rating.rubric import Rubric


def read_sheets(paths: Sequence[Path], key: Key, rubric: Rubric) -> list[Rating]:
    """The ratings of several filled sheets.

    Raises ConfigurationError with file and row for the first thing that is wrong: a sheet of another key or rater, a
    code that is unknown, missing or there twice, a mark that is missing or out of range.
    """
    if key.rubric != f"{rubric.id} {rubric.version}":
        raise ConfigurationError(
            f"The sheets were made for the rubric {key.rubric!r}.", remedy=f"This one is {rubric.id} {rubric.version}."
        )
    ratings: list[Rating] = []
    sheets: dict[str, Path] = {}
    for path in paths:
        marks = read_marks(path, rubric)
        rater = _rater(path, marks, key)
        if rater in sheets:
            raise ConfigurationError(
                f"The sheet of {rater} is there twice; the other is {sheets[rater]}.", file=path, remedy="Name one."
            )
        sheets[rater] = path
        ratings += _ratings(path, marks, rater, key, rubric)
    return ratings


def _rater(path: Path, marks: Sequence[Mark], key: Key) -> str:
    """Whose sheet it is; every row has to say the same, and to belong to the key."""
    rater = marks[0].rater
    if rater not in key.raters:
        remedy = f"The key knows {', '.join(key.raters)}."
        raise ConfigurationError(f"The rater {rater!r} is unknown.", file=path, line=marks[0].row, remedy=remedy)
    for one in marks:
        if one.key != key.digest:
            refuse(
                path, one.row, one.code, f"It belongs to the key {one.key!r}, not to {key.digest!r}.", "Name its key."
            )
        if one.rater != rater:
            problem = f"The row is of {one.rater!r}, the rows above are of {rater!r}."
            refuse(path, one.row, one.code, problem, "Keep to one sheet a rater.")
    return rater


def _ratings(path: Path, marks: Sequence[Mark], rater: str, key: Key, rubric: Rubric) -> Iterator[Rating]:
    codes = key.raters[rater]
    seen: dict[str, int] = {}
    ratings = []
    for one in marks:
        if one.code not in codes:
            refuse(path, one.row, one.code, *_foreign(one.code, rater, key))
        before = seen.setdefault(one.code, one.row)
        if before != one.row:
            refuse(path, one.row, one.code, f"The response is in row {before} already.", "Keep one of the two.")
        ratings.append(_rating(path, one, codes[one.code], rubric))
    absent = [code for code in codes if code not in seen]
    if absent:
        raise ConfigurationError(
            f"{len(absent)} of {len(codes)} responses are missing, {absent[0]} first.",
            file=path,
            line=marks[-1].row,
            remedy="Give back the whole sheet; nothing was imported.",
        )
    yield from ratings


def _foreign(code: str, rater: str, key: Key) -> tuple[str, str]:
    for other, codes in key.raters.items():
        if code in codes:
            return (
                f"The code is of the sheet of {other}, not of {rater}.",
                "The sheets were swapped; give each its own.",
            )
    return "The response is unknown.", "Leave the column 'code' as it was."


def _rating(path: Path, mark: Mark, coded: Coded, rubric: Rubric) -> Rating:
    score = _agreed(path, mark, rubric)
    asked = {one.id for one in rubric.asked(mark.answers)}
    return Rating(
        response_id=coded.response_id,
        run=coded.run,
        role=coded.role,
        conversation=coded.conversation,
        query=coded.query,
        arm=coded.arm,
        rater=mark.rater,
        kind=HUMAN,
        score=score,
        answers={name: holds for name, holds in mark.answers.items() if name in asked},
        note=mark.note,
    )


def _agreed(path: Path, mark: Mark, rubric: Rubric) -> int:
    """The score: as written, as it follows from the statements, or both where they are the same."""
    if mark.score is None and not mark.answers:
        refuse(path, mark.row, mark.code, "It is not rated.", "Fill the whole sheet; nothing was imported.")
    if mark.score is not None and not 0 <= mark.score <= rubric.highest:
        refuse(path, mark.row, mark.code, f"The score {mark.score} is out of range.", f"It is 0 to {rubric.highest}.")
    if not mark.answers and mark.score is not None:
        return mark.score
    missing = rubric.missing(mark.answers)
    if missing:
        refuse(
            path, mark.row, mark.code, f"{missing[0]} is not answered.", "Fill the whole sheet; nothing was imported."
        )
    counted = rubric.score(mark.answers)
    if mark.score not in {None, counted}:
        problem = f"The score is {mark.score}, but the statements give {counted}."
        refuse(path, mark.row, mark.code, problem, "Correct one of them.")
    return counted
