"""The small language in which urgency rules are written, and its compiler.

A pattern is a row of words, matched against normalised words (lower case, no accents, no apostrophes):

    want ~2 (die|end it)     up to two other words may stand where `~2` is
    {want} {die}             a word class from the same file, which may use the same signs
    really? suicid*          an optional word; a word by its beginning
    ^ can $                  the beginning and the end of a sentence

Only bounded repetition exists, so that no message can make matching slow.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from engine.text import STOP_WORDS, fold

_SIGN = re.compile(r"\{(\w+)\}|~(\d)|\(([^{}()?^$~]+)\)|([()|?^$])|([^\s{}()|?^$~]+)|\s+")
_PLAIN_CHOICE = re.compile(r"[^{}()?^$~]+")
_ASCII_FORMS = (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ø", "oe"), ("æ", "ae"), ("å", "aa"))


class PatternError(ValueError):
    """A pattern is not well formed; the message says what is wrong."""


def forms(word: str) -> tuple[str, ...]:
    """The spellings a word has after normalisation: without its accents, and in ASCII as `dø` → `doe`."""
    spelt = word.casefold()
    if spelt.isascii():
        return (spelt.replace("'", "").replace("-", " "),)
    for letter, pair in _ASCII_FORMS:
        spelt = spelt.replace(letter, pair)
    return tuple(dict.fromkeys(fold(one).replace("'", "").replace("-", " ") for one in (word, spelt)))


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a pattern: its expression, the words one of which must occur (none: no such need), its words."""

    regex: str
    anchors: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern. A word in `anchors` that ends in `*` is a beginning."""

    source: str
    anchors: frozenset[str]
    words: frozenset[str]

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled when first tried: most patterns of most languages never are."""
        return re.compile(self.source)


class Matcher:
    """Many patterns at once; only those are tried of which a needed word occurs."""

    def __init__(self, patterns: Iterable[tuple[int, Pattern]]) -> None:
        self._exact: defaultdict[str, list[int]] = defaultdict(list)
        self._beginnings: defaultdict[str, list[int]] = defaultdict(list)
        self._patterns = tuple(patterns)
        for place, (_, pattern) in enumerate(self._patterns):
            for anchor in pattern.anchors:
                where = self._beginnings if anchor.endswith("*") else self._exact
                where[anchor.rstrip("*")].append(place)
        self._sizes = tuple(sorted({len(beginning) for beginning in self._beginnings}))

    def spans(self, sentence: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """The owner of every pattern that matches, and where."""
        if not self._patterns:
            return
        tried: set[int] = set()
        for word in set(sentence.split()):
            tried.update(self._exact.get(word, ()))
            for size in self._sizes:
                tried.update(self._beginnings.get(word[:size], ()) if len(word) >= size else ())
        for place in sorted(tried):
            owner, pattern = self._patterns[place]
            for match in pattern.regex.finditer(sentence):
                yield owner, match.span()

    def matches(self, sentence: str) -> bool:
        """Whether any pattern matches."""
        return next(self.spans(sentence), None) is not None


@dataclass(kw_only=True)
class Compiler:
    """Turns pattern texts into expressions; word classes are compiled once."""

    classes: Mapping[str, tuple[str, ...]]
    _known: dict[str, Piece] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)

    def compile(self, text: str) -> Pattern:
        """Compile one pattern; raises PatternError."""
        piece = self._whole(text)
        if not piece.anchors:
            raise PatternError(f"'{text}' needs at least one word that is not optional.")
        return Pattern(rf"(?<![^ ]){piece.regex}", piece.anchors, piece.words)

    def check(self, name: str) -> None:
        """Compile one class; raises PatternError."""
        self._class(name)

    def _whole(self, text: str) -> Piece:
        signs = [match for match in _SIGN.finditer(text) if match.group().strip()]
        if "".join(match.group() for match in signs).replace(" ", "") != re.sub(r"\s", "", text):
            raise PatternError(f"'{text}' has a sign that means nothing here.")
        piece, rest = self._choice(signs)
        if rest:
            raise PatternError(f"'{text}' closes a bracket that was not opened.")
        return piece

    def _entry(self, text: str) -> Piece:
        return _plain_choice(text) if _PLAIN_CHOICE.fullmatch(text) else self._whole(text)

    def _choice(self, signs: list[re.Match[str]]) -> tuple[Piece, list[re.Match[str]]]:
        branches: list[Piece] = []
        while True:
            piece, signs = self._row(signs)
            branches.append(piece)
            if not signs or signs[0].group() != "|":
                return _either(branches), signs
            signs = signs[1:]

    def _row(self, signs: list[re.Match[str]]) -> tuple[Piece, list[re.Match[str]]]:
        pieces: list[Piece] = []
        while signs and signs[0].group() not in ("|", ")"):
            piece, signs = self._item(signs)
            if signs and signs[0].group() == "?":
                piece, signs = Piece(f"(?:{piece.regex})?", words=piece.words), signs[1:]
            pieces.append(piece)
        return _joined(pieces), signs

    def _item(self, signs: list[re.Match[str]]) -> tuple[Piece, list[re.Match[str]]]:
        name, gap, choice, sign, word = signs[0].groups()
        if choice:
            return _plain_choice(choice), signs[1:]
        if sign == "(":
            piece, rest = self._choice(signs[1:])
            if not rest:
                raise PatternError("A bracket is not closed.")
            return piece, rest[1:]
        if sign == "^":
            return Piece("^"), signs[1:]
        if sign == "$":
            return Piece("(?:\\? )?$"), signs[1:]
        if gap:
            return Piece(f"(?:[^ ]+ ){{0,{gap}}}?"), signs[1:]
        if name:
            return self._class(name), signs[1:]
        if sign == "?":
            raise PatternError("'?' needs a word before it.")
        return _word(word), signs[1:]

    def _class(self, name: str) -> Piece:
        if name not in self.classes:
            raise PatternError(f"There is no class '{name}'.")
        if name in self._open:
            raise PatternError(f"The class '{name}' contains itself.")
        if name not in self._known:
            self._open.append(name)
            self._known[name] = _either([self._entry(entry) for entry in self.classes[name]])
            self._open.pop()
        return self._known[name]


@cache
def _plain_choice(text: str) -> Piece:
    """Words and rows of words with `|` between them, by far the most frequent form."""
    rows = [row.split() for row in text.split("|")]
    if not all(rows):
        raise PatternError(f"'{text.strip()}' has a choice without a word.")
    return _either([_joined([_word(word) for word in row]) if len(row) > 1 else _word(row[0]) for row in rows])


@cache
def _word(text: str) -> Piece:
    beginning = text.endswith("*")
    spelt = forms(text.removesuffix("*"))
    if len(spelt) == 1 and spelt[0].isalnum() and not beginning:
        return Piece(f"{spelt[0]} ", frozenset(spelt), frozenset(spelt))
    tail = "[^ ]* " if beginning else " "
    body = "|".join(re.escape(one).replace("\\ ", " ") for one in spelt)
    last = [one.split(" ")[-1] for one in spelt]
    anchors = frozenset(f"{one}*" if beginning else one for one in last)
    plain = {part for one in spelt for part in one.split(" ")[: -1 if beginning else None]}
    return Piece(f"(?:{body}){tail}", anchors, frozenset(plain) | (anchors if beginning else frozenset()))


def _either(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    needed = all(piece.anchors for piece in pieces)
    anchors: frozenset[str] = frozenset().union(*(piece.anchors for piece in pieces)) if needed else frozenset()
    return Piece("(?:" + "|".join(piece.regex for piece in pieces) + ")", anchors, _all_words(pieces))


def _joined(pieces: list[Piece]) -> Piece:
    if len(pieces) == 1:
        return pieces[0]
    candidates = [piece.anchors for piece in pieces if piece.anchors]
    best = min(candidates, key=_commonness, default=frozenset())
    return Piece("".join(piece.regex for piece in pieces), best, _all_words(pieces))


def _commonness(anchors: frozenset[str]) -> tuple[int, int]:
    return sum(word in STOP_WORDS or len(word) < 3 for word in anchors), len(anchors)


def _all_words(pieces: Iterable[Piece]) -> frozenset[str]:
    return frozenset().union(*(piece.words for piece in pieces))
