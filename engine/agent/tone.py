"""In what tone somebody tells something: what a kind listener would answer first.

Learnt from labelled remarks (`python -m evaluation.tone_of_remarks`), and said only where one tone plainly leads: a sentence that
fits whatever was told is better than one for the wrong feeling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from engine.language.encoder import TextEncoder
from engine.language.meaning_heads import MeaningHeads
from engine.types import Message
from engine.urgency.classifier import said_before


class RemarkTone(StrEnum):
    """What a remark tells between the lines."""

    GRIEF = "grief"
    GUILT = "guilt"
    FEAR = "fear"
    WEARY = "weary"
    LONELY = "lonely"
    ANGER = "anger"
    SHAME = "shame"
    JOY = "joy"
    JOKE = "joke"
    THANKS = "thanks"
    HOPE = "hope"
    DISTRUST = "distrust"
    PLAIN = "plain"


LIGHT = frozenset({RemarkTone.JOY, RemarkTone.JOKE, RemarkTone.HOPE})
SAD = frozenset(
    {RemarkTone.GRIEF, RemarkTone.GUILT, RemarkTone.FEAR, RemarkTone.WEARY, RemarkTone.LONELY, RemarkTone.SHAME}
)
"""Tones that never go with what plainly weighs on somebody, and those that only go with it."""

AGAINST = 1.0
"""So much more a tone must lead where the other reading speaks against it."""


@dataclass(frozen=True)
class RemarkTones:
    """Weighs a remark against each tone. Nothing of it is kept."""

    heads: MeaningHeads

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> RemarkTones:
        """Read its weights; raises ConfigurationError naming what is missing or broken."""
        return cls(MeaningHeads.load(path, tuple(RemarkTone), encoder, trained_by="evaluation.tone_of_remarks"))

    def of(self, message: str, earlier: Sequence[Message], *, heavy: bool | None = None) -> RemarkTone | None:
        """The tone that is likely and leads by enough, None where none does; `heavy`: whether another reading finds that it
        plainly weighs, None for no such reading. A threshold here is by how much a tone must lead the next."""
        sums = self.heads.sums(message, said_before(earlier)[-1:])
        first, second = sorted(sums, key=sums.__getitem__, reverse=True)[:2]
        tone, against = RemarkTone(first), heavy is not None and first in (LIGHT if heavy else SAD)
        least = self.heads.thresholds()[first] + (AGAINST if against else 0.0)
        return tone if sums[first] >= 0 and sums[first] - sums[second] >= least else None
