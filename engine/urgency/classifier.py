"""The classifier: linear heads over words, parts of words and ideas, beside what the encoder says; a suspicion, never a decision.

Both know only what they have learnt from labelled messages (`python -m evaluation.urgency_training`, `config/encoder/README.md`):
one which words tell of danger, the other what a sentence means. A message is read as a whole, with what the person wrote just
before; by its words also sentence by sentence, by the encoder in windows, and the most alarming reading counts, so that danger
in the middle of ordinary text is not averaged away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.language.encoder import DANGER_HEADS, TextEncoder
from engine.language.heads import LinearHeads
from engine.language.letters import words
from engine.language.text import sentences
from engine.types import Kind, LayerResult, Message, Role, UrgencyLevel

EARLIER = 2
"""So many of the person's messages before this one are read with it; no other fast layer reads any."""
BY_WORDS = 0.6
"""What a sum by words counts beside one of the encoder."""
_LENGTH = 4000  # characters of a message that are read
_SENTENCES = 40  # that are read one by one


def readings(message: str) -> list[list[str]]:
    """The words of the whole message, then of each of its sentences if there are several."""
    text = message[:_LENGTH]
    parts = [words(one) for one in islice(sentences(text), _SENTENCES)]
    parts = [said for said in parts if said]
    return [words(text), *(parts if len(parts) > 1 else ())]


def said_before(earlier: Sequence[Message]) -> tuple[str, ...]:
    """The person's last messages."""
    return tuple([one.content for one in earlier if one.role is Role.USER][-EARLIER:])


TellsHeavily = Callable[[str, Sequence[Message]], bool]
"""Whether a message, read with the earlier turns, tells something heavy rather than asks."""


def _never(message: str, earlier: Sequence[Message]) -> bool:
    return False


@dataclass(frozen=True)
class UrgencyClassifier:
    """A fast layer. Scores are compared with thresholds and then forgotten: nobody is graded.

    `tells_heavily`: about such a message somebody is asked, however faint a suspicion is: of 33 natural messages near the
    threshold 11 were so, and among them were all that told of danger.
    """

    heads: LinearHeads
    encoder: TextEncoder
    name: str = "classifier"
    tells_heavily: TellsHeavily = _never

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder, tells_heavily: TellsHeavily = _never) -> UrgencyClassifier:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        heads = LinearHeads.load(path, DANGER_HEADS, trained_by="evaluation.urgency_training")
        return cls(heads, encoder, tells_heavily=tells_heavily)

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """`concern` where a message sounds like danger, read with what was said before it; never `urgent`."""
        scores = self.scores(message, earlier)
        found = {head.name: scores[head.name] >= head.threshold for head in self.heads.description.heads}
        surely = self.heads.description.heads[0].threshold + self.heads.description.surer
        faint = found["urgent"] and scores["urgent"] < surely and not found["medical"]
        return LayerResult(
            layer=self.name,
            # What the head of bodies has learnt is urgent too, and it is sure before the other is.
            level=UrgencyLevel.CONCERN if found["urgent"] or found["medical"] else UrgencyLevel.NONE,
            faint=faint,
            heavy=faint and self.tells_heavily(message, earlier),
            # Whoever believes to be poisoned or dead is not asked whether somebody took too much.
            kind=Kind.FEAR if found["delusional"] else Kind.MEDICAL if found["medical"] else Kind.UNCLEAR,
            delusional_framing=found["delusional"],
        )

    def scores(self, message: str, earlier: tuple[Message, ...] = ()) -> dict[str, float]:
        """The sum of each head, by words and by the encoder. No grade of a person."""
        by_words = word_scores(self.heads, message, earlier)
        windows = self.encoder.windows(message, said_before(earlier))
        return {name: BY_WORDS * by_words[name] + max(one.sums[name] for one in windows) for name in DANGER_HEADS}


def word_scores(heads: LinearHeads, message: str, earlier: Sequence[Message] = ()) -> dict[str, float]:
    """The sum of each head by words; of `urgent`, of the most alarming reading."""
    whole, *parts = readings(message)
    before = heads.features.before(words("\n".join(one[:_LENGTH] for one in said_before(earlier))))
    sums = heads.sums(whole, DANGER_HEADS, before)
    for said in parts:
        alone = heads.sums(said, DANGER_HEADS[:1], before)[DANGER_HEADS[0]] - heads.description.alone
        sums[DANGER_HEADS[0]] = max(sums[DANGER_HEADS[0]], alone)
    return sums
