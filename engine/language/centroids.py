"""Texts by label: which label's texts a new one is most like, by words and by meaning (Rocchio, 1971).

A label is what all its texts have in common: their words and pairs of words weighed by how telling they are (tf-idf), and
the mean of their vectors where there are vectors. Nothing is fitted, so that a text more is learnt by adding it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.language.text import stem, words
from engine.language.vectors import Floats, WordVectors, of_length_one

LONGEST = 300
"""Words of a text that are read."""


STEMMED = {"en": "english", "de": "german", "es": "spanish", "fr": "french", "nb": "norwegian"}
"""Languages by code, as Snowball calls them."""


def snowball(language: str) -> str:
    """Snowball's name of a language; English for one that it does not know."""
    return STEMMED.get(language, "english")


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledText:
    """A text and the number of its label; `weight` is how much it counts beside others."""

    label: int
    text: str
    weight: float = 1.0


PIECE = 5
"""Letters of a piece of a word: misspelt words, other endings and the parts of compounds share some."""
PART_STRANGE = 0.1
"""What a piece that nobody used adds to the square of a text's length, beside an unknown word."""


def terms(said: Sequence[str]) -> list[str]:
    """The stems of a text and its pairs of neighbours."""
    return [*said, *map(" ".join, pairwise(said))]


def pieces(word: str) -> list[str]:
    """The pieces of a word, its ends marked; a short one is a piece by itself."""
    marked = f"<{word}>"
    return [marked[at : at + PIECE] for at in range(max(1, len(marked) - PIECE + 1))]


@dataclass(frozen=True, kw_only=True)
class TermCentroids:
    """One centroid a label over terms.

    `starts`: where each term's labels begin in `labels` and `values`, the last one their end.
    """

    size: int
    places: dict[str, int]
    rarity: Floats
    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    values: Floats

    @cached_property
    def strange(self) -> float:
        """What an unknown term adds to the square of a text's length: as much as the rarest known one."""
        return float(self.rarity.max(initial=1.0)) ** 2

    @classmethod
    def build(
        cls, texts: Iterable[Iterable[str]], owners: NDArray[np.int64], weights: Floats, size: int
    ) -> TermCentroids:
        """Texts as their terms, each with its label and how much it counts."""
        places: dict[str, int] = {}
        rows, columns = [], []
        for number, found in enumerate(texts):
            for term in found:
                rows.append(number)
                columns.append(places.setdefault(term, len(places)))
        count, width = len(owners), max(1, len(places))
        pairs, counts = np.unique(
            np.array(rows, dtype=np.int64) * width + np.array(columns, dtype=np.int64), return_counts=True
        )
        row, column = np.divmod(pairs, width)
        rarity = np.log((1 + count) / (1 + np.bincount(column, minlength=width))) + 1
        values = (1 + np.log(counts)) * rarity[column]
        norms = np.sqrt(np.bincount(row, weights=values**2, minlength=count))
        values = values / norms[row] * weights[row]
        summed, where = np.unique(column * size + owners[row], return_inverse=True)
        values = np.bincount(where, weights=values, minlength=len(summed))
        term_of, label = np.divmod(summed, size)
        lengths = np.sqrt(np.bincount(label, weights=values**2, minlength=size))
        return cls(
            size=size,
            places=places,
            rarity=rarity.astype(np.float32),
            starts=np.searchsorted(term_of, np.arange(width + 1)),
            labels=label,
            values=(values / np.maximum(lengths[label], 1e-9)).astype(np.float32),
        )

    def likeness(self, said: Iterable[str], strange: Callable[[str], float]) -> Floats:
        """How like terms each label is, from 0 to 1. `strange`: how much of an unknown term counts as unknown, 0 to 1."""
        found, norm = np.zeros(self.size, dtype=np.float32), 0.0
        for term, count in Counter(said).items():
            place = self.places.get(term)
            if place is None:
                norm += self.strange * strange(term)
                continue
            weight = (1 + np.log(count)) * float(self.rarity[place])
            norm += weight * weight
            start, end = self.starts[place], self.starts[place + 1]
            found[self.labels[start:end]] += weight * self.values[start:end]
        return np.asarray(found / max(norm, 1e-9) ** 0.5, dtype=np.float32)

    def covered(self, said: Iterable[str]) -> Floats:
        """How much of what terms tell each label's texts have at all, from 0 to 1: one telling word that is missing says
        more than many common ones that are there."""
        found, whole = np.zeros(self.size, dtype=np.float32), 0.0
        for term in dict.fromkeys(said):
            place = self.places.get(term)
            telling = self.strange**0.5 if place is None else float(self.rarity[place])
            whole += telling
            if place is not None:
                found[self.labels[self.starts[place] : self.starts[place + 1]]] += telling
        return np.asarray(found / max(whole, 1e-9), dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class Centroids:
    """Labels by words, and by kindred words: by their vectors, or by the pieces that words share; neither where `kin` is None."""

    language: str
    words: TermCentroids
    kin: TermCentroids | Floats | None
    vectors: WordVectors | None

    @classmethod
    def build(
        cls,
        texts: Sequence[LabelledText],
        size: int,
        vectors: WordVectors | None = None,
        language: str = "english",
        *,
        in_pieces: bool = False,
    ) -> Centroids:
        """What `size` labels have in common; a label without a text is like nothing. `language`: Snowball's name.

        `in_pieces`: words are also compared by their pieces, where there are no vectors.
        """
        read = [words(one.text) for one in texts]
        known = {word for said in read for word in said}
        stems = {word: stem(word, language) for word in known}
        owners = np.array([one.label for one in texts], dtype=np.int64)
        weights = np.array([one.weight for one in texts], dtype=np.float32)
        by_words = (terms([stems[word] for word in said[:LONGEST]]) for said in read)
        kin: TermCentroids | Floats | None = None
        if vectors is not None:
            added = np.zeros((size, vectors.dims), dtype=np.float32)
            np.add.at(added, owners, vectors.texts(read) * weights[:, None])
            kin = of_length_one(added)
        elif in_pieces:
            cut = {word: pieces(word) for word in known}
            by_pieces = ((piece for word in said[:LONGEST] for piece in cut[word]) for said in read)
            kin = TermCentroids.build(by_pieces, owners, weights, size)
        return cls(
            language=language,
            words=TermCentroids.build(by_words, owners, weights, size),
            kin=kin,
            vectors=vectors,
        )

    def covered(self, text: str) -> Floats:
        """How much of what a text's words tell each label has at all, from 0 to 1."""
        return self.words.covered(stem(word, self.language) for word in words(text)[:LONGEST])

    def likeness(self, text: str) -> tuple[Floats, Floats]:
        """How like a text each label is, by words and by kindred words, from 0 to 1; zeros where no word is known."""
        said = words(text)[:LONGEST]
        # A word that nobody used here makes the text less like all of this; most pairs of words are new.
        by_words = self.words.likeness(
            terms([stem(word, self.language) for word in said]), lambda term: " " not in term
        )
        if isinstance(self.kin, TermCentroids):
            return by_words, self.kin.likeness(
                (piece for word in said for piece in pieces(word)), lambda _: PART_STRANGE
            )
        if self.vectors is None or self.kin is None:
            return by_words, np.zeros(self.words.size, dtype=np.float32)
        asked = self.vectors.texts([said])[0]
        return by_words, np.asarray(np.einsum("ij,j->i", self.kin, asked), dtype=np.float32)
