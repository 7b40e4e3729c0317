"""A guess at the language of a text, by its commonest small words."""

from __future__ import annotations

from engine.language.text import words

ENGLISH, UNKNOWN = "en", "und"
ENOUGH = 0.06
"""Under this share of small words a text is in none of the languages known here."""

_SMALL = {
    ENGLISH: "the of and to in is that for with are you it as be or not can have this from your may",
    "de": "der die das und ist nicht sie mit ein eine den von zu auf für im dem des auch werden sind oder",
    "fr": "le la les des et est une un du que pour dans pas vous sur avec qui par sont ou au ne",
    "es": "el la los las de que y en un una es no por con para del se su al lo como más",
    "nb": "og er det som på til av for med en ikke de du har kan den et eller om seg å",
    "nl": "de het een en van is dat niet te zijn met voor op die er aan ook of door bij",
    "it": "il la di che e un una per non con sono del della le gli si da come più anche",
    "pt": "o a os as de que e em um uma é não por com para do da se no na mais ou",
    "sv": "och är det som på till av för med en inte de du har kan den ett eller om att",
}
_SETS = {language: frozenset(text.split()) for language, text in _SMALL.items()}


def guess(text: str) -> str:
    """The code of the likeliest language, or `und`."""
    found = words(text)[:20_000]
    if not found:
        return UNKNOWN
    shares = {language: sum(word in small for word in found) / len(found) for language, small in _SETS.items()}
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] >= ENOUGH else UNKNOWN
