"""Learning heads over words and meanings: features, weights and their files, for `engine.MeaningHeads`."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_matrix, hstack

from engine import TextEncoder, WordFeatures, meanings
from evaluation.urgency_training import ENCODER, fit, packed, vectors

BITS = 16
PENALTY = 1e-4  # of squared weights, for one example

Floats = np.ndarray[Any, np.dtype[np.float64]]
Rows = np.ndarray[Any, np.dtype[np.int64]]
Example = tuple[str, tuple[str, ...]]
"""A message and what the person said just before it."""

T = TypeVar("T")
Taken = tuple[str, str, str, T]
"""The author and the language of a row, its label, and what it is taken for."""

Row = dict[str, Any]
"""A labelled message; its `id` begins with the author."""


def rows_in(folder: Path) -> list[Row]:
    """The rows of every author in a folder."""
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def author(name: str) -> str:
    """Who wrote a row of that `id`."""
    return name.partition("-")[0]


def prepared(about: str | None, train: Callable[[TextEncoder], None]) -> TextEncoder:
    """The encoder of a fit that is begun from the command line: trained with first, unless it is asked only to measure."""
    asked = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--measure", action="store_true")
    only_measured, encoder = asked.parse_args().measure, TextEncoder.load(ENCODER)
    if not only_measured:
        train(encoder)
    return encoder


def by_author_and_language(found: Sequence[Taken[T]]) -> Iterator[tuple[str, list[tuple[str, T]]]]:
    """What rows are taken for, beside their labels: all of them, each author's, and those of each language."""
    for name in ("", *sorted({who for who, *_ in found}), *sorted({lang for _, lang, *_ in found})):
        yield name or "kept back", [(label, taken) for who, lang, label, taken in found if name in {"", who, lang}]


class MeaningLessons:
    """Messages to learn from, as rows: words first, then the two meanings less their mean."""

    def __init__(self, encoder: TextEncoder, examples: Sequence[Example], penalty: float = PENALTY) -> None:
        """Read every message once; some milliseconds each."""
        self.penalty = penalty
        meant = np.array([meanings(encoder, text, before) for text, before in examples], dtype=np.float64)
        self.middle = meant.mean(axis=0)
        by_words = vectors(((text, ()) for text, _ in examples), WordFeatures({}, BITS), BITS)
        self.matrix = hstack([by_words, csr_matrix(meant - self.middle)]).tocsr()
        self.digest = hashlib.sha256("\n".join(text for text, _ in examples).encode())

    def learn(self, wanted: Sequence[bool], rows: Rows | None = None) -> tuple[Floats, float]:
        """Weights and constant of one head, from some rows or all."""
        chosen = np.arange(self.matrix.shape[0]) if rows is None else rows
        signs = np.where(np.array(wanted)[chosen], 1.0, -1.0)
        return fit(self.matrix[chosen], signs, np.ones(len(chosen)), self.penalty)

    def left_out(self, wanted: Sequence[bool], groups: Sequence[str]) -> Floats:
        """The sum of one head for each row, learnt from the rows of all other groups."""
        of, sums = np.array(groups), np.zeros(self.matrix.shape[0])
        for name in sorted(set(groups)):
            weights, constant = self.learn(wanted, np.flatnonzero(of != name))
            left = np.flatnonzero(of == name)
            sums[left] = self.matrix[left] @ weights + constant
        return sums

    def write(self, path: Path, wanted: Mapping[str, Sequence[bool]], thresholds: Mapping[str, float]) -> None:
        """Learn every head from all rows and write the two files."""
        models, meaning = {}, []
        for name, signs in wanted.items():
            weights, constant = self.learn(signs)
            by_meaning = weights[1 << BITS :]
            models[name] = (weights[: 1 << BITS], constant - float(by_meaning @ self.middle))
            meaning.append(by_meaning)
            self.digest.update(f"{name} {list(signs)}".encode())
        path.with_suffix(".bin").write_bytes(packed(models, dict(thresholds), {}, self.digest.hexdigest(), BITS))
        np.save(path.with_suffix(".npy"), np.array(meaning, dtype=np.float32))
