"""What a danger is about, where a suspicion is more than faint: it chooses the words of question and referral, and first steps.

Learnt from labelled messages of danger (`python -m evaluation.danger_kind_fit`), and said only where one kind leads plainly.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.language.meaning_heads import MeaningReading
from engine.types import Kind, Message
from engine.urgency.classifier import said_before


class DangerKinds(MeaningReading):
    """Weighs what a danger is about."""

    names = ("dying", "others", "voices", "medical", "confused")
    """The last one is no kind of its own: somebody lost in a psychosis, whom no usual steps fit."""
    trained_by = "evaluation.danger_kind_fit"

    def of(self, message: str, earlier: Sequence[Message]) -> Kind:
        """The kind, `unclear` where none leads by enough."""
        first = self.heads.leading(message, said_before(earlier))
        plain = first.name in set(Kind) and first.lead >= self.heads.threshold(first.name)
        return Kind(first.name) if plain else Kind.UNCLEAR
