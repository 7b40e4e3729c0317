"""What words show and what meaning shows, as one score from 0 to 1.

Two logistic models, fitted by `python -m evaluation.fusion` on questions of known answer: one says from the best
evidence of each kind whether anything fits a question at all, the other which source fits better. A source's score
is the first times how near it comes to the best source by the second; so one threshold serves for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FALL = 0.15
"""How steeply scores fall behind the best source: 1 is in proportion to the odds, 0 not at all."""


class Evidence(NamedTuple):
    """What speaks for a source, from 0 to 1.

    By words: `words` (all of them weighed), `line`, `cover`, `bm25`, `subject` (how much of the weight is of
    subjects of the synonyms that the source has). By meaning, as cosines: `like_line`, `like_lines`,
    `like_body`, `like_whole`, `stands_out` (how far above the mean of all sources) and, against it, `like_elsewhere`.
    """

    words: float = 0.0
    line: float = 0.0
    cover: float = 0.0
    bm25: float = 0.0
    subject: float = 0.0
    like_line: float = 0.0
    like_lines: float = 0.0
    like_body: float = 0.0
    like_whole: float = 0.0
    stands_out: float = 0.0
    like_elsewhere: float = 0.0


EVIDENCE_NAMES = Evidence._fields
BY_WORDS = EVIDENCE_NAMES.index("like_line")
"""So many of them are by words; the rest are by meaning."""

# Written by evaluation/fusion.py.
FITS_BASE = -0.37
FITS: Mapping[str, float] = {
    "words": 0.95,
    "line": 1.43,
    "cover": 2.31,
    "subject": 1.24,
    "like_line": 2.99,
    "like_lines": -0.03,
    "like_body": 2.96,
    "like_whole": 3.3,
    "stands_out": -0.54,
    "like_elsewhere": -13.42,
}
BETTER: Mapping[str, float] = {
    "words": 1.14,
    "line": 1.24,
    "cover": 0.64,
    "bm25": 1.76,
    "subject": 0.81,
    "like_line": 3.49,
    "like_lines": 1.32,
    "like_body": 3.25,
    "like_whole": 3.52,
}
_FITS = np.array([FITS.get(name, 0.0) for name in EVIDENCE_NAMES])
_BETTER = np.array([BETTER.get(name, 0.0) for name in EVIDENCE_NAMES])


def scores(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores of the sources that were weighed for one question, from 0 to 1; `rows` are their `Evidence`."""
    if not len(rows):
        return np.zeros(0)
    fits = 1 / (1 + np.exp(-FITS_BASE - rows.max(axis=0) @ _FITS))
    better = rows @ _BETTER
    return np.asarray(fits * np.exp(FALL * (better - better.max())), dtype=np.float64)
