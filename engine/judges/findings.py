"""In what a claim can differ from its source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Disagreement(StrEnum):
    """In what a claim differs from its source."""

    NUMBER = "number"
    POLARITY = "polarity"
    STRENGTH = "strength"
    SPECIFIC = "specific"
    EXCHANGE = "exchange"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One disagreement and the words or figures it is about."""

    kind: Disagreement
    about: str
