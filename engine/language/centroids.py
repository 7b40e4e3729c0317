"""Texts by label: which label's texts a new one is most like, by words and by meaning (Rocchio, 1971).

A label is what all its texts have in common: their words and pairs of words weighed by how telling they are (tf-idf), and
the mean of their vectors where there are vectors. Nothing is fitted, so that a text more is learnt by adding it.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def terms(said: Sequence[str]) -> list[str]:
    """The stems of a text and its pairs of neighbours."""
    return [*said, *map(" ".join, pairwise(said))]


@dataclass(frozen=True, kw_only=True)
class Centroids:
    """One centroid a label. `starts`: where each term's labels begin in `labels` and `values`, the last one their end."""

    size: int
    language: str
    places: dict[str, int]
    rarity: Floats
    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    values: Floats
    vectors: WordVectors | None
    means: Floats | None

    @cached_property
    def strange(self) -> float:
        """What an unknown word adds to the square of a text's length: as much as the rarest known one."""
        return float(self.rarity.max(initial=1.0)) ** 2

    @classmethod
    def build(
        cls, texts: Sequence[LabelledText], size: int, vectors: WordVectors | None = None, language: str = "english"
    ) -> Centroids:
        """What `size` labels have in common; a label without a text is like nothing. `language`: Snowball's name."""
        read = [words(one.text) for one in texts]
        stems = {word: stem(word, language) for word in {word for said in read for word in said}}
        owners = np.array([one.label for one in texts], dtype=np.int64)
        weights = np.array([one.weight for one in texts], dtype=np.float32)
        places: dict[str, int] = {}
        rows, columns = [], []
        for number, said in enumerate(read):
            for term in terms([stems[word] for word in said[:LONGEST]]):
                rows.append(number)
                columns.append(places.setdefault(term, len(places)))
        width = max(1, len(places))
        pairs, counts = np.unique(
            np.array(rows, dtype=np.int64) * width + np.array(columns, dtype=np.int64), return_counts=True
        )
        row, column = np.divmod(pairs, width)
        rarity = np.log((1 + len(texts)) / (1 + np.bincount(column, minlength=width))) + 1
        values = (1 + np.log(counts)) * rarity[column]
        norms = np.sqrt(np.bincount(row, weights=values**2, minlength=len(texts)))
        values = values / norms[row] * weights[row]
        summed, where = np.unique(column * size + owners[row], return_inverse=True)
        values = np.bincount(where, weights=values, minlength=len(summed))
        term_of, label = np.divmod(summed, size)
        lengths = np.sqrt(np.bincount(label, weights=values**2, minlength=size))
        means = None
        if vectors is not None:
            added = np.zeros((size, vectors.dims), dtype=np.float32)
            np.add.at(added, owners, vectors.texts(read) * weights[:, None])
            means = of_length_one(added)
        return cls(
            size=size,
            language=language,
            places=places,
            rarity=rarity.astype(np.float32),
            starts=np.searchsorted(term_of, np.arange(width + 1)),
            labels=label,
            values=(values / np.maximum(lengths[label], 1e-9)).astype(np.float32),
            vectors=vectors,
            means=means,
        )

    def likeness(self, text: str) -> tuple[Floats, Floats]:
        """How like a text each label is, by words and by meaning, from 0 to 1; zeros where no word is known."""
        said = words(text)[:LONGEST]
        by_words, norm = np.zeros(self.size, dtype=np.float32), 0.0
        counted: dict[str, int] = {}
        for term in terms([stem(word, self.language) for word in said]):
            counted[term] = counted.get(term, 0) + 1
        for term, count in counted.items():
            place = self.places.get(term)
            if place is None:
                # A word that nobody used here makes the text less like all of this; most pairs of words are new.
                norm += 0.0 if " " in term else self.strange
                continue
            weight = (1 + np.log(count)) * float(self.rarity[place])
            norm += weight * weight
            start, end = self.starts[place], self.starts[place + 1]
            by_words[self.labels[start:end]] += weight * self.values[start:end]
        by_words /= max(norm, 1e-9) ** 0.5
        if self.vectors is None or self.means is None:
            return by_words, np.zeros(self.size, dtype=np.float32)
        asked = self.vectors.texts([said])[0]
        return by_words, np.asarray(np.einsum("ij,j->i", self.means, asked), dtype=np.float32)
