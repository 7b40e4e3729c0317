"""What kind of message it is: asking, telling, thanks and greetings, or a question about the service; and whether it weighs.

Linear heads over words and parts of words in five languages, learnt from labelled messages
(`python -m evaluation.kind_heads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.language.heads import LinearHeads
from engine.language.letters import words
from engine.language.text import sentences
from engine.retrieval.questions import asks
from engine.types import Message, Role

KINDS = ("asks", "tells", "social", "service")
"""One a kind of message."""
HEAVY = "heavy"
"""Whether what is told plainly weighs on somebody. Good news and jokes are not told apart from the rest by words: of what such
heads called good news, a quarter was."""
HEADS = (*KINDS, HEAVY)
EARLIER = 2
"""So many of the person's messages before this one are read with it."""
AHEAD = 1.0
"""By so much a question about the service must lead: of natural messages about other things 3 % do, of those about it 47 %."""
_LENGTH = 4000  # characters of a message that are read


class MessageKind(StrEnum):
    """What somebody does with a message."""

    ASKS = "asks"
    TELLS = "tells"
    SOCIAL = "social"
    SERVICE = "service"


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageReading:
    """What a message does. `service`: it may as well be about the service. `heavy`: what it tells plainly weighs."""

    kind: MessageKind
    service: bool
    heavy: bool


@dataclass(frozen=True)
class MessageKinds:
    """Weighs a message against each kind. Nothing of it is kept."""

    heads: LinearHeads

    @classmethod
    def load(cls, path: Path) -> MessageKinds:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        return cls(LinearHeads.load(path, HEADS, trained_by="evaluation.kind_heads"))

    @classmethod
    def parse(cls, content: bytes) -> MessageKinds:
        """Read the content of a weights file; raises ValueError where it is not whole."""
        return cls(LinearHeads.parse(content, HEADS))

    def sums(self, message: str, earlier: Sequence[Message] = ()) -> dict[str, float]:
        """The sum of every head."""
        said = [one.content[:_LENGTH] for one in earlier if one.role is Role.USER][-EARLIER:]
        before = self.heads.features.before(words("\n".join(said)))
        return self.heads.sums(words(message[:_LENGTH]), HEADS, before)

    def of(self, message: str, earlier: Sequence[Message] = (), language: str = "en") -> MessageReading:
        """The likeliest kind, and whether it weighs."""
        sums = self.sums(message, earlier)
        own = sums[MessageKind.SERVICE.value]
        other = max((one for one in MessageKind if one is not MessageKind.SERVICE), key=lambda one: sums[one.value])
        if any(asks(one, language) for one in sentences(message[:_LENGTH])):
            # Of 361 natural English messages with such a sentence 325 asked for information, 21 about the service.
            other = MessageKind.ASKS
        ahead = own - sums[other.value]
        least = next(head.threshold for head in self.heads.description.heads if head.name == HEAVY)
        return MessageReading(
            kind=MessageKind.SERVICE if ahead >= AHEAD else other,
            service=ahead >= 0,
            heavy=sums[HEAVY] >= least,
        )
