"""The sources of a knowledge base in another language: `translations/<language>/` beside the originals.

    translations/de/clozapine.md     the same sections by the same ids, with the same directives
    translations/de/dangers.yaml     the words of the table of dangers; thresholds and authorities stay in the original

A translation says of which words of its original it is one (`of`: a hash of each section), so that what has grown old is seen.
What it lacks is shown as in the original.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import KnowledgeBaseError
from engine.files import lines_of, parse_yaml, read_text
from engine.knowledge.belongings import belongs, stranger, texts_of
from engine.knowledge.dangers import DANGERS_FILE, DangerEntry, Dangers, KnownDanger, LeadWords, Plain, rendered
from engine.knowledge.reference import Reference
from engine.knowledge.section import SectionHead, Stretch, stretches
from engine.knowledge.source import FRONT, Source, read_directives

FOLDER = "translations"
WHOLE = "front"
"""In `of`: the title and the summary."""
_HASH = 12


class TranslationHead(BaseModel):
    """The head of a translated source. `local`: sections that are told for a country and not translated.

    `of`: the hash of each section of the original as it was when it was translated. `references` come beside those of the
    original.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1)
    summary: tuple[str, ...] = Field(min_length=1)
    of: Mapping[str, str] = Field(default_factory=dict)
    local: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    reviewed: str = "none"


class TranslatedEntry(BaseModel):
    """The words of one danger in another language; `of` is the hash of the original's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: Plain
    signs: tuple[Plain, ...] = Field(min_length=1)
    do: tuple[Plain, ...] = Field(min_length=1)
    say: Plain
    of: str = ""


class TranslatedDangers(BaseModel):
    """The form of a translated `dangers.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: LeadWords
    dangers: tuple[TranslatedEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Translation:
    """One translated file; `above` is the number of lines before its body, `faulty` are ids that are read from the original."""

    path: Path
    head: TranslationHead
    body: str
    above: int
    front: str = field(repr=False, default="")
    faulty: frozenset[str] = frozenset()

    def stretches_of(self, source: Source) -> Iterator[Stretch]:
        """What stands under each heading; a title without an id is that of the original."""
        title = next((one.id for one in stretches(source.body) if one.level == 1 and not one.marked), None)
        for one in stretches(self.body):
            yield replace(one, id=title) if one.level == 1 and not one.marked and title is not None else one

    def sections_of(self, source: Source) -> dict[str, Stretch]:
        """The same by id, without the faulty ones."""
        return {one.id: one for one in self.stretches_of(source) if one.id not in self.faulty}

    def key_line(self, *location: int | str) -> int:
        """The line of a key of its front matter."""
        return lines_of(self.front, [location])[0] + 1


def languages_of(folder: Path) -> tuple[str, ...]:
    """The languages that a folder has translations in, sorted."""
    return tuple(sorted(one.name for one in (folder / FOLDER).glob("*") if one.is_dir()))


def hashes(source: Source) -> dict[str, str]:
    """What a translation of this source states in `of`."""
    found = {WHOLE: _hash("\n".join((source.title, *source.summary)))}
    return found | {one.id: _hash(f"{one.heading}\n{one.body.strip()}") for one in stretches(source.body)}


def danger_hash(entry: DangerEntry) -> str:
    """What the translation of a danger states in `of`."""
    return _hash("\n".join((entry.name, *entry.signs, *entry.do, entry.say, entry.how_fast)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH]


def read_translation(path: Path) -> Translation:
    """Read one file; raises KnowledgeBaseError for a head that is none."""
    raw = read_text(path, error=KnowledgeBaseError)
    front = FRONT.match(raw)
    if front is None:
        raise KnowledgeBaseError("A translation begins with its title and summary.", file=path, line=1)
    head = parse_yaml(front[1], TranslationHead, path=path, error=KnowledgeBaseError, line_offset=1)
    return Translation(path=path, head=head, body=raw[front.end() :], above=front[0].count("\n"), front=front[1])


def read_translations(
    folder: Path, language: str, sources: Mapping[str, Source]
) -> tuple[dict[str, Translation], list[KnowledgeBaseError]]:
    """The translated sources of one language by id, and what is wrong with their files.

    A file without a head is left out, of the others only the sections with a fault.
    """
    problems: list[KnowledgeBaseError] = []
    found: dict[str, Translation] = {}
    for path in texts_of(folder / FOLDER / language):
        if not belongs(path, folder):
            problems += [one for one in (stranger(path, folder),) if one is not None]
        elif path.stem not in sources:
            if not (folder / path.name).exists():  # one that is there and faulty is named already
                remedy = "Name the file after a source, or remove it."
                problems.append(
                    KnowledgeBaseError(f"There is no source {path.stem!r}.", file=path, line=1, remedy=remedy)
                )
        else:
            try:
                translation = read_translation(path)
            except KnowledgeBaseError as error:
                problems.append(error)
                continue
            faults = list(_faults(translation, sources[path.stem]))
            problems += (fault for _, fault in faults)
            found[path.stem] = replace(translation, faulty=frozenset(section for section, _ in faults))
    return found, problems


def _faults(translation: Translation, source: Source) -> Iterator[tuple[str, KnowledgeBaseError]]:
    """Sections that the original does not have or that stand twice, and directives that are none; each with its section."""
    path, above = translation.path, translation.above
    known = {one.id for one in stretches(source.body)}
    here = list(translation.stretches_of(source))
    for fault in read_directives(path, translation.body, offset=above, foreign=source.foreign)[1]:
        line = (fault.line or 1) - above
        yield next((one.id for one in reversed(here) if one.line <= line), here[0].id), fault
    seen: set[str] = set()
    for one in here:
        line = one.line + above
        if one.id not in known:
            problem = f"The source {source.id!r} has no section {one.id!r}."
            remedy = "End the heading with {#id} of the original."
            yield one.id, KnowledgeBaseError(problem, file=path, line=line, remedy=remedy)
        elif one.id in seen:
            problem = f"The section {one.id!r} stands here a second time."
            yield one.id, KnowledgeBaseError(problem, file=path, line=line)
        seen.add(one.id)


def translated(source: Source, translation: Translation | None, dangers: Dangers) -> Source:
    """A source in another language, what its translation lacks in the words of the original."""
    original = list(stretches(source.body))
    if translation is None:
        heads = _without_questions(source)
        return replace(
            source,
            questions=(),
            heads=heads,
            foreign_sections=frozenset(one.id for one in original),
            dangers=_of(source, dangers),
        )
    sections = translation.sections_of(source)
    pieces = [sections.get(one.id, one) for one in original]
    body = "\n\n".join(_written(one) for one in pieces).strip()
    head = translation.head
    return replace(
        source,
        title=head.title,
        summary=head.summary,
        questions=(),
        references=(*source.references, *head.references),
        reviewed=head.reviewed,
        body=body,
        directives=tuple(read_directives(translation.path, body, offset=0, foreign=source.foreign)[0]),
        path=translation.path,
        heads=_without_questions(source),
        dangers=_of(source, dangers),
        foreign_sections=frozenset(one.id for one in original if one.id not in sections),
    )


def _without_questions(source: Source) -> Mapping[str, SectionHead]:
    return {name: one.model_copy(update={"questions": ()}) for name, one in source.heads.items()}


def _of(source: Source, dangers: Dangers) -> tuple[KnownDanger, ...]:
    return dangers.pick(one.id for one in source.dangers)


def _written(one: Stretch) -> str:
    heading = f"{'#' * one.level} {one.heading} {{#{one.id}}}\n" if one.level else ""
    return f"{heading}{one.body.rstrip()}"


def read_translated_dangers(folder: Path, language: str, dangers: Dangers) -> tuple[Dangers, list[KnowledgeBaseError]]:
    """The table in another language, what it lacks in the words of the original; and what is wrong with its file."""
    path = folder / FOLDER / language / DANGERS_FILE
    if not belongs(path, folder):
        return dangers, [one for one in (stranger(path, folder),) if one is not None]
    try:
        text = read_text(path, error=KnowledgeBaseError)
        read = parse_yaml(text, TranslatedDangers, path=path, error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        return dangers, [error]
    lines = lines_of(text, [("dangers", number, "id") for number in range(len(read.dangers))])
    entries, problems = dict(dangers.entries), []
    seen: set[str] = set()
    for one, line in zip(read.dangers, lines, strict=True):
        wrong = (
            f"There is no danger {one.id!r} in {folder.name}/{DANGERS_FILE}."
            if one.id not in dangers.entries
            else f"The danger {one.id!r} stands here a second time."
            if one.id in seen
            else ""
        )
        seen.add(one.id)
        if wrong:
            problems.append(KnowledgeBaseError(wrong, file=path, line=line, key="id"))
            continue
        words = {"name": one.name, "signs": one.signs, "do": one.do, "say": one.say}
        entry = dangers.entries[one.id].entry.model_copy(update=words)
        entries[one.id] = KnownDanger(entry=entry, text=rendered(entry, read.words), path=path, line=line, of=one.of)
    return Dangers(entries=entries, words=read.words), problems
