"""What somebody tells who asks nothing: which situation a kind sentence would take up first.

Learnt from natural remarks that readers gave to a situation (`python -m evaluation.situation_fit`), and named only where it is
likely enough: a sentence that fits whatever was told is better than one for something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import RootModel

from engine.files import read_yaml
from engine.language.encoder import TextEncoder
from engine.language.meaning_heads import meanings, weights_in
from engine.settings import Strict
from engine.types import Message
from engine.urgency.classifier import said_before


class Mood(StrEnum):
    """Whom the sentences of a situation would sting: somebody who is sad, or somebody cheerful."""

    LIGHT = "light"
    HEAVY = "heavy"
    NEUTRAL = "neutral"


class Situation(Strict):
    """What somebody may tell. `about`: what belongs to it and what does not, for whoever sorts remarks; `after`: it is named only
    after a danger that is being dealt with, as its sentences would talk past one that is not."""

    mood: Mood
    about: str
    after: bool = False


class Situations(RootModel[dict[str, Situation]]):
    """All of them by name, in the order of the weights: `config/situations.yaml`."""


LIKELY = 0.3
"""From this likelihood on a situation is named. Of 300 natural remarks that two readers rated one is for 107: its sentence fits
80 of these and is odd for 13; "Thank you for telling me" fitted 1 and was odd for 5 (`python -m evaluation.situation_fit
--measure`). From 0.24 on one would be named for half as many again, and its sentence be odd for one in seven."""
AGAINST = 0.2
"""So much likelier it must be where another reading of how a message weighs speaks against its mood."""


@dataclass(frozen=True)
class SituationReading:
    """Weighs a remark against each situation; nothing of it is kept.

    `weights`: a row each and a last one for none of them: what each number of the two meanings counts, and a constant.
    """

    situations: Mapping[str, Situation]
    encoder: TextEncoder
    weights: NDArray[np.float32] = field(repr=False)

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> Self:
        """Read the two files of a path without an ending; raises ConfigurationError naming what is missing or broken."""
        situations = cls.described(path)
        shape = (len(situations) + 1, 2 * encoder.description.dims + 1)
        weights = weights_in(path.with_suffix(".npy"), shape, trained_by="evaluation.situation_fit")
        return cls(situations, encoder, weights)

    @staticmethod
    def described(path: Path) -> dict[str, Situation]:
        """The situations by name, in the order of the weights; raises ConfigurationError."""
        return read_yaml(path.with_suffix(".yaml"), Situations).root

    def likelihoods(self, message: str, earlier: Sequence[Message]) -> NDArray[np.float32]:
        """How likely each situation is, in order, and last that it is none of them; together 1."""
        meant = meanings(self.encoder, message, said_before(earlier)[-1:])
        sums = self.weights[:, :-1] @ meant + self.weights[:, -1]
        shares = np.exp(sums - sums.max())
        return np.asarray(shares / shares.sum(), dtype=np.float32)

    def of(
        self, message: str, earlier: Sequence[Message], *, heavy: bool | None = None, settled: bool = False
    ) -> str | None:
        """The likeliest situation if it is likely enough; `heavy`: whether another reading finds that the message plainly weighs,
        None for no such reading; `settled`: whether it says that a danger is being dealt with, which is nothing to smile at."""
        likely = self.likelihoods(message, earlier)
        first = int(likely[:-1].argmax())
        name = tuple(self.situations)[first]
        situation = self.situations[name]
        against = heavy is not None and situation.mood is (Mood.LIGHT if heavy else Mood.HEAVY)
        fits = situation.mood is not Mood.LIGHT if settled else not situation.after
        return name if fits and likely[first] >= LIKELY + (AGAINST if against else 0.0) else None
