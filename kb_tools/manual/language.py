"""A guess at the language of a text."""

from __future__ import annotations

from engine import language_identifier, words

ENGLISH, UNKNOWN = "en", "und"
SURE = 0.5
"""Under this probability the language is not known."""
_NAMES = {"no": "nb", "zxx": UNKNOWN}


def guess(text: str) -> str:
    """The code of the likeliest language, or `und`."""
    found = words(text)[:20_000]
    if not found:
        return UNKNOWN
    language, probability = language_identifier().classify(" ".join(found))
    return _NAMES.get(language, str(language)) if probability >= SURE else UNKNOWN
