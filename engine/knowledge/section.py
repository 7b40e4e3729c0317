"""A section of a source: what stands under one heading, whom it is for and which lay questions it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import KnowledgeBaseError
from engine.knowledge.directives import danger_lines, without_brackets
from engine.language.text import fold

# "# Title" and "## Heading" open a section; deeper headings stay within it. "{#id}" at the end names it.
_HEADING = re.compile(r"^#{1,2}[ \t]+(?P<heading>[^\n]*?)[ \t]*(?:\{#(?P<id>[^{}\s]*)\})?[ \t]*$", re.M)
_ANCHOR = re.compile(r"^(#{1,6}[ \t][^\n]*?)[ \t]*\{#[^{}\s]*\}[ \t]*$", re.M)
_NO_ID = re.compile(r"[^a-z0-9]+")
LEAD = "lead"
"""The id of what stands above the first heading, and of a heading of which no id can be made."""


class Audience(StrEnum):
    """Whom a section speaks to: the person who is ill, somebody close to them, or who works with them."""

    SELF = "self"
    RELATIVE = "relative"
    PROFESSIONAL = "professional"


class SectionHead(BaseModel):
    """What the front matter says of one section."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    audience: tuple[Audience, ...] = Field(alias="for", min_length=1)
    questions: tuple[str, ...] = ()


UNSAID = SectionHead.model_validate({"for": list(Audience)})
"""What holds of a section that the front matter does not list: it may be for anybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One section. `text` is what users may see, without the heading; `dangers` are the ids of its danger blocks."""

    id: str
    heading: str
    text: str
    audience: tuple[Audience, ...]
    questions: tuple[str, ...]
    dangers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A piece of a body from one heading to the next; `line` is that of the heading, 1-based; `level` 0 has none."""

    id: str
    heading: str
    level: int
    marked: bool
    body: str
    line: int


def without_anchors(text: str) -> str:
    """The text without the ids of its headings."""
    return _ANCHOR.sub(r"\1", text)


def stretches(body: str) -> Iterator[Stretch]:
    """The body divided at its headings, in order; what stands above the first one too, where there is anything."""
    found = list(_HEADING.finditer(body))
    taken: dict[str, int] = {}
    above = body[: found[0].start()] if found else body
    if above.strip():
        yield Stretch(id=LEAD, heading="", level=0, marked=False, body=above, line=1)
        taken[LEAD] = 1
    for match, following in zip_longest(found, found[1:]):
        name = match["id"] or _NO_ID.sub("_", fold(match["heading"])).strip("_") or LEAD
        taken[name] = taken.get(name, 0) + 1
        marked = match["id"] is not None
        yield Stretch(
            # An id that the author gave twice is a fault; one that was made of a heading gets a number.
            id=name if marked or taken[name] == 1 else f"{name}_{taken[name]}",
            heading=match["heading"],
            level=len(match[0]) - len(match[0].lstrip("#")),
            marked=marked,
            body=body[match.end() : following.start() if following else len(body)],
            line=body.count("\n", 0, match.start()) + 1,
        )


def section_faults(
    heads: Mapping[str, SectionHead], body: str, *, path: Path, offset: int, key_line: Callable[[str], int]
) -> list[KnowledgeBaseError]:
    """Where the front matter's sections and the headings do not agree; none where the front matter lists none.

    `key_line`: the line of a section in the front matter; `offset`: the number of lines above the body.
    """
    if not heads:
        return []
    problems: list[KnowledgeBaseError] = []

    def say(problem: str, line: int, remedy: str | None = None) -> None:
        problems.append(KnowledgeBaseError(problem, file=path, line=line, remedy=remedy))

    seen: list[str] = []
    for one in stretches(body):
        line = one.line + offset
        if not one.marked:
            if one.level == 2:
                say("The heading has no id.", line, "Write it as '## Heading {#id}' and list the id under sections.")
        elif one.id in seen:
            say(f"The section {one.id!r} stands here a second time.", line)
        elif one.id not in heads:
            say(f"The section {one.id!r} is not listed under sections.", line)
        else:
            seen.append(one.id)
            if not without_brackets(one.body).strip() and not any(danger_lines(one.body)):
                say(f"The section {one.id!r} has no text.", line, "Take its id out of the heading and of the list.")
    for name in heads:
        if name not in seen:
            say(f"There is no heading with {{#{name}}}.", key_line(name))
    if not problems and seen != list(heads):
        wrong = next(name for name, here in zip(heads, seen, strict=True) if name != here)
        say(f"The section {wrong!r} stands in another place than in the text.", key_line(wrong))
    return problems
