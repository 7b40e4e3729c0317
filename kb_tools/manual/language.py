"""A guess at the language of a text."""

from __future__ import annotations

from engine import language_identifier, words

ENGLISH, UNKNOWN = "en", "und"
SURE = 0.5
"""Under this probability the language is not known."""
_NAMES = {"no": "nb"}


def guess(text: str) -> str:
    """The code of the likeliest language, or `und`."""
    found = words(text)[:20_000]
    if not found:
        return UNKNOWN
    chances = language_identifier().chances(" ".join(found))
    language = max(chances, key=chances.__getitem__, default=UNKNOWN)
    return _NAMES.get(language, language) if chances.get(language, 0.0) >= SURE else UNKNOWN
