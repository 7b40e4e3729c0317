"""What linear models see of a text: weighted places in a table of weights, for words, letters and ideas."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise

from engine.language.letters import undisguised_words

_NEAR = 6  # words between two ideas that are seen together
_CONCEPTS = 4  # ideas that one word may carry


class WordFeatures:
    """The features of texts in a table of `2 ** bits` places; `concepts` are words by idea, `*` marks a beginning.

    Nothing of a text is kept.
    """

    def __init__(self, concepts: Mapping[str, str], bits: int) -> None:
        self._mask = (1 << bits) - 1
        self._exact: dict[str, list[str]] = {}
        self._beginnings: dict[str, list[str]] = {}
        for name, entries in concepts.items():
            for entry in entries.split():
                spelt = "_".join(undisguised_words(entry.rstrip("*").replace("_", " ")))
                (self._beginnings if entry.endswith("*") else self._exact).setdefault(spelt, []).append(name)

    def place(self, feature: str) -> int:
        """Where the weight of a feature stands."""
        return zlib.crc32(feature.encode()) & self._mask

    def blocks(self, said: Sequence[str]) -> Iterator[tuple[float, Iterable[int]]]:
        """The places of each kind of feature, with the weight that makes long and short texts comparable."""
        for places in (self._phrases(said), self._letters(said), *self._themes(said)):
            if places:
                yield len(places) ** -0.5, places

    def before(self, said: Sequence[str]) -> tuple[float, tuple[int, ...]] | None:
        """The places of what the person wrote before this, which count apart from the message; None for nothing."""
        row = ["^", *said]
        places = tuple({self.place(f"<{one}") for one in (*said, *map(" ".join, pairwise(row)))})
        return (len(places) ** -0.5, places) if said else None

    def _phrases(self, said: Sequence[str]) -> set[int]:
        row = ["^", *said, "$"]
        found = set(said)
        found.update(map(" ".join, pairwise(row)))
        found.update(map(" ".join, zip(row, row[1:], row[2:], strict=False)))
        found.update(f"{first} _ {last}" for first, last in zip(row, row[2:], strict=False))
        return set(map(self.place, found))

    def _letters(self, said: Sequence[str]) -> list[int]:
        return [place for word in dict.fromkeys(said) for place in self._parts(word)]

    def _parts(self, word: str) -> Iterator[int]:
        edged = f"<{word}>"
        grams = {edged[at : at + size] for size in (3, 4, 5) for at in range(len(edged) - size + 1)}
        return (self.place(f"#{gram}") for gram in grams)

    def _themes(self, said: Sequence[str]) -> tuple[set[int], set[int]]:
        carried = {word: self._ideas(word) for word in said}
        ideas = [carried[word] for word in said]
        for at, pair in enumerate(pairwise(said)):
            more = self._exact.get("_".join(pair))
            if more:
                ideas[at] = (*ideas[at], *more)
        known = [(at, one) for at, some in enumerate(ideas) for one in some]
        pairs = set()
        for place, (at, first) in enumerate(known):
            for later, second in islice(known, place + 1, None):
                if later - at > _NEAR:
                    break
                if first != second and later > at:
                    pairs.add(f"{first}>{second}")
        return {self.place(f"={one}") for _, one in known}, set(map(self.place, pairs))

    def _ideas(self, word: str) -> tuple[str, ...]:
        found = list(self._exact.get(word, ()))
        for size in range(3, len(word) + 1):
            found += self._beginnings.get(word[:size], ())
        return tuple(dict.fromkeys(found))[:_CONCEPTS]
