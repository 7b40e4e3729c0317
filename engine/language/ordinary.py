"""Everyday English words, by which a message is known as plainly English."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_ORDINARY = Path(__file__).with_name("ordinary_words.txt")


@cache
def ordinary_words() -> frozenset[str]:
    """Everyday English words in their plain form."""
    return frozenset(_ORDINARY.read_text(encoding="utf-8").split())
