"""Whether a message asks for anything that a knowledge base tells of: a head that was learnt for that base, beside its lines.

Lines about other subjects know what somebody wrote down; the head has learnt from natural messages, in the middle of a chat too,
which that base answers and which it does not. Its two files lie in the folder of the base (`scope.bin`, `scope.npy`; `python -m
evaluation.scope_fit`), and a base without them goes by its lines alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.language.encoder import TextEncoder
from engine.language.meaning_heads import MeaningReading

NAME, HERE = "scope", "here"


class ScopeReading(MeaningReading):
    """What was learnt of one knowledge base."""

    names = (HERE,)
    trained_by = "evaluation.scope_fit"

    @classmethod
    def of_base(cls, folder: Path, encoder: TextEncoder) -> ScopeReading | None:
        """That of the knowledge base in a folder, None where it has none; raises ConfigurationError for a broken one."""
        path = folder / NAME
        there = any(path.with_suffix(ending).exists() for ending in (".bin", ".npy"))
        return cls.load(path, encoder) if there else None

    def sum(self, message: str, earlier: Sequence[str] = ()) -> float:
        """How far a message sounds like one that the base answers, below zero for less; `earlier`: what was said before it."""
        return self.heads.sums(message, tuple(earlier[-1:]))[HERE]
