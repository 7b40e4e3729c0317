"""Categories: the shelves of a knowledge base, by which somebody finds a text without having to find words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import KnowledgeBaseError
from engine.files import lines_of

LONGEST_TITLE = 60
"""Characters of a category's title; on a button, a narrow phone shows no more."""


class Category(BaseModel):
    """One shelf. `titles` by language, `sources` in the order in which they are shown; the id fits every platform's button."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    titles: Mapping[str, str] = Field(min_length=1)
    sources: tuple[str, ...] = Field(min_length=1)

    def title(self, language: str, own: str) -> str:
        """The title in a language; in that of the sources, `own`, where there is none."""
        return self.titles.get(language) or self.titles.get(own) or next(iter(self.titles.values()))


def category_faults(
    categories: Sequence[Category], sources: Collection[str], language: str, *, path: Path, text: str
) -> list[KnowledgeBaseError]:
    """Where the categories and the sources do not agree: every source stands in exactly one, with a title in each language.

    `language` is that of the sources; `text` is the manifest, so that each fault can name its line.
    """
    if not categories:
        return []
    found = [*_faults_of_titles(categories, language), *_faults_of_sources(categories, sources)]
    lines = lines_of(text, [place for place, _, _ in found])
    return [
        KnowledgeBaseError(problem, file=path, line=line, remedy=remedy)
        for (_, problem, remedy), line in zip(found, lines, strict=True)
    ]


_Fault = tuple[tuple[int | str, ...], str, str | None]


def _faults_of_titles(categories: Sequence[Category], language: str) -> Iterator[_Fault]:
    wanted = dict.fromkeys((language.casefold().split("-")[0], *(name for one in categories for name in one.titles)))
    seen: set[str] = set()
    for at, one in enumerate(categories):
        if one.id in seen:
            yield ("categories", at, "id"), f"The category {one.id!r} stands here a second time.", None
        seen.add(one.id)
        for name in wanted:
            place = ("categories", at, "titles", name)
            if not one.titles.get(name, "").strip():
                yield place, f"The category {one.id!r} has no title in {name!r}.", "Others have one: add it."
            elif len(one.titles[name]) > LONGEST_TITLE:
                yield (
                    place,
                    f"The title is longer than {LONGEST_TITLE} characters.",
                    "It stands on a button: shorten it.",
                )


def _faults_of_sources(categories: Sequence[Category], sources: Collection[str]) -> Iterator[_Fault]:
    where: dict[str, str] = {}
    for at, one in enumerate(categories):
        for number, name in enumerate(one.sources):
            place = ("categories", at, "sources", number)
            if name not in sources:
                yield place, f"There is no source {name!r}.", None
            elif name in where:
                yield place, f"The source {name!r} stands in {where[name]!r} already.", "Leave it in one category."
            else:
                where[name] = one.id
    for name in sources:
        if name not in where:
            yield ("categories",), f"The source {name!r} is in no category.", "Put it into one."
