"""A model's raw completions kept in a file, found again by what was asked: the same judges, without a network.

A recording is JSON Lines: one head, which names the models, then one completion a line. The key of a completion is a
hash of the model's name, the messages and the form that was asked for, so that a changed prompt, rule, source or
scenario finds nothing and shows up as stale. Questions are not kept, only answers.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import Field, ValidationError

from engine import (
    ChatModel,
    Completion,
    ConfigurationError,
    Finish,
    Ledger,
    ModelCall,
    ModelDeclined,
    ModelOutputError,
    ModelSettings,
    ModelUnavailable,
    Prompt,
    Strict,
    Tier,
)
from evaluation.forms import misfit

UNRECORDED = "unrecorded"
"""How a call that no recording answers is written into the ledger."""
ModelNames: TypeAlias = Callable[[str, Tier], str]
"""The name of the model that a role and tier use."""
Row = TypeVar("Row", bound=Strict)
_REMEDY = "Record again: cafi eval calibrate --agents llm --record FILE"


class RecordingHeader(Strict):
    """The first line: which models answered. `answered_by` says in words who that was, where the names do not."""

    recording: Literal[1] = 1
    large: str
    small: str
    roles: dict[str, str] = Field(default_factory=dict)
    answered_by: str = ""

    @property
    def names(self) -> ModelNames:
        """The model of each role when this was recorded."""
        return ModelSettings(large=self.large, small=self.small, roles=self.roles).name_for


class Recorded(Strict):
    """One answer of a model, or how it failed to give one; `seconds` is what it took then."""

    key: str = Field(pattern=r"^[0-9a-f]{32}$")
    role: str
    outcome: Literal["ok", "declined", "bad_output"] = "ok"
    text: str = ""
    finish: Finish = Finish.STOP
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0


def key_of(prompt: Prompt, model: str) -> str:
    """A hash of everything that shapes an answer: model, messages, form, cap and temperature."""
    asked = [
        model,
        [[one.role, one.content] for one in prompt.messages],
        prompt.schema,
        prompt.max_tokens,
        prompt.temperature,
    ]
    return hashlib.sha256(json.dumps(asked, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What a file holds: answers by key, in the order in which they were given."""

    head: RecordingHeader
    answers: dict[str, list[Recorded]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a `.jsonl` or `.jsonl.gz` file; raises ConfigurationError naming the line."""
        lines = _text(path).split("\n")
        head = _parsed(lines[0], RecordingHeader, path, 1)
        recording = cls(head=head)
        for number, line in enumerate(lines[1:], start=2):
            if line.strip():
                one = _parsed(line, Recorded, path, number)
                recording.answers.setdefault(one.key, []).append(one)
        return recording

    def written(self) -> str:
        """The file's text, sorted, so that two recordings can be compared line by line."""
        answers = sorted((one for group in self.answers.values() for one in group), key=lambda one: (one.role, one.key))
        return "".join(f"{row.model_dump_json(exclude_defaults=True)}\n" for row in answers)


class ReplayModel:
    """A model that gives recorded answers and books what they cost when they were recorded.

    The second question of the same words gets the second answer. A question without an answer raises
    ModelUnavailable and is written into the ledger as `unrecorded`.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording, self._names = recording, recording.head.names
        self._asked: Counter[str] = Counter()

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """The next recorded answer to this prompt."""
        model = self._names(prompt.role, prompt.tier)
        key = key_of(prompt, model)
        place = self._asked[key]
        self._asked[key] += 1
        found = self._recording.answers.get(key, [])
        if place >= len(found):
            now = ledger.now()
            ledger.record(ModelCall(role=prompt.role, model=model, started=now, ended=now, outcome=UNRECORDED))
            raise ModelUnavailable("No recording answers this question.")
        return played(found[place], model, ledger)


class RecordingModel:
    """A model that keeps what another one answers, and does not ask it again for what the file holds already.

    Each answer is written as it comes, so that a run that was stopped goes on where it was. What cannot be reached
    is not kept. `close` puts the file in order.
    """

    def __init__(self, model: ChatModel, path: Path, head: RecordingHeader) -> None:
        self._model, self._path = model, path
        self._recording = _begun(path, head)
        self._asked: Counter[str] = Counter()

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Answer from the file, else ask and keep the answer; raises what the model raises."""
        model = self._recording.head.names(prompt.role, prompt.tier)
        key = key_of(prompt, model)
        place = self._asked[key]
        self._asked[key] += 1
        found = self._recording.answers.get(key, [])
        if place < len(found):
            return played(found[place], model, ledger)
        started, calls = ledger.now(), len(ledger.calls)
        try:
            completion = await self._model.complete(prompt, ledger)
        except ModelDeclined:
            self._keep(_failure(key, prompt, "declined", ledger, started, calls))
            raise
        except ModelOutputError:
            self._keep(_failure(key, prompt, "bad_output", ledger, started, calls))
            raise
        self._keep(
            Recorded(
                key=key,
                role=prompt.role,
                text=completion.text,
                finish=completion.finish,
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                cached_tokens=completion.cached_tokens,
                seconds=round(ledger.now() - started, 3),
            )
        )
        return completion

    def close(self) -> None:
        """Put the file in order, in one step."""
        draft = self._path.with_name(f"{self._path.name}.draft")
        draft.write_text(f"{self._recording.head.model_dump_json()}\n{self._recording.written()}", encoding="utf-8")
        draft.replace(self._path)

    def _keep(self, one: Recorded) -> None:
        self._recording.answers.setdefault(one.key, []).append(one)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{one.model_dump_json(exclude_defaults=True)}\n")


def played(one: Recorded, model: str, ledger: Ledger) -> Completion:
    """A recorded answer as it came then, booked with its tokens and seconds; raises what was raised then."""
    ledger.reserve()
    now = ledger.now()
    ledger.record(
        ModelCall(
            role=one.role,
            model=model,
            started=now,
            ended=now + one.seconds,
            prompt_tokens=one.prompt_tokens,
            completion_tokens=one.completion_tokens,
            cached_tokens=one.cached_tokens,
            outcome=one.outcome,
        )
    )
    if one.outcome == "declined":
        raise ModelDeclined
    if one.outcome == "bad_output":
        raise ModelOutputError
    return Completion(
        text=one.text,
        finish=one.finish,
        model=model,
        prompt_tokens=one.prompt_tokens,
        completion_tokens=one.completion_tokens,
        cached_tokens=one.cached_tokens,
    )


def _failure(
    key: str, prompt: Prompt, outcome: Literal["declined", "bad_output"], ledger: Ledger, started: float, calls: int
) -> Recorded:
    spent = ledger.calls[calls:]
    return Recorded(
        key=key,
        role=prompt.role,
        outcome=outcome,
        prompt_tokens=sum(call.prompt_tokens for call in spent),
        completion_tokens=sum(call.completion_tokens for call in spent),
        cached_tokens=sum(call.cached_tokens for call in spent),
        seconds=round(ledger.now() - started, 3),
    )


def _begun(path: Path, head: RecordingHeader) -> Recording:
    """What the file holds so far, or a new file with its head; a last line that was cut off is taken away."""
    if path.suffix == ".gz":
        raise ConfigurationError(
            "A recording is written plain.", file=path, remedy="Name a .jsonl file; gzip it later."
        )
    try:
        if not path.exists() or not path.read_bytes():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{head.model_dump_json()}\n", encoding="utf-8")
        whole = path.read_bytes()
        if not whole.endswith(b"\n") and b"\n" in whole:
            path.write_bytes(whole[: whole.rindex(b"\n") + 1])
    except OSError as error:
        raise ConfigurationError(f"The recording cannot be written ({error.strerror}).", file=path) from error
    found = Recording.read(path)
    if (found.head.large, found.head.small, found.head.roles) != (head.large, head.small, head.roles):
        raise ConfigurationError(
            f"It was recorded with {found.head.large} and {found.head.small}; configured are {head.large} and {head.small}.",
            file=path,
            remedy="Name another file, or configure the same models.",
        )
    return found


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except FileNotFoundError as error:
        raise ConfigurationError("There is no such recording.", file=path, remedy=_REMEDY) from error
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigurationError("The recording cannot be read.", file=path, remedy=_REMEDY) from error


def _parsed(line: str, form: type[Row], path: Path, number: int) -> Row:
    try:
        return form.model_validate_json(line)
    except ValidationError as error:
        raise misfit(error, path, line=number, remedy=_REMEDY, saying="This is no line of a recording: ") from None
