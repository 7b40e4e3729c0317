"""Lay words for clinical ones, as data: which terms stand for each other, and which subjects are not ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from engine.files import read_yaml
from engine.language.text import STOP_WORDS, stem, words

Term = tuple[str, ...]


class Group(BaseModel):
    """Terms that stand for each other, and looser ones they lead to.

    `weight` under 1 marks words that say whom a question is about rather than what.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: tuple[str, ...] = Field(min_length=1)
    related: tuple[str, ...] = ()
    weight: float = Field(default=1.0, gt=0, le=1)


class SynonymFile(BaseModel):
    """A synonyms file as it is written; lists of plain words are separated by blanks.

    `said` holds, by the id of a source, what people say who need it, one saying a line.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[Group, ...] = ()
    said: Mapping[str, str] = {}
    elsewhere: str = ""
    clinical: str = ""


class Match(NamedTuple):
    """A term found in a text: its place among all the words, and the groups it belongs to."""

    start: int
    length: int
    groups: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Synonyms:
    """Groups of terms that stand for each other; `elsewhere` and `clinical` are plain folded words.

    `said` is what people say who need a source, by its id.
    """

    groups: tuple[Group, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    clinical: frozenset[str] = frozenset()
    said: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls, *files: Path) -> Synonyms:
        """Read and join synonyms files; one that cannot be used raises ConfigurationError with its place."""
        read = [read_yaml(file, SynonymFile) for file in files]
        return cls(
            groups=tuple(group for one in read for group in one.groups),
            elsewhere=frozenset(word for one in read for word in one.elsewhere.casefold().split()),
            clinical=frozenset(word for one in read for word in one.clinical.casefold().split()),
            said=_together(*({name: _lines(text) for name, text in one.said.items()} for one in read)),
        )

    def joined_with(self, other: Synonyms) -> Synonyms:
        """These and others, for one knowledge base's own beside the shared ones."""
        return Synonyms(
            groups=(*self.groups, *other.groups),
            elsewhere=self.elsewhere | other.elsewhere,
            clinical=self.clinical | other.clinical,
            said=_together(self.said, other.said),
        )

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Every folded word of every term, none of which is a misspelling."""
        texts = (text for group in self.groups for text in (*group.words, *group.related))
        return frozenset(word for text in texts for word in words(text))

    def matches(self, stemmed: Sequence[str]) -> list[Match]:
        """Every term in a sequence of stems (stop words included), in order of place."""
        single, longer, firsts = self._single, self._longer, self._firsts
        found = []
        for start, first in enumerate(stemmed):
            if first not in firsts:
                continue
            if groups := single.get(first):
                found.append(Match(start, 1, groups))
            second = stemmed[start + 1] if start + 1 < len(stemmed) else ""
            for term, groups in longer.get((first, second), ()):
                length = len(term)
                if length == 2 or tuple(stemmed[start : start + length]) == term:
                    found.append(Match(start, length, groups))
        return found

    @cached_property
    def related(self) -> tuple[tuple[tuple[Term, tuple[int, ...]], ...], ...]:
        """For each group the terms it leads to, as an index holds them, and the groups those are in."""
        return tuple(
            tuple((index_term(text), self._groups_of.get(term_of(text), ())) for text in group.related)
            for group in self.groups
        )

    @cached_property
    def _firsts(self) -> frozenset[str]:
        return frozenset(term[0] for term in self._groups_of)

    @cached_property
    def _single(self) -> dict[str, tuple[int, ...]]:
        return {term[0]: groups for term, groups in self._groups_of.items() if len(term) == 1}

    @cached_property
    def _longer(self) -> dict[tuple[str, str], list[tuple[Term, tuple[int, ...]]]]:
        """Terms of several words by their first two."""
        found: dict[tuple[str, str], list[tuple[Term, tuple[int, ...]]]] = {}
        for term, groups in self._groups_of.items():
            if len(term) > 1:
                found.setdefault((term[0], term[1]), []).append((term, groups))
        return found

    @cached_property
    def _groups_of(self) -> dict[Term, tuple[int, ...]]:
        found: dict[Term, dict[int, None]] = {}
        for number, group in enumerate(self.groups):
            for text in group.words:
                if term := term_of(text):
                    found.setdefault(term, {})[number] = None
        return {term: tuple(groups) for term, groups in found.items()}


def term_of(text: str) -> Term:
    """The stems of every word of a term, stop words included, so that "get better" is a term."""
    return tuple(stem(word) for word in words(text))


def index_term(text: str) -> Term:
    """The stems of a term that an index without stop words holds."""
    return tuple(stem(word) for word in words(text) if word not in STOP_WORDS)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _together(*said: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in said:
        for name, lines in one.items():
            found[name] = (*found.get(name, ()), *lines)
    return found
