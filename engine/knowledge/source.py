"""A source: one unit of the knowledge base, with its front matter, local rules and passages."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import KnowledgeBaseError
from engine.files import line_of, parse_yaml, read_text
from engine.knowledge.directives import (
    Directive,
    DirectiveKind,
    brackets,
    parse,
    unbalanced_line,
    without_brackets,
)

FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.S)
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Reference(BaseModel):
    """A public authority's document that a source rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    body: str
    year: int = Field(ge=1900, le=2100)


class FrontMatter(BaseModel):
    """The head of a source file. `reviewed` is `none` or who reviewed it and when."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")
    title: str = Field(min_length=1)
    summary: tuple[str, ...] = Field(min_length=1)
    questions: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    reviewed: str = "none"
    stakes: Literal["normal", "high"] = "normal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A paragraph or list that can be quoted whole. `ask` is a topic to ask about before presenting it."""

    index: int
    heading: str
    text: str
    ask: str | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """One source. `text` is the body as users may see it; `directives` are for the agent alone."""

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

    @cached_property
    def text(self) -> str:
        """The body without its directives."""
        return without_brackets(self.body)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The body in quotable pieces, in order."""
        return tuple(_passages(self.body, foreign=self.foreign))

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of title, summary, questions and body."""
        whole = "\n".join((self.title, *self.summary, *self.questions, self.body))
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


def read_source(
    path: Path, *, summaries: dict[str, list[str]] | None = None
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
    return assemble(path, head, body, offset=offset, foreign=foreign)


def assemble(
    path: Path, head: FrontMatter, body: str, *, offset: int, foreign: bool = False
) -> tuple[Source, list[KnowledgeBaseError]]:
    """The source of a head and a body that begins after `offset` lines, and what is wrong with the body."""
    directives, problems = _directives(path, body, offset=offset, foreign=foreign)
    if not without_brackets(body).strip():
        problems.append(KnowledgeBaseError("The source has no text.", file=path, line=offset + 1))
    return (
        Source(
            id=head.id,
            title=head.title,
            summary=head.summary,
            questions=head.questions,
            references=head.references,
            reviewed=head.reviewed,
            high_stakes=head.stakes == "high",
            body=body.strip(),
            directives=tuple(directives),
            path=path,
            foreign=foreign,
        ),
        problems,
    )


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


def _directives(
    path: Path, body: str, *, offset: int, foreign: bool
) -> tuple[list[Directive], list[KnowledgeBaseError]]:
    found: list[Directive] = []
    problems: list[KnowledgeBaseError] = []
    for bracket in brackets(body):
        directive = parse(replace(bracket, line=bracket.line + offset), foreign=foreign)
        if directive is None:
            problems.append(
                KnowledgeBaseError(
                    "Unknown directive in square brackets.",
                    file=path,
                    line=bracket.line + offset,
                    remedy="Known are: ask before presenting, present in N parts, show, more in, intent, do not.",
                )
            )
        else:
            found.append(directive)
    line = unbalanced_line(body)
    if line is not None and not foreign:
        problems.append(KnowledgeBaseError("A square bracket has no partner.", file=path, line=line + offset))
    return found, problems


def _passages(body: str, *, foreign: bool) -> list[Passage]:
    passages: list[Passage] = []
    heading, ask = "", None
    for block in _blocks(body):
        for bracket in brackets(block):
            directive = parse(bracket, foreign=foreign)
            if directive is not None and directive.kind is DirectiveKind.ASK:
                ask = directive.value
        text = without_brackets(block)
        if text.startswith("#"):
            first, _, text = text.partition("\n")
            heading = first.lstrip("# ").strip()
            text = text.strip()
        if text:
            passages.append(Passage(index=len(passages), heading=heading, text=text, ask=ask))
            ask = None
    return passages


def _blocks(body: str) -> list[str]:
    """Blocks between empty lines; a list stays with the line that introduces it."""
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", body):
        piece = block.strip()
        is_list = bool(re.match(r"(?:[-*•]|\d+[.)])\s", piece))
        if is_list and blocks and blocks[-1].rstrip().endswith(":"):
            blocks[-1] += "\n" + piece
        elif piece:
            blocks.append(piece)
    return blocks
