"""What the rest of the engine knows of retrieval: a question goes in, hits come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A source that fits. `score`: its share, from 0 to 1, in what speaks for all of them."""

    source: str
    score: float


class Retriever(Protocol):
    """Finds the sources that a question is about."""

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """At most `top` hits, best first, each source once; empty when nothing fits."""
        ...
