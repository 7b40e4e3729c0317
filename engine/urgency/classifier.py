"""The second urgency layer: a linear model over words, parts of words and ideas, in plain Python.

It is independent of the rules: it knows no phrases and no guards, only weights learnt from labelled messages
(`python -m evaluation.urgency_training`). A message is read as a whole and sentence by sentence, and the
most alarming reading counts, so that danger in the middle of ordinary text is not averaged away.
"""

from __future__ import annotations

import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import ConfigurationError
from engine.memo import once_a_turn
from engine.text import sentences
from engine.types import LayerResult, Message, Role, UrgencyLevel
from engine.urgency.normalise import plain

_WORD = re.compile(r"[^\W_]+|\?|[^\w\s!-/:-@\[-`{-~]")
_STRETCHED = re.compile(r"(.)\1+")
_UNLEET = str.maketrans("013457@$", "oieastas")
_LENGTH = 4000  # characters of a message that are read
_SENTENCES = 40  # that are read one by one
_SHORT = 5  # words; a shorter message is read together with what was said before it
_EARLIER = 2  # of the person's messages
_NEAR = 6  # words between two ideas that are seen together
_CONCEPTS = 4  # ideas that one word may carry
_REMEDY = "Run `python -m evaluation.urgency_training`, or take the file from the release."


class Head(BaseModel):
    """The first line of the weights file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=1, le=1)
    bits: int = Field(ge=8, le=20)
    scale: float = Field(gt=0)
    bias: float
    concern: float
    urgent: float
    alone: float = Field(ge=0)  # by how much a single sentence must be more alarming than a whole message
    data: str  # hash of the data it was trained on
    concepts: dict[str, str]  # words by idea, `*` marks a beginning


def words(text: str) -> list[str]:
    """The words of a text, whatever their case, accents, apostrophes, repeated letters or digits for letters."""
    return [_spelt(word) for word in _WORD.findall(plain(text))]


@once_a_turn
def _spelt(word: str) -> str:
    if word.isdigit():
        return "0"
    if not word.isalpha() and word[0].isalpha() and word[-1].isalpha():
        word = word.translate(_UNLEET)
    return _STRETCHED.sub(r"\1", word)


class Features:
    """What the model sees of a text: weighted places in its table of weights."""

    def __init__(self, concepts: Mapping[str, str], bits: int) -> None:
        self._mask = (1 << bits) - 1
        self._exact: dict[str, list[str]] = {}
        self._beginnings: dict[str, list[str]] = {}
        for name, entries in concepts.items():
            for entry in entries.split():
                spelt = "_".join(words(entry.rstrip("*").replace("_", " ")))
                (self._beginnings if entry.endswith("*") else self._exact).setdefault(spelt, []).append(name)
        self.ideas = once_a_turn(self._ideas)
        self.parts = once_a_turn(self._parts)

    def place(self, feature: str) -> int:
        """Where the weight of a feature stands."""
        return zlib.crc32(feature.encode()) & self._mask

    def blocks(self, said: Sequence[str]) -> Iterator[tuple[float, Iterable[int]]]:
        """The places of each kind of feature, with the weight that makes long and short texts comparable."""
        for places in (self._phrases(said), self._letters(said), *self._themes(said)):
            if places:
                yield len(places) ** -0.5, places

    def _phrases(self, said: Sequence[str]) -> set[int]:
        row = ["^", *said, "$"]
        found = set(said)
        found.update(map(" ".join, pairwise(row)))
        found.update(map(" ".join, zip(row, row[1:], row[2:], strict=False)))
        found.update(f"{first} _ {last}" for first, last in zip(row, row[2:], strict=False))
        return set(map(self.place, found))

    def _letters(self, said: Sequence[str]) -> list[int]:
        return [place for word in dict.fromkeys(said) for place in self.parts(word)]

    def _parts(self, word: str) -> tuple[int, ...]:
        edged = f"<{word}>"
        grams = {edged[at : at + size] for size in (3, 4, 5) for at in range(len(edged) - size + 1)}
        return tuple(self.place(f"#{gram}") for gram in sorted(grams))

    def _themes(self, said: Sequence[str]) -> tuple[set[int], set[int]]:
        ideas = [self.ideas(word) for word in said]
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


def is_short(message: str) -> bool:
    """Whether a message says so little that what was said before it counts too."""
    return len(message) < _LENGTH and len(words(message)) < _SHORT


def readings(message: str) -> list[list[str]]:
    """The words of the whole message, then of each of its sentences if there are several."""
    text = message[:_LENGTH]
    parts = [words(one) for one in islice(sentences(text), _SENTENCES)]
    parts = [said for said in parts if said]
    return [words(text), *(parts if len(parts) > 1 else ())]


@dataclass(frozen=True)
class UrgencyClassifier:
    """A fast layer. Scores are compared with two thresholds and then forgotten: nobody is graded."""

    head: Head
    weights: array[int]
    features: Features
    name: str = "classifier"

    @classmethod
    def load(cls, path: Path) -> UrgencyClassifier:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        try:
            return cls.parse(path.read_bytes())
        except OSError as cause:
            reason = f"The weights of the urgency classifier cannot be read ({cause.strerror})."
            raise ConfigurationError(reason, file=path, remedy=_REMEDY) from cause
        except ValueError as cause:
            reason = "These are no weights of the urgency classifier, or not all of them."
            raise ConfigurationError(reason, file=path, remedy=_REMEDY) from cause

    @classmethod
    def parse(cls, content: bytes) -> UrgencyClassifier:
        """Read the content of a weights file: a line of JSON, then little-endian 16-bit numbers."""
        first, _, rest = content.partition(b"\n")
        head = Head.model_validate_json(first)
        if len(rest) != 2 << head.bits:
            raise ValueError("the weights are incomplete")
        weights = array("h", rest)
        if sys.byteorder == "big":
            weights.byteswap()
        return cls(head=head, weights=weights, features=Features(head.concepts, head.bits))

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """The level of a message; one of very few words is read together with what was said before it."""
        score = self.score(message)
        if is_short(message):
            said = [one.content for one in earlier if one.role is Role.USER][-_EARLIER:]
            score = max([score, *(self.score(f"{one}\n{message}") for one in said)])
        level = UrgencyLevel.NONE
        if score >= self.head.concern:
            level = UrgencyLevel.URGENT if score >= self.head.urgent else UrgencyLevel.CONCERN
        return LayerResult(layer=self.name, level=level, unsure=level is UrgencyLevel.CONCERN)

    def score(self, message: str) -> float:
        """How alarming the most alarming reading of a message is; no grade of a person."""
        whole, *parts = (self._sum(said) for said in readings(message))
        return max([whole, *(score - self.head.alone for score in parts)])

    def _sum(self, said: Sequence[str]) -> float:
        table = self.weights
        total = sum(factor * sum(table[place] for place in places) for factor, places in self.features.blocks(said))
        return self.head.bias + total * self.head.scale
