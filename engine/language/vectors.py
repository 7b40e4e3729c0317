"""What words mean, as vectors: texts that share no word can still be found alike.

A text's vector is the sum of its words' vectors, scaled to length one; two texts are as alike as the cosine of
theirs. The vectors were distilled from a sentence-embedding model (`config/vectors/README.md`); nothing here runs one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from engine.exceptions import ConfigurationError
from engine.language.text import stem
from engine.memo import once_a_turn

REMEDY = "Put back the file that came with this version, or make one with `python -m evaluation.word_vectors`."

ENDINGS = ("", "e", "s", "y", "ing", "ed", "ion")
"""What is tried after the stem of a word that has no vector of its own."""

AT_ONCE = 256
"""Texts that are summed at once, few enough for a processor's cache."""

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class WordVectors:
    """Vectors of words: a row of `values` (whole numbers) times its `scale` each."""

    words: tuple[str, ...]
    values: Bytes = field(repr=False)
    scale: Floats = field(repr=False)

    @classmethod
    def of(cls, words: Sequence[str], vectors: Floats) -> WordVectors:
        """Vectors rounded to a byte a number."""
        scale = np.abs(vectors).max(axis=1) / 127
        values = np.rint(vectors / np.maximum(scale, 1e-12)[:, None]).astype(np.int8)
        return cls(words=tuple(words), values=values, scale=scale.astype(np.float32))

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        return int(self.values.shape[1])

    def place(self, word: str) -> int | None:
        """The row of a folded word, or of another word with its stem; None for an unknown word."""
        found = self._places[word]
        return None if found == len(self.words) else found

    def texts(self, texts: Iterable[Sequence[str]]) -> Floats:
        """One row of length one a text, each given as folded words; zeros for a text of unknown words only."""
        every = [list(text) for text in texts]
        lengths = np.fromiter(map(len, every), dtype=np.int64, count=len(every))
        return self.sums(*numbered(chain.from_iterable(every)), lengths)

    def sums(self, words: Iterable[str], said: Numbers, lengths: Numbers) -> Floats:
        """The same of texts given as numbers of their words, one text after the other; `lengths`: how many each has."""
        table = self._rows(words)
        made = np.zeros((len(lengths), self.dims), dtype=np.float32)
        starts = np.cumsum(lengths) - lengths
        (told,) = np.nonzero(lengths)
        for first in range(0, len(told), AT_ONCE):
            some = told[first : first + AT_ONCE]
            start, end = starts[some[0]], starts[some[-1]] + lengths[some[-1]]
            made[some] = np.add.reduceat(table.take(said[start:end], axis=0), starts[some] - start, axis=0)
        return of_length_one(made)

    def _rows(self, words: Iterable[str]) -> Floats:
        """The vectors of words as numbers, zeros for an unknown one."""
        rows = np.fromiter(map(self._places.__getitem__, words), dtype=np.int64)
        unknown = rows == len(self.words)
        rows[unknown] = 0
        return np.asarray(self.values[rows] * np.where(unknown, 0, self.scale[rows])[:, None], dtype=np.float32)

    @cached_property
    def _places(self) -> _Places:
        return _Places((word, place) for place, word in enumerate(self.words))


def numbered(terms: Iterable[str]) -> tuple[dict[str, int], Numbers]:
    """The number of each term, in the order in which they first stand there, and all of them as numbers."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    found = np.fromiter(map(numbers.__getitem__, terms), dtype=np.int64)
    return dict(numbers), found


def of_length_one(rows: Floats) -> Floats:
    """Rows scaled to length one; a row of zeros stays one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


class _Places(dict[str, int]):
    """Rows by word; a word that is not there has the row of a near form, or the one past the last."""

    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        super().__init__(pairs)
        self.count = len(self)
        self._near = once_a_turn(self._nearest)

    def __missing__(self, word: str) -> int:
        return self._near(word)

    def _nearest(self, word: str) -> int:
        root = stem(word)
        forms = (self.get(root + ending, self.count) for ending in ENDINGS)
        return next((form for form in forms if form != self.count), self.count)


def write_vectors(vectors: WordVectors, file: Path) -> None:
    """Write a vectors file."""
    packed = np.frombuffer("\n".join(vectors.words).encode(), dtype=np.uint8)
    with file.open("wb") as out:
        np.savez(out, words=packed, values=vectors.values, scale=vectors.scale.astype(np.float16))


def load_vectors(file: Path) -> WordVectors:
    """Read a vectors file. Raises ConfigurationError where it cannot be used."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as held:
            words = tuple(held["words"].tobytes().decode("utf-8").split("\n"))
            values, scale = held["values"], held["scale"].astype(np.float32)
    except OSError as error:
        raise ConfigurationError("The word vectors cannot be read.", file=file, remedy=REMEDY) from error
    except (ValueError, KeyError, EOFError, AttributeError, BadZipFile) as error:
        raise ConfigurationError("These are no word vectors.", file=file, remedy=REMEDY) from error
    if values.dtype != np.int8 or values.ndim != 2 or not len(words) == len(values) == len(scale):
        raise ConfigurationError("The word vectors are damaged.", file=file, remedy=REMEDY)
    return WordVectors(words=words, values=values, scale=scale)
