"""Reading labelled cases: JSON Lines files, validated row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from engine.exceptions import ConfigurationError
from engine.files import read_text

Row = TypeVar("Row", bound=BaseModel)


def read_rows(path: Path, form: type[Row], *, remedy: str) -> list[Row]:
    """Every row of a file; raises ConfigurationError naming the line of the first bad one."""
    rows = list(_rows(path, form, remedy))
    if not rows:
        raise ConfigurationError("The file has no rows.", file=path, remedy=remedy)
    return rows


def _rows(path: Path, form: type[Row], remedy: str) -> Iterator[Row]:
    for number, line in enumerate(read_text(path, remedy=remedy).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield form.model_validate(json.loads(line))
        except ValueError as error:
            problem, key = "The row is not JSON.", None
            if isinstance(error, ValidationError):
                first = error.errors(include_url=False, include_input=False)[0]
                problem, key = f"{first['msg']}.", ".".join(str(part) for part in first["loc"])
            raise ConfigurationError(problem, file=path, line=number, key=key, remedy=remedy) from None
