"""What stands in a filled sheet: its rows as they are, CSV or JSON, each cell read but not yet held against the key."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import Field, ValidationError

from engine import ConfigurationError, Strict, read_text
from evaluation.forms import check_version, misfit
from evaluation.rating.rubric import Rubric
from evaluation.rating.sheets import SHEET_VERSION, columns, from_text

_YES, _NO = frozenset({"yes", "y", "1", "true", "x"}), frozenset({"no", "n", "0", "false"})
_EITHER = "Download it again from the page, or fill the CSV sheet."


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """What a rater put down for one code. `row` counts as spreadsheets do: 1 is the head of the table."""

    row: int
    rater: str
    key: str
    code: str
    answers: Mapping[str, bool]
    score: int | None
    note: str = ""


class _JsonMark(Strict):
    code: str
    answers: dict[str, bool] = Field(default_factory=dict)
    score: int | None = None
    note: str = ""


class _JsonSheet(Strict):
    sheet: int
    key: str
    rater: str
    marks: tuple[_JsonMark, ...] = Field(min_length=1)


def read_marks(path: Path, rubric: Rubric) -> list[Mark]:
    """The rows of one filled sheet; raises ConfigurationError with file and row for a cell that cannot be read."""
    text = read_text(path, remedy="Name the filled sheets, CSV or JSON.")
    if path.suffix.casefold() == ".html":
        raise ConfigurationError("This is the page itself, not what was marked on it.", file=path, remedy=_EITHER)
    marks = list(_json_marks(path, text, rubric) if text.lstrip().startswith("{") else _csv_marks(path, text, rubric))
    if not marks:
        raise ConfigurationError("The sheet has no rows.", file=path, remedy=_EITHER)
    return marks


def _json_marks(path: Path, text: str, rubric: Rubric) -> Iterator[Mark]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        raise ConfigurationError("The sheet is not JSON.", file=path, remedy=_EITHER) from None
    check_version(value.get("sheet"), SHEET_VERSION, path)
    try:
        sheet = _JsonSheet.model_validate(value)
    except ValidationError as error:
        raise misfit(error, path, remedy=_EITHER) from None
    ids = {one.id for one in rubric.statements}
    for row, one in enumerate(sheet.marks, start=2):
        unknown = sorted(set(one.answers) - ids)
        if unknown:
            refuse(path, row, one.code, f"The statement {unknown[0]!r} is not of this rubric.", _EITHER)
        yield Mark(
            row=row,
            rater=sheet.rater,
            key=sheet.key,
            code=one.code,
            answers=one.answers,
            score=one.score,
            note=one.note,
        )


def _csv_marks(path: Path, text: str, rubric: Rubric) -> Iterator[Mark]:
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise ConfigurationError(f"The sheet is no CSV table ({error}).", file=path, remedy=_EITHER) from None
    names = [name.strip() for name in rows[0]] if rows else []
    for wanted in columns(rubric):
        if names.count(wanted) != 1:
            problem = "is missing" if wanted not in names else "is there twice"
            raise ConfigurationError(f"The column {wanted!r} {problem}.", file=path, line=1, remedy=_EITHER)
    for row, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(names):
            raise ConfigurationError(
                f"The row has {len(cells)} cells, the head has {len(names)}.", file=path, line=row, remedy=_EITHER
            )
        yield _csv_mark(path, row, dict(zip(names, (cell.strip() for cell in cells), strict=True)), rubric)


def _csv_mark(path: Path, row: int, cells: Mapping[str, str], rubric: Rubric) -> Mark:
    code = cells["code"]
    check_version(int(cells["sheet"]) if cells["sheet"].isdecimal() else None, SHEET_VERSION, path, row)
    answers: dict[str, bool] = {}
    for one in rubric.statements:
        given = cells[one.id].casefold()
        if given and given not in _YES | _NO:
            refuse(path, row, code, f"{one.id} is {given[:20]!r}.", "Write yes or no.")
        if given:
            answers[one.id] = given in _YES
    return Mark(
        row=row,
        rater=cells["rater"],
        key=cells["key"],
        code=code,
        answers=answers,
        score=_score(path, row, code, cells["score"]),
        note=from_text(cells["note"]),
    )


def _score(path: Path, row: int, code: str, text: str) -> int | None:
    if not text:
        return None
    try:
        number = float(text.replace(",", "."))
        whole = int(number)
    except (ValueError, OverflowError):
        refuse(path, row, code, f"The score is {text[:20]!r}.", "Write a whole number.")
    if whole != number:
        refuse(path, row, code, f"The score is {text[:20]}.", "Write a whole number.")
    return whole


def refuse(path: Path, row: int, code: str, problem: str, remedy: str) -> NoReturn:
    """Raise the error of one row; `code` is cut, for it may be anything."""
    raise ConfigurationError(problem, file=path, line=row, key=code[:20] or None, remedy=remedy)
