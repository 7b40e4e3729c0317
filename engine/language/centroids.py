"""Texts by label: which label's texts a new one is most like, by words and by meaning (Rocchio, 1971; nearest neighbours).

A label is what all its texts have in common: their words and pairs of words weighed by how telling they are (tf-idf), and
the mean of their vectors where there are vectors; and it is its single texts, of which the nearest count. Nothing is
fitted, so that a text more is learnt by adding it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log

import numpy as np
from numpy.typing import NDArray

from engine.language.encoder import TextEncoder
from engine.language.text import stem, words
from engine.language.vectors import Floats, Numbers, UnitRows, numbered, of_length_one, places_in
from engine.memo import outside_turns

LONGEST = 300
"""Words of a text that are read."""


NEAREST = 3
"""So many of a label's texts that are most like a new one count."""
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


def pieces(word: str) -> list[str]:
    """The pieces of a word, its ends marked; a short one is a piece by itself."""
    marked = f"<{word}>"
    return [marked[at : at + PIECE] for at in range(max(1, len(marked) - PIECE + 1))]


MANY = 1000
"""From so many texts on two neighbouring words that stand so only once are left out: most do, and they find nothing more."""
SMALL = 1 << 16
"""With fewer single terms a pair of them is a number of four bytes."""
SHARES = (np.arange(256, dtype=np.float32) / 255) ** 2
"""What a byte stands for, from 0 to 1: the lower, the finer."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms by number, and how telling each is.

    `hashes`: of the single terms, ascending, and `places`, the number of each, behind them -1 for what is none: texts would
    take ten times the room.
    `pairs`: neighbours, as the first's number times that of single terms and the second's; sorted, and numbered on from the
    single ones.
    """

    hashes: Numbers = field(repr=False)
    places: Numbers = field(repr=False)
    pairs: NDArray[np.uint32] | Numbers = field(repr=False)
    rarity: Floats = field(repr=False)

    @classmethod
    def of(cls, hashes: Numbers, pairs: Numbers, rarity: Floats) -> Terms:
        """Single terms by the hash of each; their numbers are 0 and on in this order."""
        order = np.argsort(hashes)
        return cls(
            hashes=hashes[order],
            places=np.append(order, -1).astype(np.int32),
            pairs=pairs.astype(np.uint32) if len(hashes) < SMALL else pairs,
            rarity=rarity,
        )

    @cached_property
    def strange(self) -> float:
        """What an unknown term adds to the square of a text's length: as much as the rarest known one."""
        return float(self.rarity.max(initial=1.0)) ** 2

    def numbers(self, said: Sequence[str]) -> Numbers:
        """The number of each term, -1 for one that is not known."""
        asked = np.fromiter(map(hash, said), dtype=np.int64, count=len(said))
        return self.places[places_in(self.hashes, asked)].astype(np.int64)

    def paired(self, numbers: Numbers) -> Numbers:
        """The numbers of the pairs of neighbours that are known, in order; `numbers`: those of single terms."""
        near = (numbers[:-1] >= 0) & (numbers[1:] >= 0)
        asked = (numbers[:-1] * len(self.hashes) + numbers[1:])[near]
        at = places_in(self.pairs, asked.astype(self.pairs.dtype))
        return np.asarray(len(self.hashes) + at[at >= 0])


@dataclass(frozen=True, kw_only=True)
class CountedTerms:
    """Which terms stand in which texts: by term and then by text, and what each counts in its text."""

    terms: Terms
    column: Numbers
    row: Numbers
    values: Floats

    @classmethod
    def of(
        cls, hashes: Numbers, columns: Numbers, rows: Numbers, count: int, *, in_pairs: bool = False
    ) -> CountedTerms:
        """Terms by number, text after text, and the text of each, of `count` texts. `in_pairs`: neighbours count, too."""
        known = len(hashes)
        pairs = np.zeros(0, dtype=np.int64)
        if in_pairs:
            near = rows[1:] == rows[:-1]
            both = columns[:-1][near] * known + columns[1:][near]
            pairs, paired, often = np.unique(both, return_inverse=True, return_counts=True)
            again = often > (1 if count >= MANY else 0)
            kept = again[paired]
            pairs, paired = pairs[again], (np.cumsum(again) - 1)[paired[kept]]
            columns, rows = np.concatenate((columns, known + paired)), np.concatenate((rows, rows[1:][near][kept]))
        found, counts = np.unique(columns * count + rows, return_counts=True)
        column, row = np.divmod(found, max(1, count))
        rarity = np.log((1 + count) / (1 + np.bincount(column, minlength=max(1, known + len(pairs))))) + 1
        values = (1 + np.log(counts)) * rarity[column]
        norms = np.sqrt(np.bincount(row, weights=values**2, minlength=count))
        terms = Terms.of(hashes, pairs, rarity.astype(np.float32))
        return cls(terms=terms, column=column, row=row, values=values / norms[row])


@dataclass(frozen=True, kw_only=True)
class TermCentroids:
    """One centroid a label over terms.

    `starts`: where each term's labels begin in `labels` and `values`, the last one their end; a value stands for one of `SHARES`.
    """

    size: int
    terms: Terms
    starts: Numbers = field(repr=False)
    labels: Numbers = field(repr=False)
    values: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def build(cls, counted: CountedTerms, owners: Numbers, weights: Floats, size: int) -> TermCentroids:
        """`owners`: the label of each text, ascending; `weights`: how much it counts."""
        column, values = counted.column, counted.values * weights[counted.row]
        # By term and then by text, and so by label: what belongs together stands together.
        label = owners[counted.row]
        first = np.ones(len(column), dtype=bool)
        first[1:] = (column[1:] != column[:-1]) | (label[1:] != label[:-1])
        sums = np.bincount(np.cumsum(first) - 1, weights=values)
        column, label = column[first], label[first]
        lengths = np.sqrt(np.bincount(label, weights=sums**2, minlength=size))
        shares = sums / np.maximum(lengths[label], 1e-9)
        return cls(
            size=size,
            terms=counted.terms,
            starts=np.searchsorted(column, np.arange(len(counted.terms.rarity) + 1)).astype(np.int32),
            labels=label.astype(np.int16 if size < 1 << 15 else np.int32),
            values=np.rint(255 * np.sqrt(shares)).astype(np.uint8),  # a quarter of the room, and as good
        )

    def likeness(self, said: Sequence[str], strange: float) -> Floats:
        """How like terms and their neighbours each label is, from 0 to 1.

        `strange`: how much of an unknown term counts as unknown, from 0 to 1; nothing of an unknown pair does.
        """
        found, terms = np.zeros(self.size, dtype=np.float32), self.terms
        numbers = terms.numbers(said)
        single = numbers[numbers >= 0].tolist()
        norm = (len(set(said)) - len(set(single))) * terms.strange * strange
        for place, count in Counter((*single, *terms.paired(numbers).tolist())).items():
            weight = (1 + log(count)) * float(terms.rarity[place])
            norm += weight * weight
            start, end = self.starts[place], self.starts[place + 1]
            found[self.labels[start:end]] += weight * SHARES[self.values[start:end]]
        return np.asarray(found / max(norm, 1e-9) ** 0.5, dtype=np.float32)

    def covered(self, said: Iterable[str]) -> Floats:
        """How much of what terms tell each label's texts have at all, from 0 to 1: one telling word that is missing says
        more than many common ones that are there."""
        found, whole = np.zeros(self.size, dtype=np.float32), 0.0
        for place in self.terms.numbers(list(dict.fromkeys(said))).tolist():
            telling = self.terms.strange**0.5 if place < 0 else float(self.terms.rarity[place])
            whole += telling
            if place >= 0:
                found[self.labels[self.starts[place] : self.starts[place + 1]]] += telling
        return np.asarray(found / max(whole, 1e-9), dtype=np.float32)


def _counted(texts: Sequence[LabelledText], language: str) -> tuple[CountedTerms, CountedTerms]:
    """The terms of texts: stems with their neighbours, and the pieces of words.

    Few strings live at a time: the room of many small ones is not handed back where one lasting object stands among them.
    """
    lengths: list[int] = []
    known, said = numbered(_read(texts, lengths))  # each word is looked up once, however often it stands there
    rows = np.repeat(np.arange(len(lengths)), lengths)
    stems, stem_of = numbered(stem(word, language) for word in known)
    stemmed = np.fromiter(map(hash, stems), dtype=np.int64, count=len(stems))
    cut: list[int] = []
    parts, part_of = np.unique(np.fromiter(_cut(known, cut), dtype=np.int64), return_inverse=True)
    many = np.array(cut, dtype=np.int64)
    by_words = CountedTerms.of(stemmed, stem_of[said], rows, len(texts), in_pairs=True)
    # Of each word that was said the places of its pieces, which stand side by side.
    ends, taken = np.cumsum(many), many[said]
    places = np.arange(taken.sum()) + np.repeat(ends[said] - np.cumsum(taken), taken)
    return by_words, CountedTerms.of(parts, part_of[places], np.repeat(rows, taken), len(texts))


def _read(texts: Iterable[LabelledText], lengths: list[int]) -> Iterator[str]:
    """The words of texts, one after the other; how many each has is noted."""
    for one in texts:
        said = words(one.text)[:LONGEST]
        lengths.append(len(said))
        yield from said


def _cut(known: Iterable[str], lengths: list[int]) -> Iterator[int]:
    """The hashes of the pieces of words, one word after the other; how many each has is noted."""
    for word in known:
        cut = pieces(word)
        lengths.append(len(cut))
        yield from map(hash, cut)


@dataclass(frozen=True, kw_only=True)
class Centroids:
    """Labels by words, by the pieces that words share, by single texts and, with an encoder, by what they mean.

    `texts`: every text as a label of its own, in the order of `text_labels`. `kin`: what the texts of a label mean in the mean, a
    row each; `meant`: what each text means.
    """

    language: str
    words: TermCentroids
    pieces: TermCentroids
    encoder: TextEncoder | None
    kin: Floats
    meant: UnitRows
    texts: TermCentroids
    text_labels: Numbers

    @classmethod
    def build(
        cls,
        texts: Sequence[LabelledText],
        size: int,
        encoder: TextEncoder | None = None,
        language: str = "english",
    ) -> Centroids:
        """What `size` labels have in common; a label without a text is like nothing. `language`: Snowball's name."""
        texts = sorted(texts, key=lambda one: one.label)
        owners = np.array([one.label for one in texts], dtype=np.int64)
        weights = np.array([one.weight for one in texts], dtype=np.float32)
        with outside_turns():
            meant = UnitRows.none() if encoder is None else encoder.meanings([one.text for one in texts])
            by_words, by_pieces = _counted(texts, language)
        kin = np.zeros((size, meant.whole.shape[1]), dtype=np.float32)
        for some, meanings in meant.blocks():
            np.add.at(kin, owners[some], meanings * weights[some, None])
        each, alike = np.arange(len(texts)), np.ones(len(texts), dtype=np.float32)
        return cls(
            language=language,
            words=TermCentroids.build(by_words, owners, weights, size),
            pieces=TermCentroids.build(by_pieces, owners, weights, size),
            encoder=encoder,
            kin=of_length_one(kin),
            meant=meant,
            texts=TermCentroids.build(by_words, each, alike, len(texts)),
            text_labels=owners.astype(np.int32),
        )

    def likeness(self, text: str) -> Floats:
        """How like a text each label is by words, from 0 to 1; zeros where no word is known."""
        # A word that nobody used here makes the text less like all of this; most pairs of words are new.
        return self.words.likeness(self._stems(text), 1.0)

    def kindred(self, text: str, before: str = "") -> Floats:
        """How like what a text means, after what was said before it, each label is in the mean; zeros without an encoder."""
        if self.encoder is None:
            return self._nothing()
        return _alike(self.kin, _meaning(self.encoder, text, before))

    def meant_nearest(self, text: str, before: str = "") -> Floats:
        """How like what a text means the nearest texts of each label are; zeros without an encoder."""
        if self.encoder is None:
            return self._nothing()
        return self._best(self.meant.like(_meaning(self.encoder, text, before)))

    def in_pieces(self, text: str) -> Floats:
        """How like a text each label is by pieces of words: misspelt ones, other endings, parts of compounds."""
        return self.pieces.likeness([piece for word in words(text)[:LONGEST] for piece in pieces(word)], PART_STRANGE)

    def nearest(self, text: str) -> Floats:
        """How like a text the nearest texts of each label are by words, in the mean of the best ones, from 0 to 1."""
        return self._best(self.texts.likeness(self._stems(text), 1.0))

    def _best(self, alike: Floats) -> Floats:
        """The mean of each label's best texts."""
        found = self._nothing()
        if not len(self.text_labels):
            return found
        labels, begin, place = self._grouped
        for _ in range(NEAREST):
            best = np.maximum.reduceat(alike, begin)
            found[labels] += np.maximum(best, 0.0)
            alike[alike == best[place]] = 0.0
        return np.asarray(found / NEAREST, dtype=np.float32)

    @cached_property
    def _grouped(self) -> tuple[Numbers, Numbers, Numbers]:
        """The labels that have texts, where the texts of each begin, and of each text the place of its label among them."""
        labels, begin, place = np.unique(self.text_labels, return_index=True, return_inverse=True)
        return labels, begin, place

    def covered(self, text: str) -> Floats:
        """How much of what a text's words tell each label has at all, from 0 to 1."""
        return self.words.covered(self._stems(text))

    def _stems(self, text: str) -> list[str]:
        return [stem(word, self.language) for word in words(text)[:LONGEST]]

    def _nothing(self) -> Floats:
        return np.zeros(self.words.size, dtype=np.float32)


def _alike(rows: Floats, one: Floats) -> Floats:
    """How like each row is; not by `@`, whose threads a process that was forked waits for in vain."""
    return np.asarray(np.einsum("ij,j->i", rows, one), dtype=np.float32)


def _meaning(encoder: TextEncoder, text: str, before: str) -> Floats:
    return encoder.read(text, (before,) if before else ()).meaning
