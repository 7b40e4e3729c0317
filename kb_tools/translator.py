"""Drafts of translations by a language model, for a person to go over: `cafi kb translate`.

Directives never reach the model: it sees marks in their place and has to give them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, Field

from engine import (
    TRANSLATIONS,
    Budget,
    ConfigurationError,
    KnowledgeBase,
    KnowledgeBaseError,
    Ledger,
    ModelOutputError,
    PromptedModel,
    Stretch,
    belongs,
    brackets,
    read_yaml,
    stretches,
    translation_hashes,
)

GIVEN = frozenset({"language", "glossary", "sources"})
"""The variables that the prompt `translate_source` may ask for."""
GLOSSARY = "glossary.yaml"
_MARK = re.compile(r"⟦(\d+)⟧")


class TranslatedSection(BaseModel):
    """One section as the translator answers it."""

    id: str
    heading: str
    text: str


class TranslatedSource(BaseModel):
    """What the translator answers."""

    title: str
    summary: list[str]
    sections: list[TranslatedSection] = Field(description="every section of the original, by its id")


@dataclass(frozen=True, kw_only=True)
class Translator:
    """Drafts what a language does not have yet; what somebody has written stays."""

    base: KnowledgeBase
    language: str
    prompted: PromptedModel
    budget: Budget

    @property
    def folder(self) -> Path:
        """Where the translations of the language lie."""
        return self.base.folder / TRANSLATIONS / self.language

    def glossary(self) -> Mapping[str, str]:
        """The word for each term; none where there is no file."""
        path = self.folder / GLOSSARY
        return read_yaml(path, dict[str, str], error=KnowledgeBaseError) if belongs(path, self.base.folder) else {}

    async def draft(self, name: str) -> Path:
        """Write the draft of one source. Raises ConfigurationError for a source that is not there or translated already,
        and ModelError for a draft that lacks a section or a mark; nothing is then written."""
        source, path = self.base.get(name), self.folder / f"{name}.md"
        if source is None:
            raise ConfigurationError(
                f"There is no source {name!r}.", file=self.base.folder, remedy="`cafi kb show` lists all."
            )
        if path.exists():
            raise ConfigurationError(
                "It is translated already.", file=path, remedy="Take the file away for a new draft."
            )
        marked = [_marked(one) for one in stretches(source.body)]
        variables = {
            "language": self.language,
            "glossary": "\n".join(f"{term}: {word}" for term, word in self.glossary().items()),
            "sources": [
                {
                    "title": source.title,
                    "summary": "\n".join(source.summary),
                    "sections": [{"id": one.id, "heading": one.heading, "text": text} for one, text, _ in marked],
                }
            ],
        }
        found = await self.prompted.answer(variables, TranslatedSource, Ledger(budget=self.budget))
        body = "\n\n".join(_put_back(marked, found))
        head = {
            "title": found.title,
            "summary": found.summary,
            "of": translation_hashes(source),
            "reviewed": "none",
        }
        written = yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=10_000)
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{written}---\n{body}\n", encoding="utf-8")
        return path

    def missing(self) -> tuple[str, ...]:
        """The sources without a translation, in order."""
        return tuple(name for name in self.base.sources if not (self.folder / f"{name}.md").exists())


_Marked = tuple[Stretch, str, list[str]]


def _marked(one: Stretch) -> _Marked:
    """A section with a mark for each of its directives, and what the marks stand for."""
    held, pieces, place = [], [], 0
    for bracket in brackets(one.body):
        held.append(one.body[bracket.start : bracket.end])
        pieces += [one.body[place : bracket.start], f"⟦{len(held)}⟧"]
        place = bracket.end
    return one, "".join((*pieces, one.body[place:])).strip(), held


def _put_back(marked: list[_Marked], found: TranslatedSource) -> Iterator[str]:
    """The sections in their order, the directives in the place of their marks; raises ModelOutputError."""
    drafted = {one.id: one for one in found.sections}
    for one, text, held in marked:
        here = drafted.get(one.id)
        if here is None or sorted(_MARK.findall(here.text)) != sorted(_MARK.findall(text)):
            raise ModelOutputError(f"The draft lacks the section {one.id!r} or one of its marks.")
        body = _MARK.sub(lambda match, held=held: held[int(match[1]) - 1], here.text)  # type: ignore[misc]
        heading = f"{'#' * one.level} {here.heading} {{#{one.id}}}\n\n" if one.level else ""
        yield f"{heading}{body.strip()}"
