"""Linear heads: weights learnt from labelled texts, over the words, parts of words and ideas that `word_features` sees.

One file holds the heads of one purpose: a line of JSON, then little-endian 16-bit numbers, head by head. Plain Python, so
that nothing has to be loaded to weigh a sentence.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import ConfigurationError
from engine.language.word_features import WordFeatures

FORMAT = 2


class Head(BaseModel):
    """One linear model over the shared features: what its sum must reach, and how its weights are written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    bias: float
    scale: float = Field(gt=0)
    threshold: float


class Description(BaseModel):
    """The first line of a weights file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=FORMAT, le=FORMAT)
    bits: int = Field(ge=8, le=20)
    heads: tuple[Head, ...]
    alone: float = Field(ge=0)  # by how much a single sentence must score higher than a whole text
    # By how much the first head must pass its threshold before somebody is asked, and before that is certain.
    surer: float = Field(default=0.0, ge=0)
    certain: float = Field(default=1e9, ge=0)
    data: str  # hash of the data it was trained on
    concepts: dict[str, str]  # words by idea, `*` marks a beginning


@dataclass(frozen=True)
class LinearHeads:
    """The heads of one weights file."""

    description: Description
    weights: Mapping[str, array[int]]
    features: WordFeatures

    @classmethod
    def load(cls, path: Path, names: Sequence[str], *, trained_by: str) -> LinearHeads:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        remedy = f"Run `python -m {trained_by}`, or take the file from the release."
        try:
            return cls.parse(path.read_bytes(), names)
        except OSError as cause:
            reason = f"The weights cannot be read ({cause.strerror})."
            raise ConfigurationError(reason, file=path, remedy=remedy) from cause
        except ValueError as cause:
            reason = "These are no weights of this version, or not all of them."
            raise ConfigurationError(reason, file=path, remedy=remedy) from cause

    @classmethod
    def parse(cls, content: bytes, names: Sequence[str]) -> LinearHeads:
        """Read the content of a weights file with these heads; raises ValueError where it is not whole."""
        first, _, rest = content.partition(b"\n")
        description = Description.model_validate_json(first)
        size = 2 << description.bits
        if [head.name for head in description.heads] != list(names) or len(rest) != size * len(names):
            raise ValueError("the weights are incomplete")
        weights = {}
        for number, name in enumerate(names):
            table = array("h", rest[number * size : (number + 1) * size])
            if sys.byteorder == "big":
                table.byteswap()
            weights[name] = table
        return cls(description, weights, WordFeatures(description.concepts, description.bits))

    def threshold(self, name: str) -> float:
        """What a head's sum must reach, or by how much it must lead."""
        return next(head.threshold for head in self.description.heads if head.name == name)

    def sums(
        self, said: Sequence[str], names: Sequence[str], before: tuple[float, tuple[int, ...]] | None = None
    ) -> dict[str, float]:
        """The sums of some heads over the words of a text and, as one more block, what was said before it."""
        blocks = [(factor, tuple(places)) for factor, places in self.features.blocks(said)]
        if before is not None:
            blocks.append(before)
        found = {}
        for head in self.description.heads:
            if head.name in names:
                table = self.weights[head.name]
                total = sum(factor * sum(map(table.__getitem__, places)) for factor, places in blocks)
                found[head.name] = head.bias + total * head.scale
        return found
