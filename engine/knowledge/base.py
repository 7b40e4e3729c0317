"""A knowledge base: a folder of sources, its manifest, its media and its table of dangers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from engine.exceptions import KnowledgeBaseError
from engine.files import line_of, read_text, read_yaml
from engine.knowledge.belongings import PICTURE_KINDS, belongs, picture_kind, stranger, texts_of
from engine.knowledge.categories import Category, category_faults
from engine.knowledge.dangers import DANGERS_FILE, Dangers, read_dangers
from engine.knowledge.directives import DirectiveKind
from engine.knowledge.lay_questions import LayQuestions, read_lay_questions
from engine.knowledge.lay_questions import languages_of as question_languages
from engine.knowledge.source import Source, read_source
from engine.knowledge.translations import FOLDER as TRANSLATIONS
from engine.knowledge.translations import languages_of as translated_languages
from engine.knowledge.translations import read_translated_dangers, read_translations, translated
from engine.language.text import clean, stems
from engine.types import Medium

INDEX_LINE = 64
"""Characters of one line of the index, which stands in every prompt; only an id and a title may be longer."""

MANIFEST_FILE = "manifest.yaml"
MEDIA_LIST = Path("media", "media.yaml")


class SpokenManifest(BaseModel):
    """What an edition in another language says of itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    notice: str = ""


class Manifest(BaseModel):
    """What the folder says of itself; `notice` is shown to users beside the sources; `in_languages` for editions, by code.

    `draft`: made by a program and not gone over yet, so that `cafi kb lint` warns of its prose instead of failing it.
    `categories`: what people browse by; none where the titles are few enough to be listed. `reserved`: sections, as
    `source/section`, whose question would sting below words that do not plainly ask for it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    language: str = "en"
    description: str = ""
    clinical_review: str = "none"
    notice: str = ""
    licence: str = ""
    draft: bool = False
    categories: tuple[Category, ...] = ()
    reserved: tuple[str, ...] = ()
    in_languages: Mapping[str, SpokenManifest] = Field(default_factory=dict)


class MediaEntry(BaseModel):
    """One picture of the knowledge base, with its text alternative."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    alt: str
    caption: str = ""
    made_by: str = ""
    licence: str = ""


class TranslatedMedia(BaseModel):
    """A picture's words in another language; `file` is that of the original."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    alt: str
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """Sources by id, in the order of their file names, in one language.

    An edition in another language has the same ids, sections and dangers, as far as somebody has translated them.
    """

    folder: Path
    manifest: Manifest
    sources: dict[str, Source]
    media: dict[str, Medium] = field(default_factory=dict)
    dangers: Dangers = field(default_factory=Dangers)
    _editions: dict[str, KnowledgeBase] = field(default_factory=dict, repr=False, compare=False)

    @property
    def language(self) -> str:
        """The language of its texts, as ISO 639-1."""
        return self.manifest.language.casefold().split("-")[0]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Its own language first, then those that it has translations or lay questions in."""
        return tuple(
            dict.fromkeys(
                (self.language, *self._editions, *translated_languages(self.folder), *question_languages(self.folder))
            )
        )

    def edition(self, language: str) -> KnowledgeBase:
        """The same in a language; itself where there is no other. Read when it is first asked for; what is faulty in it
        stays in the original's words, as `cafi check` says."""
        if language == self.language or language not in self.languages:
            return self
        if language not in self._editions:
            self._editions[language] = scan_edition(self, language)[0]
        return self._editions[language]

    @cached_property
    def lay_questions(self) -> LayQuestions:
        """What people would type for its sections, in its language; a faulty line is left out, as `cafi check` says."""
        return read_lay_questions(self.folder, self.language, self.sources)[0]

    @classmethod
    def load(cls, folder: Path) -> KnowledgeBase:
        """Load a folder; raises KnowledgeBaseError for the first problem and says how many there are."""
        base, problems = scan_knowledge(folder)
        if problems or base is None:
            first = problems[0]
            more = f"(and {len(problems) - 1} more; `cafi check` lists them)" if len(problems) > 1 else first.remedy
            raise KnowledgeBaseError(first.problem, file=first.file, line=first.line, key=first.key, remedy=more)
        return base

    def get(self, source_id: str) -> Source | None:
        """The source of an id, or None."""
        return self.sources.get(source_id)

    def only(self, sources: Iterable[Source]) -> KnowledgeBase:
        """The same with other sources in place of its own, and without pictures."""
        return replace(self, sources={one.id: one for one in sources}, media={}, _editions={})

    def without(self, ids: Iterable[str]) -> KnowledgeBase:
        """The same without some sources; in every language, and with all pictures."""
        gone = frozenset(ids)
        return replace(
            self, sources={name: one for name, one in self.sources.items() if name not in gone}, _editions={}
        )

    def pick(self, ids: Iterable[str]) -> tuple[Source, ...]:
        """The sources of those ids that exist, in the order given, each once."""
        return tuple(self.sources[one] for one in dict.fromkeys(ids) if one in self.sources)

    @cached_property
    def index(self) -> str:
        """Every source as one line: id, title, summary. It tells the agent what it may ask for."""
        # Cleaned here, once, as every prompt would otherwise do it anew.
        return clean("\n".join(map(self.index_line, self.sources.values())), limit=200_000).text

    def index_line(self, source: Source) -> str:
        """A source's line of the index; of its summary the first parts that fit, as one that breaks off misleads."""
        line = _headline(source)
        for number, part in enumerate(source.summary):
            longer = f"{line}{'; ' if number else ': '}{part}"
            if len(longer) > INDEX_LINE:
                break
            line = longer
        return line


def _headline(source: Source) -> str:
    """Id and title, the title only where the id does not already say it: this stands in every prompt."""
    said = set(stems(source.id.replace("_", " ")))
    return source.id if said.issuperset(stems(source.title)) else f"{source.id} ({source.title})"


def scan_knowledge(folder: Path) -> tuple[KnowledgeBase | None, list[KnowledgeBaseError]]:
    """Read a whole folder and list every problem in it; None when nothing usable is there."""
    if not folder.is_dir():
        return None, [
            KnowledgeBaseError(
                "There is no such knowledge base folder.",
                file=folder,
                remedy="Check --kb or the assistant's knowledge_base.",
            )
        ]
    beside = (
        *(folder / name for name in (MANIFEST_FILE, "summaries.json", DANGERS_FILE)),
        folder / MEDIA_LIST,
    )
    problems = [one for path in (*beside, *texts_of(folder)) if (one := stranger(path, folder)) is not None]
    manifest = read_manifest(folder, problems)
    summaries = _summaries(folder, problems)
    dangers, found = read_dangers(folder)
    problems += found
    sources: dict[str, Source] = {}
    for path in texts_of(folder):
        if not belongs(path, folder):
            continue
        source, found = read_source(path, summaries=summaries, dangers=dangers)
        problems += found
        if source is not None:
            sources[source.id] = source
    if not sources:
        problems.append(
            KnowledgeBaseError(
                "The knowledge base has no sources.",
                file=folder,
                remedy="Put one Markdown file a source there.",
            )
        )
        return None, problems
    media = _media(folder, problems)
    base = KnowledgeBase(folder=folder, manifest=manifest, sources=sources, media=media, dangers=dangers)
    problems += dead_links(base, sources)
    problems += _wrong_categories(base)
    problems += _wrong_reserved(base)
    return base, problems


def scan_edition(base: KnowledgeBase, language: str) -> tuple[KnowledgeBase, list[KnowledgeBaseError]]:
    """A knowledge base in another language, and every problem of what is translated."""
    dangers, problems = read_translated_dangers(base.folder, language, base.dangers)
    found, faults = read_translations(base.folder, language, base.sources)
    media, wrong = _translated_media(base, language)
    sources = {name: translated(one, found.get(name), dangers) for name, one in base.sources.items()}
    said = base.manifest.in_languages.get(language)
    manifest = base.manifest.model_copy(update={"language": language} | ({} if said is None else said.model_dump()))
    edition = KnowledgeBase(
        folder=base.folder,
        manifest=manifest,
        sources=sources,
        media=media,
        dangers=dangers,
        _editions={base.language: base},
    )
    return edition, [*problems, *faults, *wrong]


def _translated_media(base: KnowledgeBase, language: str) -> tuple[dict[str, Medium], list[KnowledgeBaseError]]:
    """The pictures with their words in another language, each the translated picture where there is one."""
    folder = base.folder / TRANSLATIONS / language
    path, media = folder / MEDIA_LIST.name, dict(base.media)
    if not belongs(path, base.folder):
        return media, [one for one in (stranger(path, base.folder),) if one is not None]
    try:
        entries = read_yaml(path, list[TranslatedMedia], error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        return media, [error]
    problems = []
    for number, one in enumerate(entries):
        if one.file not in media:
            line = line_of(read_text(path), (number, "file"))
            problems.append(KnowledgeBaseError(f"There is no picture {one.file!r}.", file=path, line=line))
            continue
        own = folder / one.file
        shown = str(own.resolve()) if belongs(own, base.folder) else media[one.file].path
        media[one.file] = Medium(file=one.file, path=shown, caption=one.caption, alt=one.alt)
    return media, problems


def _wrong_categories(base: KnowledgeBase) -> list[KnowledgeBaseError]:
    manifest = base.manifest
    if not manifest.categories:
        return []
    path = base.folder / MANIFEST_FILE
    return category_faults(manifest.categories, base.sources, manifest.language, path=path, text=read_text(path))


def _wrong_reserved(base: KnowledgeBase) -> Iterator[KnowledgeBaseError]:
    if not base.manifest.reserved:
        return
    path = base.folder / MANIFEST_FILE
    known = {f"{source.id}/{section.id}" for source in base.sources.values() for section in source.sections}
    for number, name in enumerate(base.manifest.reserved):
        if name not in known:
            line = line_of(read_text(path), ("reserved", number))
            remedy = "Name a source and one of its sections, as source/section."
            yield KnowledgeBaseError(f"There is no section {name!r}.", file=path, line=line, remedy=remedy)


def read_manifest(folder: Path, problems: list[KnowledgeBaseError]) -> Manifest:
    """What a folder says of itself, or what can be said of it; a fault of the file is added to `problems`."""
    path = folder / MANIFEST_FILE
    plain = Manifest(name=folder.name, title=folder.name.replace("_", " ").capitalize())
    if not belongs(path, folder):
        return plain
    try:
        return read_yaml(path, Manifest, error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        problems.append(error)
    return plain


def _summaries(folder: Path, problems: list[KnowledgeBaseError]) -> dict[str, list[str]]:
    path = folder / "summaries.json"
    if not belongs(path, folder):
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        return TypeAdapter(dict[str, list[str]]).validate_python(data)
    except ValueError as error:
        problems.append(
            KnowledgeBaseError(
                "Not a JSON object of source ids and lists of lines.",
                file=path,
                line=getattr(error, "lineno", None),
            )
        )
        return {}


def _media(folder: Path, problems: list[KnowledgeBaseError]) -> dict[str, Medium]:
    path = folder / MEDIA_LIST
    media: dict[str, Medium] = {}
    if not belongs(path, folder):
        return media
    try:
        entries = read_yaml(path, list[MediaEntry], error=KnowledgeBaseError)
    except KnowledgeBaseError as error:
        problems.append(error)
        return media
    text = read_text(path)
    for number, one in enumerate(entries):
        file = path.parent / one.file
        wrong, remedy = _wrong_with(one.file, file, folder)
        if wrong:
            line = line_of(text, (number, "file"))
            problems.append(KnowledgeBaseError(wrong, file=path, line=line, remedy=remedy))
        else:
            media[one.file] = Medium(file=one.file, path=str(file.resolve()), caption=one.caption, alt=one.alt)
    return media


def _wrong_with(name: str, file: Path, folder: Path) -> tuple[str, str | None]:
    """Why a file that is listed cannot be shown, and the remedy; nothing where it can."""
    if picture_kind(name) is None:
        kinds = ", ".join(one[1:] for one in PICTURE_KINDS)
        return f"{name!r} is no name of a picture.", f"A plain name that ends in one of: {kinds}."
    if belongs(file, folder):
        return "", None
    if file.is_symlink() or file.exists():
        return f"{name!r} is a link or no plain file.", "Put the picture itself into the folder `media`."
    return f"The file {name!r} does not exist.", None


def dead_links(base: KnowledgeBase, sources: Mapping[str, Source]) -> list[KnowledgeBaseError]:
    """Directives of these sources that name a picture, a source or a danger that is not there."""
    problems: list[KnowledgeBaseError] = []
    for source in sources.values():
        if source.foreign:  # a manual from elsewhere may come without its pictures; they are then not shown
            continue
        for one in source.directives:
            missing = (
                f"The media file {one.value!r} is not in {base.folder.name}/media/media.yaml."
                if one.kind is DirectiveKind.SHOW and one.value not in base.media
                else f"There is no source {one.value!r}."
                if one.kind is DirectiveKind.MORE and one.value not in sources
                else f"There is no danger {one.value!r} in {base.folder.name}/{DANGERS_FILE}."
                if one.kind is DirectiveKind.DANGER and not base.dangers.holds(one.value)
                else None
            )
            if missing:
                problems.append(KnowledgeBaseError(missing, file=source.path, line=one.line))
    return problems
