"""A source file as it lies on disk, so that whatever is said of its text can name the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from engine.exceptions import KnowledgeBaseError
from engine.files import LOADER, line_of, lines_of, read_text
from engine.knowledge.directives import brackets
from engine.knowledge.section import without_anchors
from engine.knowledge.source import FRONT, ID, FrontMatter, Source
from engine.language.text import sentences

_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\d+[.)])\s+")
_KNOWN = {"extra_forbidden": "Unknown key", "missing": "The key is missing"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """A heading, a list item or a paragraph, its lines joined; `line` is where it begins, 1-based."""

    kind: str
    text: str
    line: int
    starts: tuple[int, ...]

    def line_at(self, offset: int) -> int:
        """The line that a character of the text stands on."""
        return self.line + sum(start <= offset for start in self.starts) - 1

    def sentences(self) -> Iterator[tuple[int, str]]:
        """Each sentence with the line it begins on."""
        place = 0
        for one in sentences(self.text):
            place = max(place, self.text.find(one, place))
            yield self.line_at(place), one
            place += len(one)


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """The raw text of a source file; `above` is the number of lines before its body."""

    path: Path
    front: str
    body: str
    above: int

    @classmethod
    def read(cls, path: Path) -> Sheet:
        """Read a file; raises KnowledgeBaseError where it is no text."""
        raw = read_text(path, error=KnowledgeBaseError)
        front = FRONT.match(raw)
        if front is None:
            return cls(path=path, front="", body=raw, above=0)
        return cls(path=path, front=front[1], body=raw[front.end() :], above=front[0].count("\n"))

    def key_line(self, *location: int | str) -> int:
        """The line of a key of the front matter; 1 where there is none."""
        return line_of(self.front, location) + 1 if self.front else 1

    @cached_property
    def question_lines(self) -> tuple[int, ...]:
        """The lines of all questions, in the order of `Source.questions`: the source's own, then section by section."""
        if not self.front:
            return ()
        head = self.salvaged()
        places: list[tuple[int | str, ...]] = [("questions", number) for number in range(len(head.questions))]
        for name, part in head.sections.items():
            places += [("sections", name, "questions", number) for number in range(len(part.questions))]
        return tuple(line + 1 for line in lines_of(self.front, places))

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The body without its directives, piece by piece."""
        return tuple(_pieces(without_anchors(_blanked(self.body)), self.above))

    def head_faults(self) -> list[KnowledgeBaseError]:
        """Everything wrong with the keys of the front matter, not just the first fault; none where it is no YAML."""
        return [
            KnowledgeBaseError(
                f"{_KNOWN.get(one['type'], one['msg'])}.",
                file=self.path,
                line=self.key_line(*one["loc"]),
                key=".".join(str(part) for part in one["loc"]) or None,
            )
            for one in self._head[1]
        ]

    def salvaged(self) -> FrontMatter:
        """The front matter without its wrong keys, so that the rest of a faulty source can be looked at too."""
        content, errors = self._head
        wrong = {str(one["loc"][0]) for one in errors if one["loc"]}
        name = self.path.stem if ID.fullmatch(self.path.stem) else "source"
        right = {key: value for key, value in content.items() if key not in wrong and key != "id"}
        return FrontMatter.model_validate({"title": name, "summary": [name], **right, "id": name})

    @cached_property
    def _head(self) -> tuple[dict[str, Any], list[ErrorDetails]]:
        """The content of the front matter and what pydantic says of it."""
        try:
            content = yaml.load(self.front, Loader=LOADER)  # noqa: S506 -- a safe loader
        except (yaml.YAMLError, ValueError):  # named, with its line, by whoever reads the source
            return {}, []
        try:
            FrontMatter.model_validate(content)
        except ValidationError as error:
            return content if isinstance(content, dict) else {}, error.errors(include_url=False, include_input=False)
        return content, []


def sheet_of(source: Source) -> Sheet:
    """The file of a source that could be read."""
    return Sheet.read(source.path)


def _blanked(body: str) -> str:
    """The body with its directives gone and its line ends kept."""
    kept, place = [], 0
    for one in brackets(body):
        kept += [body[place : one.start], "\n" * body.count("\n", one.start, one.end)]
        place = one.end
    return "".join((*kept, body[place:]))


def _pieces(text: str, above: int) -> Iterator[Piece]:
    held: list[str] = []
    begun, kind = 0, "paragraph"
    for number, line in enumerate((*text.split("\n"), ""), start=above + 1):
        item, heading = _ITEM.match(line), line.startswith("#")
        if held and (not line.strip() or item or heading or kind == "heading"):
            yield _piece(held, begun, kind)
            held = []
        if not line.strip():
            continue
        if not held:
            begun, kind = number, "heading" if heading else "item" if item else "paragraph"
        held.append(line[item.end() :] if item else line.lstrip("# ") if heading else line)


def _piece(lines: list[str], begun: int, kind: str) -> Piece:
    plain = [" ".join(line.split()) for line in lines]
    starts, place = [], 0
    for line in plain:
        starts.append(place)
        place += len(line) + 1
    return Piece(kind=kind, text=" ".join(plain), line=begun, starts=tuple(starts))
