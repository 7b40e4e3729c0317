"""Whether somebody says, after danger was told, that it is being dealt with: help is there or on its way, somebody is with them,
the means are gone, it was a misunderstanding.

Learnt from labelled answers (`python -m evaluation.resolution_fit`). Asked only while danger is open, and never decides that
it is over: it decides that what is said now may be answered, with the contacts below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.language.encoder import TextEncoder
from engine.language.meaning_heads import MeaningHeads
from engine.types import Message
from engine.urgency.classifier import said_before

HEAD = "resolved"
BRIEF = 9
"""Words of a message up to which it counts as brief."""
# Written by evaluation/resolution_fit.py.
BRIEFLY = 0.62
"""By so much less the sum of a brief message must reach: few words weigh little either way."""


@dataclass(frozen=True)
class ResolutionClassifier:
    """Weighs what is said while a danger that was told is open. Nothing of it is kept."""

    heads: MeaningHeads

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder) -> ResolutionClassifier:
        """Read its weights; raises ConfigurationError naming what is missing or broken."""
        return cls(MeaningHeads.load(path, (HEAD,), encoder, trained_by="evaluation.resolution_fit"))

    def resolved(self, message: str, earlier: Sequence[Message]) -> bool:
        """Whether a message says that what was told before it is being dealt with."""
        least = self.heads.thresholds()[HEAD] - (BRIEFLY if len(message.split()) <= BRIEF else 0.0)
        return self.heads.sums(message, said_before(earlier))[HEAD] >= least
