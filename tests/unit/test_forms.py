"""Lines that were written before, read again: what does not fit is refused with its place and without its value."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter, with_config
from pydantic.dataclasses import dataclass

from engine.exceptions import ConfigurationError
from evaluation.forms import parsed_line

FILE = Path("kept.jsonl")


@with_config({"extra": "forbid"})
@dataclass(frozen=True, kw_only=True)
class Kept:
    """A line of these tests."""

    name: str
    count: int = 0
    version: int = 1


def read(line: str) -> Kept:
    return parsed_line(TypeAdapter(Kept), line, 1, FILE, 7)


def test_a_line_that_fits_is_read() -> None:
    """A line of this version and form gives its value."""
    assert read('{"name": "voices", "version": 1}') == Kept(name="voices")


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("{", None, "The line is not JSON. Restore the file as it was written."),
        ("[]", None, "The line is no JSON object."),
        ('{"version": 2}', "version", "It was written by a newer version of CAFI (format 2). Use that version."),
        ('{"version": 0}', "version", "It was written by an older version of CAFI (format 0; this one is 1)."),
        ("{}", "version", "It was written by an older version of CAFI (format without a number; this one is 1)."),
        ('{"version": true}', "version", "It was written by an older version of CAFI"),
        ('{"version": 1}', "name", "Field required."),
        ('{"version": 1, "name": "x", "count": "Ottilie"}', "count", "Input should be a valid integer"),
    ],
)
def test_a_line_that_does_not_fit_is_refused_with_its_place(line: str, key: str | None, said: str) -> None:
    """The message names file, line and key, says what is wrong, and does not repeat what stands there."""
    with pytest.raises(ConfigurationError) as refused:
        read(line)
    assert (refused.value.file, refused.value.line, refused.value.key) == (FILE, 7, key)
    assert said in str(refused.value) and "Ottilie" not in str(refused.value)
