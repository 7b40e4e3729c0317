"""Rows of numbers: texts as vectors, and terms by number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

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


def of_length_one(rows: Floats) -> Floats:
    """Rows scaled to length one; a row of zeros stays one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)
