"""What kind of message it is: asking, telling, thanks and greetings, or a question about the service; and whether it weighs.

Linear heads over words and parts of words in five languages, learnt from labelled messages
(`python -m evaluation.kind_heads`), beside what the encoder says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from engine.language.encoder import KIND_HEADS, TextEncoder
from engine.language.letters import undisguised_words
from engine.language.text import sentences
from engine.language.word_heads import LinearHeads
from engine.memo import once_a_turn
from engine.retrieval.questions import asks
from engine.types import Message
from engine.urgency.classifier import said_before

KINDS, HEAVY = KIND_HEADS[:-1], KIND_HEADS[-1]
"""One a kind of message; and whether what is told plainly weighs on somebody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KindWeight:
    """What a head's sums by words and by the encoder count, and the constant."""

    words: float
    encoder: float
    base: float = 0.0


# Written by evaluation/kind_heads.py.
WEIGHTS: Mapping[str, KindWeight] = {
    "asks": KindWeight(words=0.97, encoder=0.73, base=-0.35),
    "tells": KindWeight(words=0.42, encoder=0.39, base=-0.91),
    "social": KindWeight(words=0.75, encoder=0.66, base=0.94),
    "service": KindWeight(words=0.31, encoder=0.72, base=0.33),
    "heavy": KindWeight(words=0.5, encoder=1.0),
}
AHEAD = 0.3
"""By so much a question about the service leads. Of natural messages about it this takes one in two, of others one in seventy."""
_LENGTH = 4000  # characters of a message that are read


class MessageKind(StrEnum):
    """What somebody does with a message."""

    ASKS = "asks"
    TELLS = "tells"
    SOCIAL = "social"
    SERVICE = "service"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageReading:
    """What a message does. `heavy`: what it tells plainly weighs. `question`: a sentence of it has the form of one."""

    kind: MessageKind
    heavy: bool
    question: bool = False


@dataclass(frozen=True)
class MessageKinds:
    """Weighs a message against each kind. Nothing of it is kept."""

    heads: LinearHeads
    encoder: TextEncoder

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> MessageKinds:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        return cls(LinearHeads.load(path, KIND_HEADS, trained_by="evaluation.kind_heads"), encoder)

    def sums(self, message: str, earlier: Sequence[Message] = ()) -> Mapping[str, float]:
        """The sum of every head, by words and by the encoder; worked out once in a turn."""
        return self._once(message, said_before(earlier))

    @cached_property
    def _once(self) -> Callable[[str, tuple[str, ...]], Mapping[str, float]]:
        return once_a_turn(self._sums)

    def _sums(self, message: str, before: tuple[str, ...]) -> Mapping[str, float]:
        by_words = word_sums(self.heads, message, before)
        meant = self.encoder.read(message, before).sums
        return {
            name: one.words * by_words[name] + one.encoder * meant[name] + one.base for name, one in WEIGHTS.items()
        }

    def of(self, message: str, earlier: Sequence[Message] = (), language: str = "en") -> MessageReading:
        """The likeliest kind, and whether it weighs."""
        sums = self.sums(message, earlier)
        own = sums[MessageKind.SERVICE.value]
        other = max((one for one in MessageKind if one is not MessageKind.SERVICE), key=lambda one: sums[one.value])
        question = any(asks(one, language) for one in sentences(message[:_LENGTH]))
        if question:
            # Of 361 natural English messages with such a sentence 325 asked for information, 21 about the service.
            other = MessageKind.ASKS
        ahead = own - sums[other.value]
        return MessageReading(
            kind=MessageKind.SERVICE if ahead >= AHEAD else other,
            heavy=sums[HEAVY] >= self.heads.threshold(HEAVY),
            question=question,
        )

    def tells_heavily(self, message: str, earlier: Sequence[Message] = ()) -> bool:
        """Whether somebody tells something heavy, rather than asks."""
        reading = self.of(message, earlier)
        return reading.kind is MessageKind.TELLS and reading.heavy


def word_sums(heads: LinearHeads, message: str, before: Sequence[str] = ()) -> dict[str, float]:
    """The sum of every head by words; `before`: what the person said just before (`said_before`)."""
    said = heads.features.before(undisguised_words("\n".join(one[:_LENGTH] for one in before)))
    return heads.sums(undisguised_words(message[:_LENGTH]), KIND_HEADS, said)
