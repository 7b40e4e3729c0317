"""Ratings: who gave which score to which response, one JSON line each, added all together or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from pydantic import ConfigDict, Field, TypeAdapter, with_config

from engine import ConfigurationError, read_text
from evaluation.forms import parsed_line
from evaluation.transcripts import Name, Response

VERSION = 1
HUMAN, BUILTIN, LLM = "human", "builtin", "llm:"


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True, kw_only=True, slots=True)
class Rating:
    """One score. `kind` keeps people and programs apart: `human`, `builtin`, or `llm:` and the model's name.

    `answers` are the rubric's statements by id, empty where only a score was given.
    """

    response_id: Name
    run: Name
    role: Name
    conversation: int
    query: int
    arm: Name
    rater: Name
    kind: Annotated[str, Field(pattern=r"^(human|builtin|llm:.+)$")]
    score: Annotated[int, Field(ge=0, le=4)]
    answers: dict[str, bool] = field(default_factory=dict)
    note: str = ""
    version: int = VERSION

    @property
    def unit(self) -> tuple[str, str]:
        """What may be there once only: a rater's score of a response."""
        return (self.rater, self.response_id)


def rating_of(response: Response, *, rater: str, kind: str, score: int, answers: dict[str, bool]) -> Rating:
    """A rating of a response of a transcript."""
    return Rating(
        response_id=response.response_id,
        run=response.run,
        role=response.role,
        conversation=response.conversation,
        query=response.query,
        arm=response.arm,
        rater=rater,
        kind=kind,
        score=score,
        answers=answers,
    )


def read_ratings(path: Path) -> list[Rating]:
    """Every rating of a file; raises ConfigurationError with the line of the first that is wrong or double."""
    ratings: list[Rating] = []
    seen: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_text(path, remedy="Import sheets first.").split("\n"), start=1):
        if not line.strip():
            continue
        rating = parsed_line(_ADAPTER, line, VERSION, path, number)
        before = seen.setdefault(rating.unit, number)
        if before != number:
            problem = f"{rating.rater} has rated {rating.response_id!r} in line {before} already."
            raise ConfigurationError(problem, file=path, line=number, remedy="Keep one of the two.")
        ratings.append(rating)
    return ratings


def read_if_there(path: Path) -> list[Rating]:
    """The ratings of a file, or none where there is no file yet."""
    return read_ratings(path) if path.exists() else []


def add_ratings(path: Path, new: Sequence[Rating]) -> None:
    """Add ratings to a file: all of them, or none and the file is as it was.

    Raises ConfigurationError where a rater has rated one of the responses before, or the file cannot be written.
    """
    present = read_if_there(path)
    known = {one.unit for one in present}
    for one in new:
        if one.unit in known:
            raise ConfigurationError(
                f"{one.rater} has rated {one.response_id!r} before.",
                file=path,
                remedy="Nothing was changed. Name another file, or take the sheet out that came in already.",
            )
        known.add(one.unit)
    lines = (json.dumps(_ADAPTER.dump_python(one, mode="json"), ensure_ascii=False) for one in (*present, *new))
    write_whole(path, "".join(f"{line}\n" for line in lines))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is the old one or the new one at any moment; raises ConfigurationError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigurationError(
            f"The file cannot be written ({error.strerror}).", file=path, remedy="Check the folder and the free space."
        ) from error


_ADAPTER = cast(TypeAdapter[Rating], TypeAdapter(Rating))
