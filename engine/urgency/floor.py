"""The floor: explicit words of present danger, few enough to be read aloud; it alone may replace an answer before any judge.

A phrase is words in a row; `word*` stands for every word that begins so, `...` for up to three words. Everything that
is not plain enough for a list is left to the classifier, which mostly asks, and to the urgency judge, which decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import Field, field_validator

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.language.letters import undisguised_words
from engine.settings import Strict
from engine.types import Kind, LayerResult, Message, UrgencyLevel

MOST = 60
"""Phrases a language: what a clinician can read aloud in one sitting."""
FEW = 6
"""Words of a message up to which a phrase stands nearly alone: songs and jokes have more around it."""
_GAP, _WIDEST = "...", 3
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*\*?")
_SPELT_OUT = re.compile(r"(?<![^\W_])(?:[^\W_][\s.*_\-/|,·~+]{1,3}){2,}[^\W_](?![^\W_])")
_LENGTH = 4000  # characters of a message that are read


class FloorFile(Strict):
    """The phrases of one language by what they are about. `reviewed`: the day a clinician read them, empty until then.

    `beliefs`: words of a belief that may be part of psychosis, told as a fact; no danger by themselves.
    """

    reviewed: date | None = None
    phrases: dict[Kind, tuple[str, ...]] = Field(min_length=1)
    beliefs: tuple[str, ...] = Field(default=(), max_length=20)

    @field_validator("beliefs")
    @classmethod
    def _are_words(cls, beliefs: tuple[str, ...]) -> tuple[str, ...]:
        for one in beliefs:
            _Phrase.of(one, Kind.FEAR)
        return beliefs

    @field_validator("phrases")
    @classmethod
    def _are_plain(cls, phrases: dict[Kind, tuple[str, ...]]) -> dict[Kind, tuple[str, ...]]:
        every = [one for some in phrases.values() for one in some]
        if not every:
            raise ValueError("there is no phrase")
        if len(every) > MOST:
            raise ValueError(f"there are {len(every)} phrases, and {MOST} at most can be read aloud")
        if doubled := [one for one in every if every.count(one) > 1]:
            raise ValueError(f"{doubled[0]!r} is there twice")
        for one in every:
            _Phrase.of(one, Kind.UNCLEAR)
        return phrases


@dataclass(frozen=True, kw_only=True, slots=True)
class _Phrase:
    """Parts in a row: a word, the beginning of one, or None for the gap."""

    parts: tuple[tuple[str, bool] | None, ...]
    kind: Kind

    @classmethod
    def of(cls, written: str, kind: Kind) -> _Phrase:
        """Read a phrase; raises ValueError for anything but words, one `*` at a word's end and one gap inside."""
        found: list[tuple[str, bool] | None] = []
        for part in written.split():
            if part == _GAP:
                found.append(None)
                continue
            spelt, open_end = undisguised_words(part.removesuffix("*")), part.endswith("*")
            if len(spelt) != 1 or not _WORD.fullmatch(part):
                raise ValueError(f"{written!r} may hold words, word* and one ... only")
            found.append((spelt[0], open_end))
        if len(found) < 2 or found.count(None) > 1 or found[0] is None or found[-1] is None or found[0][1]:
            raise ValueError(f"{written!r} must begin with a whole word, and have a second one; a gap stands inside")
        return cls(parts=tuple(found), kind=kind)

    @property
    def letters(self) -> str:
        """The phrase without blanks, as somebody writes it letter by letter; empty for one with a gap or an open end."""
        whole = [part[0] for part in self.parts if part is not None and not part[1]]
        return "".join(undisguised_words("".join(whole))) if len(whole) == len(self.parts) else ""

    def begins_at(self, said: Sequence[str], at: int) -> bool:
        """Whether the phrase stands in the words from a place on."""
        return _stands(self.parts, said, at)


def _stands(parts: Sequence[tuple[str, bool] | None], said: Sequence[str], at: int) -> bool:
    for number, part in enumerate(parts):
        if part is None:
            return any(_stands(parts[number + 1 :], said, at + skipped) for skipped in range(_WIDEST + 1))
        if at >= len(said) or not (said[at].startswith(part[0]) if part[1] else said[at] == part[0]):
            return False
        at += 1
    return True


@dataclass(frozen=True)
class Floor:
    """A fast layer over the phrases of every language, by their first word. `reviewed`: a clinician has read every list."""

    phrases: Mapping[str, tuple[_Phrase, ...]]
    beliefs: Mapping[str, tuple[_Phrase, ...]]
    name: str = "floor"
    reviewed: bool = False

    @classmethod
    def load(cls, folder: Path, languages: Iterable[str]) -> Floor:
        """Every language's file; raises ConfigurationError for a language without one, or with a phrase not allowed."""
        files = {path.stem: read_yaml(path, FloorFile) for path in sorted(folder.glob("*.yaml"))}
        for language in languages:
            if language not in files:
                raise ConfigurationError(
                    f"There is no floor of explicit phrases for the language {language!r}.",
                    file=folder / f"{language}.yaml",
                    remedy="Write one, or do not offer the language.",
                )
        return cls.of(files.values())

    @classmethod
    def of(cls, files: Iterable[FloorFile]) -> Floor:
        """The floor of these files together."""
        every = list(files)
        dangers = [(one, kind) for file in every for kind, some in file.phrases.items() for one in some]
        beliefs = [(one, Kind.FEAR) for file in every for one in file.beliefs]
        reviewed = all(file.reviewed is not None for file in every)
        return cls(_by_first_word(dangers), _by_first_word(beliefs), reviewed=reviewed)

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """`urgent` where a phrase stands in the message; the turns before it are not read. Whoever writes little else, or spells
        it out, means it."""
        text = message[:_LENGTH]
        said = undisguised_words(text)
        plain = _among(self.phrases, said)
        phrase = plain or self._spelt_out(text)
        return LayerResult(
            layer=self.name,
            level=UrgencyLevel.NONE if phrase is None else UrgencyLevel.URGENT,
            kind=Kind.UNCLEAR if phrase is None else phrase.kind,
            delusional_framing=_among(self.beliefs, said) is not None,
            by_words=plain is not None and len(said) > FEW,
        )

    def _spelt_out(self, text: str) -> _Phrase | None:
        """The phrase that somebody writes letter by letter, a word of it or the whole."""
        runs = _SPELT_OUT.findall(text)
        if not runs:
            return None
        joined = _SPELT_OUT.sub(lambda run: _letters(run[0]), text)
        letters = " ".join("".join(undisguised_words(_letters(run))) for run in runs)
        whole = (one for some in self.phrases.values() for one in some if one.letters and one.letters in letters)
        return _among(self.phrases, undisguised_words(joined)) or next(whole, None)


def _letters(run: str) -> str:
    return "".join(char for char in run if char.isalnum())


def _by_first_word(written: Iterable[tuple[str, Kind]]) -> dict[str, tuple[_Phrase, ...]]:
    found: dict[str, tuple[_Phrase, ...]] = {}
    for one, kind in written:
        phrase = _Phrase.of(one, kind)
        first = phrase.parts[0]
        assert first is not None  # noqa: S101 - `of` has refused a gap in front
        found[first[0]] = (*found.get(first[0], ()), phrase)
    return found


def _among(phrases: Mapping[str, tuple[_Phrase, ...]], said: Sequence[str]) -> _Phrase | None:
    for at, word in enumerate(said):
        for phrase in phrases.get(word, ()):
            if phrase.begins_at(said, at):
                return phrase
    return None
