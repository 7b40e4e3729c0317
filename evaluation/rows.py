"""Reading labelled cases: JSON Lines files, validated row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from engine import ConfigurationError, read_text
from evaluation.forms import misfit

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
        except ValidationError as error:
            raise misfit(error, path, line=number, remedy=remedy) from None
        except ValueError:
            raise ConfigurationError("The row is not JSON.", file=path, line=number, remedy=remedy) from None
