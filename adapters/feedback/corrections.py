"""What became of reports, as the operator tells it in public: `config/corrections.yaml`. Without the file nothing is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from engine import ConfigurationError, KnowledgeBase, Source, Strict, line_of, read_text, read_yaml

FILE = "corrections.yaml"
Told = Annotated[str, StringConstraints(pattern=r"^\S[^\r\n\t]*$", max_length=400)]


class Correction(Strict):
    """One thing that was corrected. `section` is empty where it concerns the whole source; `what` is a sentence by language."""

    assistant: str
    source: str
    section: str = ""
    date: date
    what: dict[Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")], Told] = Field(min_length=1)

    @property
    def part(self) -> str:
        """The part of the text as events name it."""
        return f"{self.source}#{self.section}" if self.section else self.source

    def concerns(self, assistant: str, part: str) -> bool:
        """Whether it is about a part of a text, or about the whole text that it is part of."""
        return self.assistant == assistant and self.part in {part, part.partition("#")[0]}

    def said(self, language: str) -> str:
        """What was corrected, in a language, in English where it is not told in it, else in the first one that is."""
        return self.what.get(language) or self.what.get("en") or next(iter(self.what.values()))


class CorrectionsFile(Strict):
    """The whole file."""

    corrections: tuple[Correction, ...] = ()


def read_corrections(folder: Path) -> tuple[Correction, ...]:
    """What was corrected, the newest first; nothing where there is no file. Raises ConfigurationError."""
    path = folder / FILE
    found = read_yaml(path, CorrectionsFile).corrections if path.exists() else ()
    return tuple(sorted(found, key=lambda one: one.date, reverse=True))


def correction_faults(path: Path, bases: Mapping[str, KnowledgeBase], today: date) -> Iterator[ConfigurationError]:
    """Entries that name what is not there, or a day that has not come. Raises ConfigurationError."""
    if not path.exists():
        return
    text = read_text(path)
    for at, one in enumerate(read_yaml(path, CorrectionsFile).corrections):
        for key, problem in _faults(one, bases, today):
            yield ConfigurationError(
                problem,
                file=path,
                line=line_of(text, ("corrections", at, key)),
                key=f"corrections.{at}.{key}",
                remedy="Correct it, or take the entry out; it is not shown until then.",
            )


def told_about(one: Correction, bases: Mapping[str, KnowledgeBase]) -> Source | None:
    """The source that an entry is about; None where it names what is not there (any more)."""
    base = bases.get(one.assistant)
    source = None if base is None else base.sources.get(one.source)
    known = source is not None and (not one.section or any(part.id == one.section for part in source.sections))
    return source if known else None


def _faults(one: Correction, bases: Mapping[str, KnowledgeBase], today: date) -> Iterator[tuple[str, str]]:
    if one.assistant not in bases:
        yield "assistant", f"There is no assistant {one.assistant!r}."
    elif one.source not in bases[one.assistant].sources:
        yield "source", f"There is no source {one.source!r}."
    elif told_about(one, bases) is None:
        yield "section", f"The source {one.source!r} has no section {one.section!r}."
    if one.date > today:
        yield "date", "That day has not come yet."
