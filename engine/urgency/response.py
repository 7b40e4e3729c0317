"""What somebody types who taps no answer to the check question: that nobody is in danger, or something that tells of none; that
somebody is, or something that tells of it.

Learnt from labelled answers (`python -m evaluation.response_fit`). Asked only while the question stands unanswered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.language.meaning_heads import MeaningReading
from engine.types import Message
from engine.urgency.classifier import said_before

DANGER, CALM, DENIES = "danger", "calm", "denies"


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResponse:
    """What a message says to the check question. `danger`: it plainly tells of some; `calm`: it plainly tells of none; `denies`:
    it says so. None of them where it may be either."""

    danger: bool = False
    calm: bool = False
    denies: bool = False


class ResponseClassifier(MeaningReading):
    """Weighs what is typed right after the check question."""

    names = (DANGER, CALM, DENIES)
    trained_by = "evaluation.response_fit"

    def of(self, message: str, earlier: Sequence[Message]) -> CheckResponse:
        """What a message says to the question that was asked about the one before it."""
        sums = self.heads.sums(message, said_before(earlier)[-1:])
        found = {name: sums[name] >= self.heads.threshold(name) for name in self.names}
        return CheckResponse(danger=found[DANGER], calm=found[CALM], denies=found[DENIES])
