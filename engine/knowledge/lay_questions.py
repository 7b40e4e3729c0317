"""What people would type whose answer stands in a section: `questions/<language>/<source>.md` beside the sources.

    # The source's title in that language
    ## id_of_a_section
    > The question on the button that offers it?
    - what somebody typed
    - what somebody else typed

They find a section and are never shown, but for the line with `>`. Nobody who wrote them had seen the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.exceptions import KnowledgeBaseError
from engine.files import read_text
from engine.knowledge.belongings import belongs, stranger
from engine.knowledge.source import Source

FOLDER = "questions"
LONGEST_OFFER = 70
"""Characters of a question on a button; the narrowest platform shows no more in one piece."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SectionQuestions:
    """The question that offers a section, empty where nobody wrote one, and what people would type for it.

    `typed`: its lines in one piece, of which an edition has ten thousand; `place`: the line of the section in its file, 1-based.
    """

    offer: str = ""
    typed: bytes = b""
    place: int = 1

    @property
    def lines(self) -> tuple[str, ...]:
        """What people would type, a line each."""
        return tuple(self.typed.decode().split("\n")) if self.typed else ()


@dataclass(frozen=True, kw_only=True)
class LayQuestions:
    """All lay questions of a knowledge base in one language; `titles` are those of the sources in it."""

    language: str
    titles: Mapping[str, str] = field(default_factory=dict)
    sections: Mapping[tuple[str, str], SectionQuestions] = field(default_factory=dict)

    def of(self, source: str, section: str) -> SectionQuestions:
        """Those of one section, none where there is no file for it."""
        return self.sections.get((source, section), SectionQuestions())


def languages_of(folder: Path) -> tuple[str, ...]:
    """The languages in which a knowledge base has lay questions, sorted."""
    return tuple(sorted(one.name for one in (folder / FOLDER).glob("*") if one.is_dir()))


def questions_file(folder: Path, language: str, source: str) -> Path:
    """Where the lay questions of a source stand in a language."""
    return folder / FOLDER / language / f"{source}.md"


def lay_question_faults(folder: Path, sources: Mapping[str, Source]) -> list[KnowledgeBaseError]:
    """Every problem of the lay questions of a knowledge base, in all languages."""
    problems = [
        KnowledgeBaseError(
            "The questions are in no language.", file=path, line=1, remedy=f"Put the file into {FOLDER}/LANGUAGE/."
        )
        for path in sorted((folder / FOLDER).glob("*.md"))
        if path.name.casefold() != "readme.md"
    ]
    for language in languages_of(folder):
        problems += read_lay_questions(folder, language, sources)[1]
    return problems


def read_lay_questions(
    folder: Path, language: str, sources: Mapping[str, Source]
) -> tuple[LayQuestions, list[KnowledgeBaseError]]:
    """Read all files of one language, and list every problem with file and line; what is wrong is left out."""
    problems: list[KnowledgeBaseError] = []
    titles: dict[str, str] = {}
    sections: dict[tuple[str, str], SectionQuestions] = {}
    for path in sorted((folder / FOLDER / language).glob("*.md")):
        text, problem = _text(path, folder, sources)
        if problem is not None:
            problems.append(problem)
        if text is None:
            continue
        source = sources[path.stem]
        reading = _Reading(path, source, problems)
        for number, line in enumerate(text.split("\n"), start=1):
            reading.take(line.strip(), number)
        titles[source.id] = reading.title or source.title
        sections |= reading.found()
    return LayQuestions(language=language, titles=titles, sections=sections), problems


def _text(path: Path, folder: Path, sources: Mapping[str, Source]) -> tuple[str | None, KnowledgeBaseError | None]:
    """The text of a file of questions, or why there is none; neither where its source is there and itself at fault."""
    if not belongs(path, folder):
        return None, stranger(path, folder)
    if path.stem not in sources:
        if (folder / path.name).exists():
            return None, None
        remedy = "Name the file after a source, or remove it."
        return None, KnowledgeBaseError(f"There is no source {path.stem!r}.", file=path, line=1, remedy=remedy)
    try:
        return read_text(path, error=KnowledgeBaseError), None
    except KnowledgeBaseError as error:
        return None, error


@dataclass
class _Reading:
    """One file, line by line."""

    path: Path
    source: Source
    problems: list[KnowledgeBaseError]
    title: str = ""
    section: str | None = None
    offers: dict[str, str] = field(default_factory=dict)
    lines: dict[str, dict[str, None]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    _ids: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._ids = frozenset(one.id for one in self.source.sections)

    def take(self, line: str, number: int) -> None:
        """Read one line."""
        mark, _, rest = line.partition(" ")
        rest = rest.strip()
        if not line:
            return
        if mark == "#":
            self.title = rest
        elif mark == "##":
            self._open(rest, number)
        elif mark not in {">", "-"} or not rest:
            self._say("This is no line of a question file.", number, "Begin it with '## ', '> ' or '- '.")
        elif self.section is None:
            self._say("This question names no section.", number, "Put '## id_of_a_section' above it.")
        elif self.section and mark == "-":
            self.lines[self.section][rest] = None
        elif self.section:
            self._offer(rest, number)

    def _open(self, section: str, number: int) -> None:
        self.section = ""  # what stands under a section that is not there is left out
        if section not in self._ids:
            self._say(f"The source {self.source.id!r} has no section {section!r}.", number)
        elif section in self.lines:
            self._say(f"The section {section!r} stands here a second time.", number)
        else:
            self.section = section
            self.lines[section] = {}
            self.places[section] = number

    def _offer(self, offer: str, number: int) -> None:
        if self.section in self.offers:
            self._say(f"The section {self.section!r} has a second question for its button.", number)
        elif len(offer) > LONGEST_OFFER:
            self._say(f"The question on a button is longer than {LONGEST_OFFER} characters.", number)
        else:
            self.offers[str(self.section)] = offer

    def found(self) -> Iterator[tuple[tuple[str, str], SectionQuestions]]:
        """What was read, by source and section."""
        for section, lines in self.lines.items():
            key = (self.source.id, section)
            offer = self.offers.get(section, "")
            yield key, SectionQuestions(offer=offer, typed="\n".join(lines).encode(), place=self.places[section])

    def _say(self, problem: str, line: int, remedy: str | None = None) -> None:
        self.problems.append(KnowledgeBaseError(problem, file=self.path, line=line, remedy=remedy))
