"""Role and tone as one linear head: whether sentences sound like an information service, or like a friend, a doctor, a coach.

It knows only weights learnt from labelled replies in English (`python -m evaluation.tone_training`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.language.heads import LinearHeads
from engine.language.letters import words

TONE = ("role_and_tone",)


@dataclass(frozen=True)
class ToneHead:
    """Weighs what a reply says in its own words."""

    heads: LinearHeads

    @classmethod
    def load(cls, path: Path) -> ToneHead:
        """Read a weights file; raises ConfigurationError naming it if it is missing or broken."""
        return cls(LinearHeads.load(path, TONE, trained_by="evaluation.tone_training"))

    def offending(self, sentences: Sequence[str]) -> list[str]:
        """The sentences without which the rest would do, worst first; none where they do as they are.

        Only a whole is weighed: the head has learnt from whole replies, and one sentence by itself says too little.
        """
        left, found = list(sentences), []
        while left and self.score("\n".join(left)) >= self.heads.description.heads[0].threshold:
            scores = [self.score("\n".join(left[:place] + left[place + 1 :])) for place in range(len(left))]
            found.append(left.pop(min(range(len(left)), key=scores.__getitem__)))
        return found

    def score(self, text: str) -> float:
        """The sum of the head over a text; the higher, the less it sounds like an information service."""
        return self.heads.sums(words(text), TONE)[TONE[0]]
