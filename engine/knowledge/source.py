"""A source: one unit of the knowledge base, with its front matter, local rules, sections and passages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import KnowledgeBaseError
from engine.files import line_of, parse_yaml, read_text
from engine.knowledge.dangers import Dangers, KnownDanger
from engine.knowledge.directives import (
    Directive,
    DirectiveKind,
    brackets,
    danger_lines,
    parse,
    unbalanced_line,
    without_brackets,
)
from engine.knowledge.reference import Reference
from engine.knowledge.section import UNSAID, Section, SectionHead, section_faults, stretches, without_anchors

FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.S)
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class FrontMatter(BaseModel):
    """The head of a source file. `reviewed` is `none` or who reviewed it and when.

    `sections` by the id of their headings, in order; `questions` are those of the whole source.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    title: str = Field(min_length=1)
    summary: tuple[str, ...] = Field(min_length=1)
    questions: tuple[str, ...] = ()
    sections: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], SectionHead] = Field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    reviewed: str = "none"
    stakes: Literal["normal", "high"] = "normal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A paragraph, list or danger block that can be quoted whole.

    `ask` is a topic to ask about before presenting it; `section` the id of where it stands; `danger` that of the
    entry whose words it is.
    """

    index: int
    heading: str
    text: str
    ask: str | None = None
    section: str = ""
    danger: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """One source. `text` is the body as users may see it; `directives` are for the agent alone.

    `questions` are those of the source and of all its sections; `dangers` the entries that its text includes.
    `foreign_sections`: the ids of those that a translation lacks, so that they stand in the words of the original.
    """

    id: str
    title: str
    summary: tuple[str, ...]
    questions: tuple[str, ...]
    references: tuple[Reference, ...]
    reviewed: str
    high_stakes: bool
    body: str
    directives: tuple[Directive, ...]
    path: Path
    foreign: bool = False
    heads: Mapping[str, SectionHead] = field(default_factory=dict)
    dangers: tuple[KnownDanger, ...] = ()
    foreign_sections: frozenset[str] = frozenset()

    @cached_property
    def text(self) -> str:
        """The body without its directives, each danger in the words of its entry."""
        return _shown(self.body, self.dangers)

    @cached_property
    def prose(self) -> str:
        """What the author of this source wrote: the text without the words of dangers."""
        return _shown(self.body, ())

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The body divided at its headings, in order; a heading with nothing under it is left out."""
        return tuple(_sections(self))

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The body in quotable pieces, in order."""
        return tuple(_passages(self))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of title, summary, questions, body and the dangers that it includes."""
        dangers = (one.text for one in self.dangers)
        whole = "\n".join((self.title, *self.summary, *self.questions, self.body, *dangers))
        return hashlib.sha256(whole.encode()).hexdigest()

    def with_references(self) -> str:
        """The title in quotes, with the documents the source rests on."""
        references = "; ".join(f"{one.title}, {one.body}, {one.year}" for one in self.references)
        return f"“{self.title}” ({references})" if references else f"“{self.title}”"

    def shown_files(self) -> tuple[str, ...]:
        """The media files that the source shows, in order."""
        return tuple(one.value for one in self.directives if one.kind is DirectiveKind.SHOW)

    def notes_for_agent(self) -> tuple[str, ...]:
        """Every directive as one line for the agent."""
        return tuple(one.for_agent() for one in self.directives)

    def for_prompt(self, *, excerpt: str | None = None) -> dict[str, object]:
        """The source as prompts show it: its text or an excerpt, and its local rules apart from it."""
        return {
            "id": self.id,
            "title": self.title,
            "notes": list(dict.fromkeys(self.notes_for_agent())),
            "text": self.text if excerpt is None else excerpt,
            "excerpt": excerpt is not None,
        }


def read_source(
    path: Path, *, summaries: dict[str, list[str]] | None = None, dangers: Dangers | None = None
) -> tuple[Source | None, list[KnowledgeBaseError]]:
    """Read one Markdown file. Returns the source (None when it cannot be used) and every problem, with its line."""
    try:
        raw = read_text(path, error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        return None, [error]
    front = FRONT.match(raw)
    foreign = front is None and not raw.startswith("---\n")
    if front is None and not foreign:
        return None, [
            KnowledgeBaseError("The front matter is not closed.", file=path, line=1, remedy="End it with a line '---'.")
        ]
    offset = 0 if front is None else front[0].count("\n")
    body = raw if front is None else raw[front.end() :]
    try:
        head = _foreign_head(path, body, summaries or {}) if front is None else _head(path, front[1])
    except KnowledgeBaseError as error:
        return None, [error]
    front_text = "" if front is None else front[1]
    return assemble(path, head, body, offset=offset, front=front_text, foreign=foreign, dangers=dangers)


def assemble(
    path: Path,
    head: FrontMatter,
    body: str,
    *,
    offset: int,
    front: str = "",
    foreign: bool = False,
    dangers: Dangers | None = None,
) -> tuple[Source, list[KnowledgeBaseError]]:
    """The source of a head and a body that begins after `offset` lines, and what is wrong with the body.

    `front` is the head's text, so that what is wrong between its sections and the body can name the line.
    """
    directives, problems = read_directives(path, body, offset=offset, foreign=foreign)

    def key_line(name: str) -> int:
        # Looked up only where something is wrong: it costs as much again as reading the head.
        return line_of(front, ("sections", name)) + 1 if front else 1

    problems += section_faults(head.sections, body, path=path, offset=offset, key_line=key_line)
    named = [match[1] for match in danger_lines(body)]
    if not named and not without_brackets(body).strip():
        problems.append(KnowledgeBaseError("The source has no text.", file=path, line=offset + 1))
    return (
        Source(
            id=head.id,
            title=head.title,
            summary=head.summary,
            questions=(*head.questions, *(one for part in head.sections.values() for one in part.questions)),
            references=head.references,
            reviewed=head.reviewed,
            high_stakes=head.stakes == "high",
            body=body.strip(),
            directives=tuple(directives),
            path=path,
            foreign=foreign,
            heads=head.sections,
            dangers=(dangers or Dangers()).pick(named),
        ),
        problems,
    )


def plain_source(name: str, title: str, text: str) -> Source:
    """A source of somebody else's text, all of which is words for readers: no front matter, no directive, no file."""
    head = FrontMatter(id=name, title=title, summary=(title,))
    words = text.translate(str.maketrans("[]", "()"))
    return assemble(Path(name), head, words, offset=0, foreign=True)[0]


def _head(path: Path, text: str) -> FrontMatter:
    head = parse_yaml(text, FrontMatter, path=path, error=KnowledgeBaseError, line_offset=1)
    if head.id != path.stem:
        problem = f"The id is {head.id!r} but the file is called {path.name!r}."
        line = line_of(text, ("id",)) + 1
        raise KnowledgeBaseError(problem, file=path, line=line, key="id", remedy="Give both the same name.")
    return head


def _foreign_head(path: Path, body: str, summaries: dict[str, list[str]]) -> FrontMatter:
    if not ID.fullmatch(path.stem):
        raise KnowledgeBaseError(
            "The file name cannot serve as an id.",
            file=path,
            remedy="Use letters, digits, '_', '-' and '.' only.",
        )
    plain_name = re.sub(r"^\d+[_ -]*", "", path.stem).replace("_", " ").strip().capitalize() or path.stem
    title = plain_name
    return FrontMatter(id=path.stem, title=title, summary=tuple(summaries.get(path.stem, ())) or (title,))


def read_directives(
    path: Path, body: str, *, offset: int, foreign: bool
) -> tuple[list[Directive], list[KnowledgeBaseError]]:
    """The directives of a body that begins after `offset` lines, and the brackets that are none."""
    found: list[Directive] = []
    problems: list[KnowledgeBaseError] = []
    own_lines = {body.count("\n", 0, match.start()) + 1 for match in danger_lines(body)}
    for bracket in brackets(body):
        directive = parse(replace(bracket, line=bracket.line + offset), foreign=foreign)
        if directive is None:
            problems.append(
                KnowledgeBaseError(
                    "Unknown directive in square brackets.",
                    file=path,
                    line=bracket.line + offset,
                    remedy="Known are: ask before presenting, present in N parts, show, more in, intent, do not, danger.",
                )
            )
        elif directive.kind is DirectiveKind.DANGER and bracket.line not in own_lines and not foreign:
            problems.append(
                KnowledgeBaseError(
                    "A danger stands on a line of its own.",
                    file=path,
                    line=directive.line,
                    remedy="Put it between two empty lines.",
                )
            )
        else:
            found.append(directive)
    line = unbalanced_line(body)
    if line is not None and not foreign:
        problems.append(KnowledgeBaseError("A square bracket has no partner.", file=path, line=line + offset))
    return found, problems


def _shown(body: str, dangers: tuple[KnownDanger, ...]) -> str:
    """A body as users may see it, each danger that is given in place of its directive."""
    words = {one.id: one.text for one in dangers}
    pieces, place = [], 0
    for match in danger_lines(body):
        if match[1] in words:
            pieces += [_bare(body[place : match.start()]), words[match[1]]]
            place = match.end()
    return "\n\n".join(one for one in (*pieces, _bare(body[place:])) if one)


def _bare(text: str) -> str:
    return without_brackets(without_anchors(text))


def _sections(source: Source) -> Iterator[Section]:
    for one in stretches(source.body):
        text = _shown(one.body, source.dangers)
        if text:
            head = source.heads.get(one.id, UNSAID)
            yield Section(
                id=one.id,
                heading=one.heading,
                text=text,
                audience=head.audience,
                questions=head.questions,
                dangers=tuple(match[1] for match in danger_lines(one.body)),
            )


def _passages(source: Source) -> Iterator[Passage]:
    words = {one.id: one.text for one in source.dangers}
    number, ask = 0, None
    for part in stretches(source.body):
        heading = part.heading
        for block in _blocks(part.body):
            name = next((match[1] for match in danger_lines(block)), None)
            for bracket in brackets(block):
                directive = parse(bracket, foreign=source.foreign)
                if directive is not None and directive.kind is DirectiveKind.ASK:
                    ask = directive.value
            text = words.get(name, "") if name is not None else without_brackets(block)
            if text.startswith("#"):
                first, _, text = text.partition("\n")
                heading = without_anchors(first).lstrip("# ").strip()
                text = text.strip()
            if text:
                # A danger is told without being asked about first; that waits for the passage after it.
                held = None if name is not None else ask
                yield Passage(index=number, heading=heading, text=text, ask=held, section=part.id, danger=name)
                number, ask = number + 1, ask if name is not None else None


def _blocks(body: str) -> list[str]:
    """Blocks between empty lines, each danger one by itself; a list stays with the line that introduces it."""
    apart = body
    for match in reversed(list(danger_lines(body))):
        apart = f"{apart[: match.start()]}\n\n{match[0]}\n\n{apart[match.end() :]}"
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", apart):
        piece = block.strip()
        is_list = bool(re.match(r"(?:[-*•]|\d+[.)])\s", piece))
        if is_list and blocks and blocks[-1].rstrip().endswith(":"):
            blocks[-1] += "\n" + piece
        elif piece:
            blocks.append(piece)
    return blocks
