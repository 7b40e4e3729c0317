"""What somebody tells who asks nothing: which situation's sentence would answer it best.

How likely each situation is was learnt from natural remarks that readers sorted and from what authors wrote for each (`python -m
evaluation.situation_fit`); where a sentence would do for others, too, readers said. What is unsure is answered by a sentence that
fits all that it may be, and by one that fits whatever was told where there is none.
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
from engine.language.meaning_heads import weights_in, wholes
from engine.settings import Strict
from engine.types import Message
from engine.urgency.classifier import said_before


class Mood(StrEnum):
    """Whom the sentences of a situation would sting: somebody who is sad, or somebody cheerful."""

    LIGHT = "light"
    HEAVY = "heavy"
    NEUTRAL = "neutral"


class Situation(Strict):
    """What somebody may tell, or, `wide`, sentences that fit several such things and that nobody sorts a remark by.

    `about`: what belongs to it and what does not, for whoever sorts remarks; `ask`: which question may follow its sentences, none
    where one would be out of place; `after`: it is named only after a danger that is being dealt with, as its sentences would
    talk past one that is not.
    """

    mood: Mood
    about: str = ""
    ask: str = ""
    after: bool = False
    wide: bool = False


class Situations(RootModel[dict[str, Situation]]):
    """All of them by name, in the order of the weights: `config/situations.yaml`."""


HIDDEN = 256
"""The numbers of the hidden layer."""
WORTH = -0.3
"""From this worth on a sentence is said in place of one that fits whatever was told: of 265 natural remarks so answered
two readers each found 209 answered fittingly and 18 oddly (`python -m evaluation.situation_fit --measure`)."""
OF_ANY = {True: "yourself_with_it", False: "you_yourself"}
"""What is asked where a remark fits no situation, by whether it plainly weighs: of 33 such remarks one reader found 12 answered
usefully with the first of these and none with "What else would you like to share?", another 4 with "How are you today?" and 1
with "What would be useful to you?" (`python -m evaluation.readings evaluation/data/readings/remark_questions.jsonl`)."""
IN_PEACE = 0.2
"""From this likelihood of all situations without a question on such a remark is asked nothing, one in sixteen of them
(`python -m evaluation.situation_fit --measure`)."""
LIGHTLY, AGAINST = 0.4, 0.2
"""So much more it must be worth where its mood is light, as most of what was odd was a smile at what is sad; and where another
reading of how a message weighs speaks against its mood."""


@dataclass(frozen=True)
class SituationReading:
    """Weighs a remark against each situation, and whose sentence would do best; nothing of it is kept.

    Two layers: `hidden`, a row for each of its numbers: what each number of the two readings, alone and after the message before,
    counts for it, and a constant; `weights`, a row for each situation that remarks are sorted by and a last one for none of them:
    what each number of the hidden layer counts, and a constant. `fits`: a row for each one that has sentences, a column for each
    of these rows: from 1, its sentences fit what was told, by 0, they do no harm, to -1, they are odd.
    """

    situations: Mapping[str, Situation]
    encoder: TextEncoder
    hidden: NDArray[np.float32] = field(repr=False)
    weights: NDArray[np.float32] = field(repr=False)
    fits: NDArray[np.float32] = field(repr=False)

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> Self:
        """Read the four files of a path without an ending; raises ConfigurationError naming what is missing or broken."""
        situations = cls.described(path)
        learnt = sum(not one.wide for one in situations.values()) + 1
        by = "evaluation.situation_fit"
        shapes = {
            ".hidden.npy": (HIDDEN, 2 * encoder.width + 1),
            ".npy": (learnt, HIDDEN + 1),
            ".fits.npy": (len(situations), learnt),
        }
        read = [
            weights_in(path.with_suffix(end), shape, trained_by=by).astype(np.float32) for end, shape in shapes.items()
        ]
        return cls(situations, encoder, *read)

    @staticmethod
    def described(path: Path) -> dict[str, Situation]:
        """The situations by name, in the order of the weights; raises ConfigurationError."""
        return read_yaml(path.with_suffix(".yaml"), Situations).root

    def likelihoods(self, message: str, earlier: Sequence[Message]) -> NDArray[np.float32]:
        """How likely each situation is, in order, and last that it is none of them; together 1."""
        inner = np.maximum(
            self.hidden[:, :-1] @ wholes(self.encoder, message, said_before(earlier)[-1:]) + self.hidden[:, -1], 0
        )
        sums = self.weights[:, :-1] @ inner + self.weights[:, -1]
        shares = np.exp(sums - sums.max())
        return np.asarray(shares / shares.sum(), dtype=np.float32)

    def worth(self, message: str, earlier: Sequence[Message]) -> NDArray[np.float32]:
        """What the sentences of each situation can be expected to do, from -1, odd, to 1, fitting."""
        return np.asarray(self.fits @ self.likelihoods(message, earlier), dtype=np.float32)

    def of(
        self, message: str, earlier: Sequence[Message], *, heavy: bool | None = None, settled: bool = False
    ) -> str | None:
        """The situation whose sentences are worth most, if that is enough; `heavy`: whether another reading finds that the
        message plainly weighs, None for no such reading; `settled`: whether it says that a danger is being dealt with, which is
        nothing to smile at."""
        worth = self.worth(message, earlier)
        for at, one in enumerate(self.situations.values()):
            if one.mood is Mood.LIGHT if settled else one.after:
                worth[at] = -1
            elif one.mood is Mood.LIGHT:
                worth[at] -= LIGHTLY + (AGAINST if heavy else 0.0)
            elif one.mood is Mood.HEAVY and heavy is False:
                worth[at] -= AGAINST
        best = int(worth.argmax())
        return tuple(self.situations)[best] if worth[best] >= WORTH else None

    def ask_after(self, named: str | None, message: str, earlier: Sequence[Message], *, heavy: bool) -> str:
        """The name of the question that may follow what is said to a remark in a situation, or in none; empty where one would be
        out of place."""
        if named is not None:
            return self.situations[named].ask
        return "" if self.wants_peace(message, earlier) else OF_ANY[heavy]

    def wants_peace(self, message: str, earlier: Sequence[Message]) -> bool:
        """Whether a remark may well be one of those that nothing is asked after: "no im fine"."""
        learnt = (one for one in self.situations.values() if not one.wide)
        unasked = np.array([not one.ask for one in learnt])
        return float(self.likelihoods(message, earlier)[:-1][unasked].sum()) >= IN_PEACE
