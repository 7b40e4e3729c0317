"""The classifier: linear heads over words, parts of words and ideas, in plain Python; a suspicion, never a decision.

It knows only weights learnt from labelled messages (`python -m evaluation.urgency_training`). A message is read as a whole,
with what the person wrote just before, and sentence by sentence; the most alarming reading counts, so that danger in
the middle of ordinary text is not averaged away.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import ConfigurationError
from engine.language.features import Features
from engine.language.letters import words
from engine.language.text import sentences
from engine.types import Kind, LayerResult, Message, Role, UrgencyLevel

FORMAT = 2
EARLIER = 2
"""So many of the person's messages before this one are read with it."""
HEADS = ("urgent", "medical", "delusional")
"""Does somebody need help now; is it about a body or a medicine; is a belief that may be part of psychosis stated as fact."""
_LENGTH = 4000  # characters of a message that are read
_SENTENCES = 40  # that are read one by one
_REMEDY = "Run `python -m evaluation.urgency_training`, or take the file from the release."


class Head(BaseModel):
    """One linear model over the shared features: what its sum must reach, and how its weights are written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    bias: float
    scale: float = Field(gt=0)
    threshold: float


class Description(BaseModel):
    """The first line of the weights file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=FORMAT, le=FORMAT)
    bits: int = Field(ge=8, le=20)
    heads: tuple[Head, ...]
    alone: float = Field(ge=0)  # by how much a single sentence must be more alarming than a whole message
    data: str  # hash of the data it was trained on
    concepts: dict[str, str]  # words by idea, `*` marks a beginning


def readings(message: str) -> list[list[str]]:
    """The words of the whole message, then of each of its sentences if there are several."""
    text = message[:_LENGTH]
    parts = [words(one) for one in islice(sentences(text), _SENTENCES)]
    parts = [said for said in parts if said]
    return [words(text), *(parts if len(parts) > 1 else ())]


def said_before(earlier: Sequence[Message]) -> list[str]:
    """The words of the person's last messages."""
    said = [one.content for one in earlier if one.role is Role.USER][-EARLIER:]
    return words("\n".join(one[:_LENGTH] for one in said))


@dataclass(frozen=True)
class UrgencyClassifier:
    """A fast layer. Scores are compared with thresholds and then forgotten: nobody is graded."""

    description: Description
    weights: Mapping[str, array[int]]
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
            reason = "These are no weights of the urgency classifier of this version, or not all of them."
            raise ConfigurationError(reason, file=path, remedy=_REMEDY) from cause

    @classmethod
    def parse(cls, content: bytes) -> UrgencyClassifier:
        """Read the content of a weights file: a line of JSON, then little-endian 16-bit numbers, head by head."""
        first, _, rest = content.partition(b"\n")
        description = Description.model_validate_json(first)
        size = 2 << description.bits
        names = [head.name for head in description.heads]
        if names != list(HEADS) or len(rest) != size * len(names):
            raise ValueError("the weights are incomplete")
        weights = {}
        for number, name in enumerate(names):
            table = array("h", rest[number * size : (number + 1) * size])
            if sys.byteorder == "big":
                table.byteswap()
            weights[name] = table
        return cls(description, weights, Features(description.concepts, description.bits))

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """`concern` where a message sounds like danger, read with what was said before it; never `urgent`."""
        scores = self.scores(message, earlier)
        found = {head.name: scores[head.name] >= head.threshold for head in self.description.heads}
        return LayerResult(
            layer=self.name,
            level=UrgencyLevel.CONCERN if found["urgent"] else UrgencyLevel.NONE,
            # Whoever believes to be poisoned or dead is not asked whether somebody took too much.
            kind=Kind.FEAR if found["delusional"] else Kind.MEDICAL if found["medical"] else Kind.UNCLEAR,
            delusional_framing=found["delusional"],
        )

    def scores(self, message: str, earlier: tuple[Message, ...] = ()) -> dict[str, float]:
        """The sum of each head; of `urgent`, of the most alarming reading. No grade of a person."""
        whole, *parts = readings(message)
        before = self.features.before(said_before(earlier))
        sums = self._sums(whole, before, HEADS)
        for said in parts:
            alone = self._sums(said, before, HEADS[:1])[HEADS[0]] - self.description.alone
            sums[HEADS[0]] = max(sums[HEADS[0]], alone)
        return sums

    def _sums(
        self, said: Sequence[str], before: tuple[float, tuple[int, ...]] | None, names: Sequence[str]
    ) -> dict[str, float]:
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
