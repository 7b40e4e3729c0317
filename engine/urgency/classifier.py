"""The classifier: linear heads over words, parts of words and ideas, beside what the encoder says; a suspicion, faint or sure.

Both know only what they have learnt from labelled messages (`python -m evaluation.urgency_training`, `config/encoder/README.md`):
one which words tell of danger, the other what a sentence means. A message is read as a whole, with what the person wrote just
before; by its words also sentence by sentence, by the encoder in windows, and the most alarming reading counts, so that danger
in the middle of ordinary text is not averaged away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.language.encoder import DANGER_HEADS, TextEncoder
from engine.language.letters import undisguised_words
from engine.language.text import sentences
from engine.language.word_heads import LinearHeads
from engine.types import Kind, LayerResult, Message, Role, UrgencyLevel

EARLIER = 2
"""So many of the person's messages before this one are read with it; no other fast layer reads any."""
BY_WORDS = 0.6
"""What a sum by words counts beside one of the encoder."""
HEAVILY = 0.4
"""By so much a suspicion must pass its threshold before somebody is asked because of what they tell: of 12 natural messages
below it that told something heavy none was urgent, above it 7 of 24."""
BELIEF_LIKELY = 2.0
"""So far below its threshold the sum of a belief may be one: .79 of ten authors' beliefs that are told as facts, a tenth of all
else they wrote. It counts only where no section is sure: of 720 natural turns of others six then get other words, two rightly."""
NONE_PLAINLY = 1.0
"""So far below the threshold explicit words are doubted: of the messages of authors kept back that hold some, in one of 23 urgent
ones and four of 10 harmless ones, as many as from the threshold itself; between the two it is too near to tell."""
_LENGTH = 4000  # characters of a message that are read
_SENTENCES = 40  # that are read one by one


def readings(message: str) -> list[list[str]]:
    """The words of the whole message, then of each of its sentences if there are several."""
    text = message[:_LENGTH]
    parts = [undisguised_words(one) for one in islice(sentences(text), _SENTENCES)]
    parts = [said for said in parts if said]
    return [undisguised_words(text), *(parts if len(parts) > 1 else ())]


def said_before(earlier: Sequence[Message]) -> tuple[str, ...]:
    """The person's last messages."""
    return tuple([one.content for one in earlier if one.role is Role.USER][-EARLIER:])


TellsHeavily = Callable[[str, Sequence[Message]], bool]
"""Whether a message, read with the earlier turns, tells something heavy rather than asks."""


KindOf = Callable[[str, Sequence[Message]], Kind]
"""What a danger is about."""


def _never(message: str, earlier: Sequence[Message]) -> bool:
    return False


def _unclear(message: str, earlier: Sequence[Message]) -> Kind:
    return Kind.UNCLEAR


@dataclass(frozen=True)
class UrgencyClassifier:
    """A fast layer. Scores are compared with thresholds and then forgotten: nobody is graded.

    `tells_heavily`: about such a message somebody is asked, however faint a suspicion is: of 33 natural messages near the
    threshold 11 were so, and among them were all that told of danger. `kind_of`: asked where a suspicion is more than faint.
    """

    heads: LinearHeads
    encoder: TextEncoder
    name: str = "classifier"
    tells_heavily: TellsHeavily = _never
    kind_of: KindOf = _unclear

    @classmethod
    def load(
        cls, path: Path, encoder: TextEncoder, tells_heavily: TellsHeavily = _never, kind_of: KindOf = _unclear
    ) -> UrgencyClassifier:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        heads = LinearHeads.load(path, DANGER_HEADS, trained_by="evaluation.urgency_training")
        return cls(heads, encoder, tells_heavily=tells_heavily, kind_of=kind_of)

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """`concern` where a message sounds like danger, read with what was said before it; never `urgent`."""
        scores = self.scores(message, earlier)
        found = self._found(scores)
        passed = scores["urgent"] - self.heads.threshold("urgent")
        # A belief told as a fact sounds like danger; who tells one is asked, not told to call, unless a body is in danger.
        certain = passed >= self.heads.description.certain
        sure = certain and (found["medical"] or not found["delusional"])
        none = not found["urgent"] and not found["medical"]
        faint = found["urgent"] and passed < self.heads.description.surer and not found["medical"]
        return LayerResult(
            layer=self.name,
            # What the head of bodies has learnt is urgent too, and it is sure before the other is.
            level=UrgencyLevel.NONE if none else UrgencyLevel.CONCERN,
            sure=sure,
            faint=faint,
            heavy=faint and passed >= HEAVILY and self.tells_heavily(message, earlier),
            kind=self._kind(message, earlier, found, plain=found["urgent"] and not faint),
            delusional_framing=found["delusional"],
            belief_likely=scores["delusional"] >= self.heads.threshold("delusional") - BELIEF_LIKELY,
            hears_none=none and passed < -NONE_PLAINLY,
        )

    def _found(self, scores: Mapping[str, float]) -> dict[str, bool]:
        return {head.name: scores[head.name] >= head.threshold for head in self.heads.description.heads}

    def _kind(self, message: str, earlier: Sequence[Message], found: Mapping[str, bool], *, plain: bool) -> Kind:
        # Whoever believes to be poisoned or dead is not asked whether somebody took too much.
        if found["delusional"]:
            return Kind.FEAR
        said = self.kind_of(message, earlier) if plain else Kind.UNCLEAR
        if said is not Kind.MEDICAL and earlier and plain:  # after a wish to die all sounds like one
            alone = self._kind(message, (), self._found(self.scores(message)), plain=True)
            said = alone if alone is Kind.MEDICAL else said
        return Kind.MEDICAL if found["medical"] and said is Kind.UNCLEAR else said

    def scores(self, message: str, earlier: tuple[Message, ...] = ()) -> dict[str, float]:
        """The sum of each head, by words and by the encoder. No grade of a person."""
        by_words = word_scores(self.heads, message, earlier)
        windows = self.encoder.windows(message, said_before(earlier))
        return {name: BY_WORDS * by_words[name] + max(one.sums[name] for one in windows) for name in DANGER_HEADS}


def word_scores(heads: LinearHeads, message: str, earlier: Sequence[Message] = ()) -> dict[str, float]:
    """The sum of each head by words; of `urgent`, of the most alarming reading."""
    whole, *parts = readings(message)
    before = heads.features.before(undisguised_words("\n".join(one[:_LENGTH] for one in said_before(earlier))))
    sums = heads.sums(whole, DANGER_HEADS, before)
    for said in parts:
        alone = heads.sums(said, DANGER_HEADS[:1], before)[DANGER_HEADS[0]] - heads.description.alone
        sums[DANGER_HEADS[0]] = max(sums[DANGER_HEADS[0]], alone)
    return sums
