"""Linear heads over words and over what the encoder says a message means, alone and after what was said before it.

Two files a purpose, in one folder: `NAME.bin`, the heads by words, and `NAME.npy`, what each number of the two meanings counts
for each head. They go with one encoder, and are learnt anew with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from engine.exceptions import ConfigurationError
from engine.language.encoder import TextEncoder
from engine.language.letters import undisguised_words
from engine.language.word_heads import LinearHeads

Floats = NDArray[np.float32]
_LENGTH = 4000  # characters of a message that are read


@dataclass(frozen=True)
class MeaningHeads:
    """The heads of one purpose. `meaning`: of shape (heads, 2 x the encoder's numbers)."""

    words: LinearHeads
    encoder: TextEncoder
    meaning: Floats = field(repr=False)

    @classmethod
    def load(cls, path: Path, names: Sequence[str], encoder: TextEncoder, *, trained_by: str) -> MeaningHeads:
        """Read the two files of a path without an ending; raises ConfigurationError naming what is missing or broken."""
        heads = LinearHeads.load(path.with_suffix(".bin"), names, trained_by=trained_by)
        shape = (len(names), 2 * encoder.description.dims)
        return cls(heads, encoder, weights_in(path.with_suffix(".npy"), shape, trained_by=trained_by))

    def sums(self, message: str, before: Sequence[str] = ()) -> dict[str, float]:
        """The sum of each head; `before`: what the person said just before."""
        names = [head.name for head in self.words.description.heads]
        by_words = self.words.sums(undisguised_words(message[:_LENGTH]), names)
        meant = self.meaning @ meanings(self.encoder, message, before)
        return {name: by_words[name] + float(of) for name, of in zip(names, meant, strict=True)}

    def leading(self, message: str, before: Sequence[str] = ()) -> LeadingHead:
        """The head with the highest sum, and how far it is ahead of the next."""
        sums = self.sums(message, before)
        first, second = sorted(sums, key=sums.__getitem__, reverse=True)[:2]
        return LeadingHead(first, sums[first], sums[first] - sums[second])

    def threshold(self, name: str) -> float:
        """What a head's sum must reach, or by how much it must lead."""
        return self.words.threshold(name)


class LeadingHead(NamedTuple):
    """A head, its sum, and how far that is ahead of the next one's."""

    name: str
    sum: float
    lead: float


@dataclass(frozen=True)
class MeaningReading:
    """What is read off a message by the heads of one purpose; nothing of it is kept."""

    names: ClassVar[tuple[str, ...]]
    trained_by: ClassVar[str]
    heads: MeaningHeads

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> Self:
        """Read its weights; raises ConfigurationError naming what is missing or broken."""
        return cls(MeaningHeads.load(path, cls.names, encoder, trained_by=cls.trained_by))


def weights_in(file: Path, shape: tuple[int, int], *, trained_by: str) -> Floats:
    """Weights of one shape; raises ConfigurationError naming the file where it is missing, broken or for another encoder."""
    try:
        weights: Floats = np.load(file)
        if weights.shape != shape:
            raise ValueError("these are weights for another encoder")
    except (OSError, ValueError) as cause:
        reason = "The weights cannot be read, or are not of this version."
        remedy = f"Run `python -m {trained_by}`, or take the file from the release."
        raise ConfigurationError(reason, file=file, remedy=remedy) from cause
    return weights


def meanings(encoder: TextEncoder, message: str, before: Sequence[str] = ()) -> Floats:
    """What a message means, alone and after what was said before it."""
    return np.concatenate([encoder.read(message).meaning, encoder.read(message, before).meaning])


def wholes(encoder: TextEncoder, message: str, before: Sequence[str] = ()) -> Floats:
    """All that the encoder makes of a message, alone and after what was said before it."""
    return np.concatenate([encoder.read(message).whole, encoder.read(message, before).whole])
