"""What a danger is about, where a suspicion is sure: it chooses the words of the referral and what it says to do meanwhile.

Learnt from labelled messages of danger (`python -m evaluation.danger_kind_fit`), and said only where one kind leads plainly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.language.encoder import TextEncoder
from engine.language.meaning_heads import MeaningHeads
from engine.types import Kind, Message
from engine.urgency.classifier import said_before

HEADS = ("dying", "others", "voices", "medical", "confused")
"""The last one is no kind of its own: somebody lost in a psychosis, whom no usual steps fit."""


@dataclass(frozen=True)
class DangerKinds:
    """Weighs what a danger is about. Nothing of it is kept."""

    heads: MeaningHeads

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> DangerKinds:
        """Read its weights; raises ConfigurationError naming what is missing or broken."""
        return cls(MeaningHeads.load(path, HEADS, encoder, trained_by="evaluation.danger_kind_fit"))

    def of(self, message: str, earlier: Sequence[Message]) -> Kind:
        """The kind, `unclear` where none leads by enough."""
        sums = self.heads.sums(message, said_before(earlier))
        first, second = sorted(sums, key=sums.__getitem__, reverse=True)[:2]
        plain = first in set(Kind) and sums[first] - sums[second] >= self.heads.thresholds()[first]
        return Kind(first) if plain else Kind.UNCLEAR
