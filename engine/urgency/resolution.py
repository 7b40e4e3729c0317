"""Whether somebody says, after danger was told, that it is being dealt with: help is there or on its way, somebody is with them,
the means are gone, it was a misunderstanding.

Learnt from labelled answers (`python -m evaluation.resolution_fit`). Asked only while danger is open, and never decides that
it is over: it decides that what is said now may be answered, with the contacts below.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.language.meaning_heads import MeaningReading
from engine.types import Message
from engine.urgency.classifier import said_before

RESOLVED = "resolved"


class ResolutionClassifier(MeaningReading):
    """Weighs what is said while a danger that was told is open."""

    names = (RESOLVED,)
    trained_by = "evaluation.resolution_fit"

    def resolved(self, message: str, earlier: Sequence[Message]) -> bool:
        """Whether a message says that what was told before it is being dealt with."""
        return self.heads.sums(message, said_before(earlier))[RESOLVED] >= self.heads.threshold(RESOLVED)
