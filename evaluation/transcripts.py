"""Transcripts: what facilitators and the chatbot said to each other, one JSON line a response.

A folder of transcripts holds files named `*.transcript.jsonl`, as many as there are runs. A line is whole once it ends
with a line break; the torn end of a file whose writer was killed is never read, and the next writer cuts it off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, BinaryIO, cast

from pydantic import ConfigDict, Field, TypeAdapter, with_config

from engine import ConfigurationError, Decision, Review, Usage, read_text
from evaluation.forms import parsed_line

VERSION = 1
ENDING = ".transcript.jsonl"
_FORM = ConfigDict(extra="forbid")
Name = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0)]


@with_config(_FORM)
@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeVerdict:
    """One verdict as it is kept; `stage` and `tier` are the words of engine.types."""

    stage: str
    judge: str
    tier: str
    decision: Decision
    explanation: str = ""
    sentences: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    failed: bool = False


@with_config(_FORM)
@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a response cost; `cost` is None where a price is unknown."""

    llm_calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    cost: float | None = None

    @classmethod
    def of(cls, usage: Usage) -> Spent:
        """The same of a turn's usage."""
        return cls(**asdict(usage))


@with_config(_FORM)
@dataclass(frozen=True, kw_only=True, slots=True)
class Response:
    """One reply to a facilitator's query, with everything that raters and reports need.

    `role` is the facilitator's; `conversation` and `query` count from 1; `arm` says what was on and off.
    `sources_text` is the text of the cited sources by id, so that a rater can look a statement up; `seconds` is wall
    time; `decision` and `review` are the filter's (an arm without a filter has an empty review). `marks` say how the
    reply came about: the outcome as in engine.types, `urgent` or `concern`, and `outage` where built-in parts stood in.
    """

    response_id: Name
    run: Name
    role: Name
    conversation: Annotated[int, Field(ge=1)]
    query: Annotated[int, Field(ge=1)]
    arm: Name
    user_message: str
    reply: str
    citations: tuple[str, ...] = ()
    sources_text: dict[str, str] = field(default_factory=dict)
    decision: Decision = Decision.ACCEPT
    review: tuple[JudgeVerdict, ...] = ()
    marks: tuple[str, ...] = ()
    usage: Spent = field(default_factory=Spent)
    seconds: Annotated[float, Field(ge=0)] = 0.0
    version: int = VERSION

    @property
    def place(self) -> tuple[str, str, str, int, int]:
        """Where it belongs: run, role, arm, conversation and query, in the order in which it is read."""
        return (self.run, self.role, self.arm, self.conversation, self.query)


def verdicts_of(review: Review) -> tuple[JudgeVerdict, ...]:
    """Every verdict of a turn's review as it is kept in a transcript."""
    return tuple(
        JudgeVerdict(
            stage=str(record.stage),
            judge=verdict.judge,
            tier=str(verdict.tier),
            decision=verdict.decision,
            explanation=verdict.explanation,
            sentences=verdict.sentences,
            evidence=verdict.evidence,
            failed=verdict.failed,
        )
        for record in review.stages
        for verdict in record.verdicts
    )


class TranscriptWriter:
    """Appends responses to one file; when `append` returns, the line has reached the disk.

    One writer a file. Opening cuts off the torn end that a killed writer has left. Raises ConfigurationError where
    the file cannot be written or its name does not end with `.transcript.jsonl`.
    """

    def __init__(self, path: Path) -> None:
        if not path.name.endswith(ENDING):
            raise ConfigurationError("The name of a transcript is wrong.", file=path, remedy=f"End it with {ENDING}.")
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = path.open("ab+")
            _cut_torn_end(self._file)
        except OSError as error:
            raise _unwritable(path, error) from error

    def __enter__(self) -> TranscriptWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def append(self, response: Response) -> None:
        """Write one line and wait until the disk has it."""
        line = json.dumps(_ADAPTER.dump_python(response, mode="json"), ensure_ascii=False)
        try:
            self._file.write(line.encode("utf-8") + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        """Close the file; nothing is left to be written."""
        self._file.close()


def read_transcripts(place: Path) -> list[Response]:
    """Every response of a folder or of one file, in the order of `Response.place`.

    Raises ConfigurationError with file and line for a line that is wrong, of another version, or about a response that
    was there before; and where there is none at all.
    """
    paths = sorted(place.glob(f"*{ENDING}")) if place.is_dir() else [place]
    seen: dict[str, str] = {}
    responses: list[Response] = []
    for path in paths:
        for number, response in _responses(path):
            before = seen.setdefault(response.response_id, f"{path.name}:{number}")
            if before != f"{path.name}:{number}":
                raise ConfigurationError(
                    f"The response {response.response_id!r} stands in {before} already.",
                    file=path,
                    line=number,
                    remedy="Keep one of the two.",
                )
            responses.append(response)
    if not responses:
        raise ConfigurationError("There are no responses.", file=place, remedy=f"Name a folder of *{ENDING} files.")
    return sorted(responses, key=lambda one: one.place)


def _responses(path: Path) -> Iterator[tuple[int, Response]]:
    lines = read_text(path, remedy=f"Name a folder of *{ENDING} files.").split("\n")
    whole: Iterable[str] = lines if _is_json(lines[-1]) else lines[:-1]
    for number, line in enumerate(whole, start=1):
        if line.strip():
            yield number, parsed_line(_ADAPTER, line, VERSION, path, number)


def _cut_torn_end(file: BinaryIO) -> None:
    file.seek(0)
    text = file.read()
    torn = text[text.rfind(b"\n") + 1 :]
    if not torn:
        return
    if _is_json(torn.decode("utf-8", errors="replace")):
        file.write(b"\n")
    else:
        file.truncate(len(text) - len(torn))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The file cannot be written ({error.strerror}).", file=path, remedy="Check the folder and the free space."
    )


_ADAPTER = cast(TypeAdapter[Response], TypeAdapter(Response))
