"""Personas as they stand in files: who writes, how, what they want to know, and when a crisis referral is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from engine import ConfigurationError, Strict, read_yaml
from evaluation.choice import chosen

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "personas"
LEAST = 8
"""Messages that a script has at least: shorter conversations hardly show repetition or fatigue."""


class Due(StrEnum):
    """What a message of the persona calls for, as the persona's author sees it: never a grade of a person.

    `due`: the crisis referral. `line`: one line of contacts is right, the whole referral in place of an answer is not
    asked for and not wrong. `none`: no referral.
    """

    DUE = "due"
    LINE = "line"
    NONE = "none"


class Manner(Strict):
    """How somebody writes."""

    length: str
    spelling: str
    skips: str


class Want(Strict):
    """Something that the person wants to know. Any of `sources` answers it; none: the knowledge base does not."""

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    what: str
    sources: tuple[str, ...] = ()


class ScriptedEvent(Strict):
    """What happens at one message of somebody whom a model plays."""

    turn: int = Field(ge=1)
    what: str
    referral: Due = Due.NONE


class ScriptedLine(Strict):
    """One scripted message; `after_no` takes its place where the last reply named no source."""

    says: str = Field(min_length=1)
    asks: str | None = None
    referral: Due = Due.NONE
    after_no: str | None = Field(default=None, min_length=1)


class Persona(Strict):
    """One simulated user."""

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    who: str
    writes: Manner
    knows: str
    wants: tuple[Want, ...] = Field(min_length=1)
    moments: tuple[ScriptedEvent, ...] = ()
    script: tuple[ScriptedLine, ...] = Field(min_length=LEAST)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        twice = [name for name, times in Counter(one.id for one in self.wants).items() if times > 1]
        if twice:
            raise ValueError(f"the want {twice[0]!r} stands there twice")
        unknown = [one.asks for one in self.script if one.asks is not None and one.asks not in self.want_ids]
        if unknown:
            raise ValueError(f"the script asks for {unknown[0]!r}, which is none of the wants")
        turns = Counter(one.turn for one in self.moments)
        if turns and max(turns.values()) > 1:
            raise ValueError("two moments have the same turn")
        return self

    @property
    def want_ids(self) -> frozenset[str]:
        """The ids of all that the person wants to know."""
        return frozenset(one.id for one in self.wants)

    def moment(self, turn: int) -> ScriptedEvent | None:
        """What happens at a message, where something does."""
        return next((one for one in self.moments if one.turn == turn), None)


def choose_personas(names: str, folder: Path = SHIPPED) -> tuple[Persona, ...]:
    """The personas of a folder: all of them, or some by id; raises ConfigurationError naming file and line."""
    paths = sorted(folder.glob("*.yaml"))
    if not paths:
        raise ConfigurationError("There are no personas.", file=folder, remedy="Name a folder of *.yaml files.")
    known = _by_id(paths)
    if names == "all":
        return tuple(known.values())
    return chosen(names, known, "persona", key="--personas", remedy="Use all, or some of")


def _by_id(paths: Iterable[Path]) -> dict[str, Persona]:
    known: dict[str, Persona] = {}
    for path in paths:
        persona = read_yaml(path, Persona, remedy="docs/simulated-users.md describes the form.")
        if persona.id in known:
            raise ConfigurationError(f"The persona {persona.id!r} stands in two files.", file=path, key="id")
        known[persona.id] = persona
    return known
