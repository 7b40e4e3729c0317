"""In what tone somebody tells something: what a kind listener would answer first.

Learnt from labelled remarks (`python -m evaluation.tone_of_remarks`), and said only where one tone plainly leads: a sentence that
fits whatever was told is better than one for the wrong feeling.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from engine.language.meaning_heads import MeaningReading
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


class RemarkTones(MeaningReading):
    """Weighs a remark against each tone."""

    names = tuple(RemarkTone)
    trained_by = "evaluation.tone_of_remarks"

    def of(self, message: str, earlier: Sequence[Message], *, heavy: bool | None = None) -> RemarkTone | None:
        """The tone that is likely and leads by enough, None where none does; `heavy`: whether another reading finds that it
        plainly weighs, None for no such reading. A threshold here is by how much a tone must lead the next."""
        first = self.heads.leading(message, said_before(earlier)[-1:])
        against = heavy is not None and first.name in (LIGHT if heavy else SAD)
        least = self.heads.threshold(first.name) + (AGAINST if against else 0.0)
        return RemarkTone(first.name) if first.sum >= 0 and first.lead >= least else None
