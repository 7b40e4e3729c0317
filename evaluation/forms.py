"""What the laboratory wrote and reads again: of this version and of the expected form, or refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from engine import ConfigurationError

T = TypeVar("T")


def check_version(found: Any, wanted: int, path: Path, line: int | None = None) -> None:
    """Raise ConfigurationError unless a file's version is the one this program writes."""
    if found == wanted and not isinstance(found, bool):
        return
    if isinstance(found, int) and found > wanted:
        problem, remedy = f"It was written by a newer version of CAFI (format {found}).", "Use that version."
    else:
        older = found if isinstance(found, int) else "without a number"
        problem = f"It was written by an older version of CAFI (format {older}; this one is {wanted})."
        remedy = "Write it again with this version; nothing was changed."
    raise ConfigurationError(problem, file=path, line=line, key="version", remedy=remedy)


def parsed_line(form: TypeAdapter[T], line: str, version: int, path: Path, number: int) -> T:
    """What one line of JSON holds; raises ConfigurationError with its number."""
    try:
        value = json.loads(line)
    except ValueError:
        raise ConfigurationError(
            "The line is not JSON.", file=path, line=number, remedy="Restore the file as it was written."
        ) from None
    if not isinstance(value, dict):
        raise ConfigurationError("The line is no JSON object.", file=path, line=number)
    check_version(value.get("version"), version, path, number)
    try:
        return form.validate_python(value)
    except ValidationError as error:
        raise misfit(error, path, line=number) from None


def misfit(
    error: ValidationError, path: Path, *, line: int | None = None, remedy: str | None = None, saying: str = ""
) -> ConfigurationError:
    """The first thing that does not fit a form, with its place; the value itself is not repeated."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or None
    return ConfigurationError(f"{saying}{first['msg']}.", file=path, line=line, key=key, remedy=remedy)
