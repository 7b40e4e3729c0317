"""Two linear heads: do sentences sound like a friend, a doctor, a coach; and is a reply doubtful as a whole?

The first is role and tone. The second decides nothing by itself: where words alone leave open whether something is
supported, it says which way to lean. They know only weights learnt from labelled replies in English
(`python -m evaluation.tone_training`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.language.letters import undisguised_words
from engine.language.word_heads import LinearHeads

TONE, DOUBTFUL = HEADS = ("role_and_tone", "doubtful")


@dataclass(frozen=True)
class ToneHead:
    """Weighs what a reply says in its own words."""

    heads: LinearHeads

    @classmethod
    def load(cls, path: Path) -> ToneHead:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        return cls(LinearHeads.load(path, HEADS, trained_by="evaluation.tone_training"))

    def offending(self, sentences: Sequence[str]) -> list[str]:
        """The sentences without which the rest would do, worst first; none where they do as they are.

        Only a whole is weighed: the head has learnt from whole replies, and one sentence by itself says too little.
        """
        left, found = list(sentences), []
        while left and self._reaches(TONE, "\n".join(left)):
            scores = [self.score("\n".join(left[:place] + left[place + 1 :])) for place in range(len(left))]
            found.append(left.pop(min(range(len(left)), key=scores.__getitem__)))
        return found

    def doubts(self, reply: str) -> bool:
        """Whether a whole reply is like those that people would not let pass, for whatever rule."""
        return self._reaches(DOUBTFUL, reply)

    def score(self, text: str, head: str = TONE) -> float:
        """The sum of a head over a text; the higher, the less acceptable."""
        return self.heads.sums(undisguised_words(text), (head,))[head]

    def _reaches(self, name: str, text: str) -> bool:
        return self.score(text, name) >= self.heads.threshold(name)
