"""The folder of a run: what it was configured with, a journal that survives a kill, and the transcripts.

`run.json` is the configuration. `journal.jsonl` gets one line a response as soon as it is there, with the conversation
after it, so that a run goes on where it stopped. `RUN.transcript.jsonl` is written from the journal whenever a run ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from engine import ConfigurationError, Conversation, Strict, conversation_from_json, conversation_to_json
from evaluation.facilitating.design import digest
from evaluation.transcripts import ENDING, Response, Spent

FORMAT = 1
_ANOTHER = "Name another folder with --out, or call it as before."
_RESTORE = "Restore the file, or begin again in another folder."


class Speaker(Protocol):
    """Who speaks with the chatbot: a facilitator's role, a persona."""

    @property
    def id(self) -> str:
        """Its name in transcripts."""
        ...


class Place(Protocol):
    """One conversation of a design."""

    @property
    def role(self) -> Speaker:
        """Who holds it."""
        ...

    @property
    def number(self) -> int:
        """Counts the conversations of a role from 1, alike in every arm."""
        ...

    @property
    def arm(self) -> str:
        """What is on and off in it."""
        ...

    def response_id(self, run: str, query: int) -> str:
        """An id that tells raters nothing of the arm."""
        ...


HeldT = TypeVar("HeldT", bound=Place)
PlannedT_co = TypeVar("PlannedT_co", bound=Place, covariant=True)


class Plan(Protocol[PlannedT_co]):
    """The design of a run as the journal knows it."""

    def held(self) -> tuple[PlannedT_co, ...]:
        """Every conversation in the order of the transcripts."""
        ...

    def queries_of(self, held: Any) -> int:
        """How many messages the person writes in one of them."""
        ...

    def described(self) -> dict[str, Any]:
        """What makes this design itself."""
        ...


class JournalEntry(Strict):
    """One line of the journal: a response, what asking for it cost, and the conversation after it as JSON."""

    response: Response
    asking: Spent = Spent()
    conversation: str

    @property
    def after(self) -> Conversation:
        """The conversation as it went on."""
        return conversation_from_json(self.conversation)

    @classmethod
    def of(cls, response: Response, asking: Spent, after: Conversation) -> JournalEntry:
        """The entry of a turn."""
        return cls(response=response, asking=asking, conversation=conversation_to_json(after))


_ENTRY, _RESPONSE = TypeAdapter(JournalEntry), cast(TypeAdapter[Response], TypeAdapter(Response))


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected(Generic[HeldT]):
    """Where a response that is expected stands: in which conversation, at which query."""

    held: HeldT
    query: int


class Journal(AbstractContextManager["Journal[Any]"], Generic[HeldT]):
    """The journal of one run, open for going on. `entries` is all that is there, by response id.

    Opening it makes the folder, or checks that it holds this very run; a half-written last line is dropped.
    Raises ConfigurationError for a folder of another configuration (naming what differs), a damaged journal, one that
    another process writes, and a folder that cannot be written.
    """

    def __init__(self, folder: Path, design: Plan[HeldT], configuration: Mapping[str, Any]) -> None:
        self.folder, self._path = folder, folder / "journal.jsonl"
        described = {"format": FORMAT, **configuration, **design.described()}
        self.run = f"run-{digest([json.dumps(described, sort_keys=True)])[:8]}"
        self.held: tuple[HeldT, ...] = design.held()
        self.expected = {
            one.response_id(self.run, query): Expected(held=one, query=query)
            for one in self.held
            for query in range(1, design.queries_of(one) + 1)
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = self._locked(described)
            self._file: BinaryIO = self._path.open("ab")
        except OSError as error:
            raise _unwritable(folder, error) from error
        try:
            self.entries = self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal[HeldT]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, so that another process may go on."""
        self._file.close()
        self._lock.close()

    @property
    def missing(self) -> tuple[Expected[HeldT], ...]:
        """What is not there yet, in the order of the design."""
        return tuple(one for name, one in self.expected.items() if name not in self.entries)

    def of(self, held: HeldT) -> list[JournalEntry]:
        """What is there of one conversation, in order."""
        return [self.entries[name] for name, one in self.expected.items() if one.held is held and name in self.entries]

    def append(self, entry: JournalEntry) -> None:
        """Write one response and wait until the disk has it."""
        try:
            self._file.write(_ENTRY.dump_json(entry) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self.entries[entry.response.response_id] = entry

    def ordered(self) -> list[JournalEntry]:
        """All entries in the order of the design."""
        return [self.entries[name] for name in self.expected if name in self.entries]

    def publish(self) -> Path:
        """Write the transcripts in the order of the design; a journal with nothing missing gets the same order."""
        entries = self.ordered()
        path = self.folder / f"{self.run}{ENDING}"
        try:
            _replace(path, b"".join(_RESPONSE.dump_json(entry.response) + b"\n" for entry in entries))
            if not self.missing:
                _replace(self._path, b"".join(_ENTRY.dump_json(entry) + b"\n" for entry in entries))
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return path

    def _locked(self, described: Mapping[str, Any]) -> BinaryIO:
        """The configuration's file, compared and held open, so that only one process writes to a folder."""
        path = self.folder / "run.json"
        if not path.exists():
            if self._path.exists() or any(self.folder.glob(f"*{ENDING}")):
                raise ConfigurationError(
                    "The folder holds transcripts, and nothing says of which run.", file=self.folder, remedy=_ANOTHER
                )
            _replace(path, json.dumps(described, indent=2, ensure_ascii=False).encode() + b"\n")
        file = path.open("rb")
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _compare(_configuration(path, file.read()), json.loads(json.dumps(described)), path)
        except BlockingIOError:
            file.close()
            raise ConfigurationError(
                "Another process writes to this folder.", file=self.folder, remedy="Wait until it ends, or stop it."
            ) from None
        except BaseException:
            file.close()
            raise
        return file

    def _read(self) -> dict[str, JournalEntry]:
        text = self._path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        entries: dict[str, JournalEntry] = {}
        for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
            entry = self._entry(line, number)
            self._check(entry, entries, number)
            entries[entry.response.response_id] = entry
        if len(whole) < len(text):
            os.truncate(self._path, len(whole))
        return entries

    def _entry(self, line: bytes, number: int) -> JournalEntry:
        try:
            entry = _ENTRY.validate_json(line)
            entry.after  # noqa: B018 - reads the conversation, which has to be whole too
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(str(part) for part in first["loc"]) or None
            raise ConfigurationError(
                "The line is damaged.", file=self._path, line=number, key=key, remedy=_RESTORE
            ) from None
        except (ValueError, KeyError, TypeError):
            raise ConfigurationError(
                "The line is damaged.", file=self._path, line=number, key="conversation", remedy=_RESTORE
            ) from None
        return entry

    def _check(self, entry: JournalEntry, before: Mapping[str, JournalEntry], number: int) -> None:
        """Whether a line belongs here: to this run, once, after the query before it."""
        response = entry.response
        place = self.expected.get(response.response_id)
        problem = None
        if place is None or (response.role, response.conversation, response.arm, response.query) != (
            place.held.role.id,
            place.held.number,
            place.held.arm,
            place.query,
        ):
            problem = "The response belongs to no query of this run."
        elif response.response_id in before:
            problem = "The response stands there already."
        elif place.query > 1 and place.held.response_id(self.run, place.query - 1) not in before:
            problem = "The response to the query before it is missing."
        if problem is not None:
            raise ConfigurationError(problem, file=self._path, line=number, remedy=_RESTORE)


def _configuration(path: Path, text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigurationError("The configuration of the run is damaged.", file=path, remedy=_RESTORE)
    return found


def _compare(found: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    different = [key for key in dict.fromkeys((*found, *wanted)) if found.get(key) != wanted.get(key)]
    if different:
        changes = "; ".join(
            f"{key} was {_short(found.get(key))}, now {_short(wanted.get(key))}" for key in different[:3]
        )
        raise ConfigurationError(f"The folder holds another run: {changes}.", file=path, remedy=_ANOTHER)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]} …"


def _replace(path: Path, content: bytes) -> None:
    aside = path.with_name(f".{path.name}.new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"The folder cannot be written ({error.strerror}).", file=path, remedy="Check the folder and the free space."
    )
