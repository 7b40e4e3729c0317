"""Square brackets in a source: local rules from its author to the agent, never shown to users.

Seven kinds, one form each:

    [ask before presenting: relapse figures]     [present in 2 parts]     [show: stress.png | How stress adds up]
    [more in: symptoms]                          [intent: informs, does not coach]     [do not: name a dose]
    [danger: blocked_bowel]

A danger stands on a line of its own; there, readers see the words of its entry in `dangers.yaml`.
A source without front matter comes from elsewhere; there every other bracket is kept as a NOTE for the agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class DirectiveKind(StrEnum):
    """What the author of a source asks of the agent."""

    ASK = "ask before presenting"
    PARTS = "present in parts"
    SHOW = "show"
    MORE = "more in"
    INTENT = "intent"
    DO_NOT = "do not"
    DANGER = "danger"
    NOTE = "note"


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """One bracket. `value` is the topic, file, source id or rule; `caption` belongs to SHOW, `line` is 1-based."""

    kind: DirectiveKind
    value: str
    line: int
    caption: str = ""

    @property
    def parts(self) -> int:
        """The number of parts of a PARTS directive, else 1."""
        return int(self.value) if self.kind is DirectiveKind.PARTS else 1

    def for_agent(self) -> str:
        """The directive as one line of the agent's context."""
        if self.kind is DirectiveKind.PARTS:
            return f"present in {self.value} parts, or only what is relevant"
        if self.kind is DirectiveKind.NOTE:
            return self.value
        if self.kind is DirectiveKind.DANGER:
            return f"danger {self.value}: where it is told, the step that fits comes first; else one sentence at most"
        caption = f" ({self.caption})" if self.caption else ""
        return f"{self.kind}: {self.value}{caption}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bracket:
    """A square bracket as it stands in the text: its content and where it is."""

    content: str
    start: int
    end: int
    line: int


# Not a Markdown link, whose bracket is followed by a parenthesis; may run over a line end.
_BRACKET = re.compile(r"\[([^\[\]]{1,600})\](?!\()")
_LINK = re.compile(r"\[[^\[\]]*\]\((?:[^()]|\([^()]*\))*\)")
_WITH_VALUE = re.compile(r"(ask before presenting|show|more in|intent|do not|danger)\s*:\s*(.+)", re.I | re.S)
_PARTS = re.compile(r"present in (\d{1,2}) parts", re.I)
_DANGER = re.compile(r"^[ \t]*\[[ \t]*danger[ \t]*:[ \t]*([^\[\]\n]+?)[ \t]*\][ \t]*$", re.I | re.M)
_FOREIGN_PARTS = re.compile(r"present over (\d{1,2}) messages", re.I)
_FOREIGN_SHOW = re.compile(r"show:?\s+([\w.-]+\.(?:png|jpe?g|gif|svg|webp))\s*(?:\|\s*(.*))?", re.I | re.S)


def brackets(text: str) -> Iterator[Bracket]:
    """Every square bracket that is not a Markdown link, in order."""
    for match in _BRACKET.finditer(text):
        content = " ".join(match[1].split()).strip("`").strip()
        yield Bracket(
            content=content, start=match.start(), end=match.end(), line=text.count("\n", 0, match.start()) + 1
        )


def unbalanced_line(text: str) -> int | None:
    """The 1-based line of the first bracket without a partner, or None."""
    rest = _BRACKET.sub(_line_ends, _LINK.sub(_line_ends, text))
    for number, line in enumerate(rest.split("\n"), start=1):
        if "[" in line or "]" in line:
            return number
    return None


def _line_ends(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def parse(bracket: Bracket, *, foreign: bool) -> Directive | None:
    """The directive a bracket holds; None where it is of no known kind (and not foreign)."""
    if parts := _PARTS.fullmatch(bracket.content) or (foreign and _FOREIGN_PARTS.match(bracket.content)):
        return Directive(kind=DirectiveKind.PARTS, value=str(max(1, int(parts[1]))), line=bracket.line)
    if foreign and (show := _FOREIGN_SHOW.fullmatch(bracket.content)):
        return _show(show[1], show[2] or "", bracket.line)
    if match := _WITH_VALUE.fullmatch(bracket.content):
        kind = DirectiveKind(match[1].casefold())
        if kind is DirectiveKind.SHOW:
            file, _, caption = match[2].partition("|")
            return _show(file, caption, bracket.line)
        return Directive(kind=kind, value=match[2].strip(), line=bracket.line)
    if foreign:
        return Directive(kind=DirectiveKind.NOTE, value=bracket.content, line=bracket.line)
    return None


def _show(file: str, caption: str, line: int) -> Directive:
    return Directive(kind=DirectiveKind.SHOW, value=file.strip(), caption=caption.strip(), line=line)


def danger_lines(text: str) -> Iterator[re.Match[str]]:
    """Every danger directive on a line of its own; group 1 is its id."""
    return _DANGER.finditer(text)


def without_brackets(text: str) -> str:
    """The text as users may see it: no directive, links kept, no holes left behind."""
    bare = re.sub(r"[ \t]*" + _BRACKET.pattern, "", text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", bare)).strip()
