"""Rows of numbers: texts as vectors, and terms by number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


def numbered(terms: Iterable[str]) -> tuple[dict[str, int], Numbers]:
    """The number of each term, in the order in which they first stand there, and all of them as numbers."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    found = np.fromiter(map(numbers.__getitem__, terms), dtype=np.int64)
    return dict(numbers), found


def places_in(ascending: NDArray[Any], asked: NDArray[Any]) -> Numbers:
    """Where each number that is asked for stands among ascending ones; -1 where it does not."""
    at = np.searchsorted(ascending, asked)
    there = at < len(ascending)
    there[there] = ascending[at[there]] == asked[there]
    return np.where(there, at, -1)


def of_length_one(rows: Floats) -> Floats:
    """Rows scaled to length one; a row of zeros stays one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)


BLOCK = 1024
"""Rows that are made into numbers with a point at once."""


@dataclass(frozen=True, kw_only=True)
class UnitRows:
    """Rows of length one, in a quarter of the room.

    `whole`: numbers of eight bits, shape (rows, numbers); `lengths`: how long the rows of these are.
    """

    whole: NDArray[np.int8] = field(repr=False)
    lengths: Floats = field(repr=False)

    @classmethod
    def of(cls, whole: NDArray[np.int8]) -> UnitRows:
        """Rows in whole numbers, of whatever length."""
        squares = np.einsum("ij,ij->i", whole, whole, dtype=np.int32, casting="unsafe")
        return cls(whole=whole, lengths=np.maximum(np.sqrt(squares), 1e-9).astype(np.float32))

    @classmethod
    def none(cls) -> UnitRows:
        """No row."""
        return cls.of(np.zeros((0, 0), dtype=np.int8))

    def __len__(self) -> int:
        return len(self.lengths)

    def like(self, one: Floats) -> Floats:
        """How like a row of length one each row is."""
        found = [
            np.einsum("ij,j->i", rows, one) for _, rows in self.blocks()
        ]  # not by `@`: see `engine.language.centroids`
        return np.concatenate([np.zeros(0, dtype=np.float32), *found])

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """The rows as numbers with a point, some at a time, and which they are."""
        for first in range(0, len(self), BLOCK):
            some = slice(first, first + BLOCK)
            yield some, np.asarray(self.whole[some] / self.lengths[some, None], dtype=np.float32)


def in_whole_numbers(rows: Floats) -> NDArray[np.int8]:
    """Rows in whole numbers from -127 to 127, each by its own largest."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=1e-9)
    return np.asarray(np.rint(rows * (127 / largest)), dtype=np.int8)
