"""The table of dangers: each emergency written once, so that one danger has one threshold wherever it is named.

`dangers.yaml` in the folder of a knowledge base; a source includes an entry by `[danger: id]` on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.exceptions import KnowledgeBaseError
from engine.files import lines_of, parse_yaml, read_text
from engine.knowledge.belongings import belongs
from engine.knowledge.reference import Reference
from engine.language.text import sentences
from engine.types import Kind

DANGERS_FILE = "dangers.yaml"
_IN_BRACKETS = re.compile(r"\s*\([^()]*[.!?]\)$")

# Square brackets would be read as directives of the source that includes the entry.
Plain = Annotated[str, Field(pattern=r"^[^\[\]\n]*\w[^\[\]\n]*$")]


class HowFast(StrEnum):
    """By when help is needed: at once, on the same day, or within days."""

    EMERGENCY = "emergency"
    SAME_DAY = "same_day"
    THIS_WEEK = "this_week"


class UsualFor(StrEnum):
    """The kinds of danger that have steps of their own, whatever else was told; by who is in danger."""

    DYING = "dying"
    DYING_OF_ANOTHER = "dying_of_another"
    VOICES = "voices"
    VOICES_OF_ANOTHER = "voices_of_another"
    OTHERS = "others"
    OTHERS_OF_ANOTHER = "others_of_another"


class DangerEntry(BaseModel):
    """One danger as its author writes it. Each sign is enough by itself; `do` begins with the action.

    `usual_for`: the kind of danger that it is told for where no entry was named. `to_helpers`: its steps are for whoever is
    with the person, who could take them wrongly ("stay near"). `own_words`: `say` is in the words of the person in danger ("I
    take …"). `first`: the numbers of the steps that are told below "call now", from 1; None for all: a step for a lighter case
    would weaken it, and one that prevents would reproach.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: Plain
    signs: tuple[Plain, ...] = Field(min_length=1)
    how_fast: HowFast
    do: tuple[Plain, ...] = Field(min_length=1)
    say: Plain
    authority: Reference
    usual_for: UsualFor | None = None
    to_helpers: bool = False
    own_words: bool = False
    first: tuple[Annotated[int, Field(ge=1)], ...] | None = None

    @model_validator(mode="after")
    def _numbered(self) -> DangerEntry:
        if any(one > len(self.do) for one in self.first or ()):
            raise ValueError(f"there are {len(self.do)} steps in 'do', and 'first' names another")
        return self


class LeadWords(BaseModel):
    """The words around every entry, in the language of the knowledge base: what leads to its signs, and to `say`.

    `call`: how an entry's `do` tells to call for help, which is left out where help was named already.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    emergency: Plain
    same_day: Plain
    this_week: Plain
    say: Plain
    call: str = ""


class DangerFile(BaseModel):
    """The form of `dangers.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: LeadWords
    dangers: tuple[DangerEntry, ...]


@dataclass(frozen=True, kw_only=True)
class KnownDanger:
    """One danger with the words that stand for it in every source; `line` is that of its entry, 1-based.

    `of`: the hash of what it is a translation of, empty for an original.
    """

    entry: DangerEntry
    text: str
    path: Path
    line: int
    of: str = ""

    @property
    def id(self) -> str:
        """What `[danger: id]` names."""
        return self.entry.id

    @property
    def signs(self) -> tuple[str, ...]:
        """What people who need it would tell: its name and its signs; what to do and say is much the same for all."""
        return (self.entry.name, *self.entry.signs)

    @property
    def emergency(self) -> bool:
        """Whether help is needed at once."""
        return self.entry.how_fast is HowFast.EMERGENCY


@dataclass(frozen=True, kw_only=True)
class FirstAid:
    """What to do about a danger below the words that name help. `now`: help is needed at once, else the same day.

    `say`: what to say to those who help, with the words that lead to it; `own_words`: the same without these, where it is in the
    words of the person in danger. `to_helpers`: not for the person in danger.
    """

    do: tuple[str, ...]
    say: str
    now: bool
    own_words: str = ""
    to_helpers: bool = False


@dataclass(frozen=True, kw_only=True)
class Dangers:
    """All dangers of a knowledge base by id, in the order of the file; none where there is no file.

    `words` are those around every entry. `unreadable`: the file is there and faulty, which is to be mended before any
    line that names an entry.
    """

    entries: Mapping[str, KnownDanger] = field(default_factory=dict)
    words: LeadWords | None = None
    unreadable: bool = False

    def holds(self, name: str) -> bool:
        """Whether there is an entry of that id, as far as one can tell."""
        return self.unreadable or name in self.entries

    @property
    def pressing(self) -> tuple[str, ...]:
        """The ids of those that do not wait for days."""
        return tuple(name for name, one in self.entries.items() if one.entry.how_fast is not HowFast.THIS_WEEK)

    def usual(self, kind: Kind, *, another: bool) -> str:
        """The id of the entry that is told where no more is known than the kind of danger; empty for none."""
        wanted = f"{kind}_of_another" if another else f"{kind}"
        return next((name for name, one in self.entries.items() if one.entry.usual_for == wanted), "")

    def first_aid(self, name: str) -> FirstAid | None:
        """What the entry of an id tells to do where help is named anyway; None where there is none, or it can wait.

        Nor for one that nobody has translated, in a table that is a translation.
        """
        known = self.entries.get(name)
        if known is None or self.words is None or known.entry.how_fast is HowFast.THIS_WEEK:
            return None
        if not known.of and any(one.of for one in self.entries.values()):
            return None
        numbers = known.entry.first
        steps = [one for at, one in enumerate(known.entry.do, 1) if numbers is None or at in numbers]
        do = tuple(one for one in steps if not (known.emergency and self._only_calls(one)))
        # A whole sentence in brackets is what somebody else in this danger says.
        say = _IN_BRACKETS.sub("", known.entry.say)
        lead, own = f"{self.words.say} “{say}”", say if known.entry.own_words else ""
        return FirstAid(do=do, say=lead, own_words=own, now=known.emergency, to_helpers=known.entry.to_helpers)

    def _only_calls(self, step: str) -> bool:
        """Whether a step says nothing but to call for help, or when to."""
        first, *rest = sentences(step)
        told = rest if first.endswith("?") else [first, *rest]
        call = "" if self.words is None else self.words.call
        return bool(call) and len(told) == 1 and told[0].startswith(call)

    def pick(self, ids: Iterable[str]) -> tuple[KnownDanger, ...]:
        """The dangers of those ids that exist, in the order given, each once."""
        return tuple(self.entries[one] for one in dict.fromkeys(ids) if one in self.entries)


def read_dangers(folder: Path) -> tuple[Dangers, list[KnowledgeBaseError]]:
    """The table of a knowledge base's folder and every problem in it; empty where it has none."""
    path = folder / DANGERS_FILE
    if not belongs(path, folder):
        return Dangers(), []
    try:
        text = read_text(path, error=KnowledgeBaseError)
        read = parse_yaml(text, DangerFile, path=path, error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        return Dangers(unreadable=True), [error]
    entries: dict[str, KnownDanger] = {}
    problems = []
    lines = lines_of(text, [("dangers", number, "id") for number in range(len(read.dangers))])
    for entry, line in zip(read.dangers, lines, strict=True):
        if entry.id in entries:
            problem = f"The danger {entry.id!r} stands in line {entries[entry.id].line} already."
            problems.append(KnowledgeBaseError(problem, file=path, line=line, key="id", remedy="Write it once."))
        else:
            entries[entry.id] = KnownDanger(entry=entry, text=rendered(entry, read.words), path=path, line=line)
    return Dangers(entries=entries, words=read.words), problems


def rendered(entry: DangerEntry, around: LeadWords) -> str:
    """The entry as readers see it: its name, by when, the signs, what to do, what to say."""
    signs = "\n".join(f"- {one}" for one in entry.signs)
    by_when = getattr(around, entry.how_fast)
    return f"**{entry.name}.** {by_when}\n\n{signs}\n\n{' '.join(entry.do)}\n\n{around.say} “{entry.say}”"


def conflicting_dangers(tables: Iterable[Dangers]) -> Iterator[KnowledgeBaseError]:
    """Every danger of a later table that has other words or another threshold than the same id in an earlier one."""
    first: dict[str, KnownDanger] = {}
    for table in tables:
        for one in table.entries.values():
            earlier = first.setdefault(one.id, one)
            if (earlier.entry, earlier.text) != (one.entry, one.text):
                yield KnowledgeBaseError(
                    f"The danger {one.id!r} differs from the one at {earlier.path}:{earlier.line}.",
                    file=one.path,
                    line=one.line,
                    remedy="One danger has the same words and the same threshold everywhere: make them equal.",
                )
