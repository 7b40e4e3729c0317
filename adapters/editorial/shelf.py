"""The sources as files, with what is to be known of each: who signed it off, until when, whether a translation is behind."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from adapters.storage.private_files import sync_folder
from engine import (
    TRANSLATIONS,
    KnowledgeBase,
    SignOff,
    Source,
    belongs,
    read_text,
    scan_knowledge,
    translated_languages,
    translation_hashes,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TextPlace:
    """Which text: an assistant's source in a language."""

    assistant: str
    language: str
    source: str

    def __str__(self) -> str:
        return f"{self.assistant}/{self.language}/{self.source}"


@dataclass(frozen=True, kw_only=True, slots=True)
class TextState:
    """What is to be known of one text. `behind`: a translation of an original that has changed since."""

    place: TextPlace
    title: str
    sign_off: SignOff | None
    until: date | None
    overdue: bool
    behind: bool
    high_stakes: bool
    dangers: int


@dataclass(kw_only=True)
class Shelf:
    """The knowledge bases of all assistants, read anew when a file has changed. `folders` by assistant."""

    folders: Mapping[str, Path]
    review_days: int
    _read: dict[str, tuple[object, KnowledgeBase]] = field(default_factory=dict)

    def base(self, assistant: str) -> KnowledgeBase | None:
        """A knowledge base as it lies on disk; None where there is no such assistant or nothing readable."""
        folder = self.folders.get(assistant)
        if folder is None:
            return None
        stamp = stamp_of(folder)
        if assistant not in self._read or self._read[assistant][0] != stamp:
            base, _ = scan_knowledge(folder)
            if base is None:
                return None
            self._read[assistant] = (stamp, base)
        return self._read[assistant][1]

    def source(self, place: TextPlace) -> Source | None:
        """The text as people read it; None for one that is not there (any more)."""
        base = self.base(place.assistant)
        if base is None or _file(base, place) is None:
            return None
        return base.edition(place.language).sources.get(place.source)

    def file(self, place: TextPlace) -> Path | None:
        """Its file; None for one that is not there."""
        base = self.base(place.assistant)
        return None if base is None else _file(base, place)

    def text(self, place: TextPlace) -> str | None:
        """What the file holds."""
        path = self.file(place)
        return None if path is None else read_text(path)

    def write(self, place: TextPlace, text: str) -> None:
        """Put a text in the file's place, whole or not at all; raises OSError."""
        path = self.file(place)
        if path is None:
            raise FileNotFoundError(str(place))
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(text, encoding="utf-8", newline="")
        shutil.copymode(path, beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
        sync_folder(path.parent)
        self._read.pop(place.assistant, None)

    def states(self, assistant: str, today: date) -> list[TextState]:
        """All texts of an assistant, the originals first."""
        base = self.base(assistant)
        return [] if base is None else list(self._states(assistant, base, today))

    def _states(self, assistant: str, base: KnowledgeBase, today: date) -> Iterator[TextState]:
        for language in (base.language, *(one for one in translated_languages(base.folder) if one != base.language)):
            edition = base.edition(language)
            for name, source in edition.sources.items():
                place = TextPlace(assistant=assistant, language=language, source=name)
                if _file(base, place) is not None:
                    yield self._state(place, source, today, behind=_is_behind(place, base))

    def state(self, place: TextPlace, source: Source, today: date) -> TextState:
        """What is to be known of one text."""
        base = self.base(place.assistant)
        return self._state(place, source, today, behind=base is not None and _is_behind(place, base))

    def _state(self, place: TextPlace, source: Source, today: date, *, behind: bool) -> TextState:
        signed = SignOff.read(source.reviewed)
        return TextState(
            place=place,
            title=source.title,
            sign_off=signed,
            until=None if signed is None else signed.until(self.review_days),
            overdue=signed is not None and signed.overdue(today, self.review_days),
            behind=behind,
            high_stakes=source.high_stakes,
            dangers=len(source.dangers),
        )


def _file(base: KnowledgeBase, place: TextPlace) -> Path | None:
    """Only names that the knowledge base itself has lead to a file."""
    if place.source not in base.sources:
        return None
    if place.language == base.language:
        path = base.sources[place.source].path
    elif place.language in translated_languages(base.folder):
        path = base.folder / TRANSLATIONS / place.language / f"{place.source}.md"
    else:
        return None
    return path if belongs(path, base.folder) else None


def _is_behind(place: TextPlace, base: KnowledgeBase) -> bool:
    if place.language == base.language:
        return False
    path = _file(base, place)
    text = "" if path is None else read_text(path)
    return any(value not in text for value in translation_hashes(base.sources[place.source]).values())


def fingerprint(text: str) -> str:
    """What a text is known by, to see whether it has changed since."""
    return hashlib.sha256(text.encode()).hexdigest()


def stamp_of(folder: Path) -> object:
    """What changes with any file of a knowledge base."""
    newest, count = 0, 0
    for path in folder.rglob("*"):
        try:
            newest, count = max(newest, path.stat().st_mtime_ns), count + 1
        except OSError:  # gone meanwhile
            continue
    return newest, count
