"""Prompt templates: Markdown files with front matter, rendered strictly.

Front matter: `role`, `tier` (large or small), `output` (name of the JSON schema), `max_tokens`, and `variables`:
each variable with its kind: `trusted` (our own text), `source` (from the knowledge base), `outside` (anything a person
or a model wrote). Outside text cannot close its delimiter: tag-like openings in it are replaced before it is rendered.

A body is divided into messages by lines `<!-- system -->`, `<!-- user -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import PromptError
from engine.files import parse_yaml, read_text
from engine.language.text import clean
from engine.memo import once_a_turn
from engine.types import Message, Role, Tier

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.S)
_PART = re.compile(r"^<!-- (system|user) -->\n", re.M)
# An opening that a reader could take for a tag, a chat-template token or a closing delimiter, in any script:
# everything but the "less than" of a number.
_TAG_LIKE = re.compile(r"<(?!=| ?\d)")


@once_a_turn
def neutralise(text: str) -> str:
    """Outside text as it may stand between delimiters: no invisible characters, no tag-like openings."""
    return _TAG_LIKE.sub("‹", clean(text, limit=200_000).text)


class PromptHead(BaseModel):
    """The front matter of a template."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: str
    tier: Tier
    output: str
    max_tokens: int = Field(ge=16, le=8000)
    temperature: float | None = None
    variables: dict[str, Literal["trusted", "source", "outside"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptTemplate:
    """One agent's prompt. `render` gives (role, text) pairs in order; `instructions` is the system part as it is written."""

    name: str
    head: PromptHead
    parts: tuple[tuple[str, Template], ...]
    instructions: str = ""

    def expect(self, given: frozenset[str]) -> PromptTemplate:
        """This template, if it asks for no variable but those that its role gives; raises PromptError."""
        unknown = sorted(set(self.head.variables) - given)
        if unknown:
            problem = f"The variable {unknown[0]!r} is not one that this role gives."
            raise PromptError(
                problem, file=f"{self.name}.md", key="variables", remedy=f"It gives {', '.join(sorted(given))}."
            )
        return self

    def render(self, variables: Mapping[str, object]) -> list[tuple[str, str]]:
        """Render all messages; raises PromptError unless exactly the declared variables are given."""
        declared = self.head.variables
        for name in (*declared, *variables):
            if (name in declared) != (name in variables):
                state = "missing" if name in declared else "not declared"
                raise PromptError(f"The variable {name!r} is {state}.", file=f"{self.name}.md", key="variables")
        guards: dict[str, Callable[[str], str]] = {
            "trusted": _unchanged,
            "source": neutralise,
            "outside": neutralise,
        }
        safe = {name: _guarded(value, guards[declared[name]]) for name, value in variables.items()}
        try:
            return [(role, template.render(safe).strip()) for role, template in self.parts]
        except TemplateError as error:
            raise PromptError("The template cannot be rendered.", file=f"{self.name}.md") from error


def _unchanged(text: str) -> str:
    return text


def _guarded(value: object, guard: Callable[[str], str]) -> object:
    if guard is _unchanged:
        return value
    if isinstance(value, str):
        return guard(value)
    if isinstance(value, Mapping):
        return {key: _guarded(one, guard) for key, one in value.items()}
    if isinstance(value, Sequence):
        return [_guarded(one, guard) for one in value]
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompts:
    """All templates of a folder by file name."""

    templates: dict[str, PromptTemplate]

    @classmethod
    def load(cls, folder: Path) -> Prompts:
        """Read every `*.md` of a folder; raises PromptError naming file and key."""
        if not folder.is_dir():
            raise PromptError("There is no such prompts folder.", file=folder)
        return cls(templates={path.stem: read_template(path) for path in sorted(folder.glob("*.md"))})

    def get(self, name: str) -> PromptTemplate:
        """The template of a name; raises PromptError where there is none."""
        try:
            return self.templates[name]
        except KeyError:
            raise PromptError(
                "The prompt is missing.", file=f"{name}.md", remedy="Restore it from the repository."
            ) from None


def _line_in(body: str, variable: str) -> int:
    """The 1-based line where a variable is first used."""
    found = re.search(rf"\{{[{{%][^}}]*\b{re.escape(variable)}\b", body)
    return body.count("\n", 0, found.end()) + 1 if found else 1


def read_template(path: Path) -> PromptTemplate:
    """Read and check one template."""
    raw = read_text(path, error=PromptError)
    front = _FRONT.match(raw)
    if front is None:
        raise PromptError("The front matter is missing.", file=path, line=1)
    head = parse_yaml(front[1], PromptHead, path=path, error=PromptError, line_offset=1)
    pieces = _PART.split(raw[front.end() :])
    if len(pieces) < 3:
        raise PromptError("No message begins.", file=path, remedy="Start one with a line '<!-- system -->'.")
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    parts = []
    above = raw.count("\n", 0, front.end()) + pieces[0].count("\n") + 1
    for role, body in zip(pieces[1::2], pieces[2::2], strict=True):
        try:
            unknown = meta.find_undeclared_variables(environment.parse(body)) - set(head.variables)
            parts.append((role, environment.from_string(body)))
        except TemplateError as error:
            line = above + getattr(error, "lineno", 1)
            raise PromptError("The template is not valid.", file=path, line=line, key=role) from error
        if unknown:
            first = min(unknown)
            problem = f"The variable {first!r} is used but not declared."
            raise PromptError(problem, file=path, line=above + _line_in(body, first), key="variables")
        above += body.count("\n") + 1
    instructions = "\n".join(body for role, body in zip(pieces[1::2], pieces[2::2], strict=True) if role == "system")
    return PromptTemplate(name=path.stem, head=head, parts=tuple(parts), instructions=instructions)


def dialogue(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Earlier turns as prompts show them: `who` said which `text`."""
    return [{"who": "person" if one.role is Role.USER else "assistant", "text": one.content} for one in messages]
