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
    text, identifier = " ".join(found), language_identifier()
    chances = identifier.chances(text)
    language = max(chances, key=chances.__getitem__, default=UNKNOWN)
    # Near relatives share what speaks for one of them: a sentence in Norwegian is half Danish.
    return _NAMES.get(language, language) if identifier.likeliest(text)[1] >= SURE else UNKNOWN
