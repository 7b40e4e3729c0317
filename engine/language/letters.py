"""Words as the urgency layers read them: one spelling for every disguise, careless or deliberate."""

from __future__ import annotations

import re
import unicodedata

_BLANKS = dict.fromkeys(map(ord, "\t\r\v\f\x1c\x1d\x1e\x1f\x85"), " ")
_DROP = dict.fromkeys(
    map(
        ord,
        "'\u2018\u2019\u201a\u201b\u2032\u2035\u02bb\u02bc\u02bd\u02be\u02b9\u02c8\u02ca\u02cb\u02f4"
        "\u00b4\u0060\u0384\u055a\u05f3\u1fbd\u1fbf\u1ffe\ua78b\ua78c\uff07\uff40",
    ),
    "",
)
_FIRST = _DROP | _BLANKS
# Look-alikes by the Latin letter they pass for (after Unicode TS 39); capitals are listed where they differ.
_LOOKALIKES = {
    "a": "аАαΑɑᴀ⍺ꭺᎪꓮ", "b": "вВЬьΒβʙᏴꓐƅɓƀ", "c": "сСϲϹᴄⲥꓚᏟςↄ¢", "d": "ԁԀɗđĐᴅᎠꓓժ", "e": "еЕєЄΕεɛᴇℯꓰᎬҽɘəƏ",
    "f": "ƒϝꞙꓝẝғҒ", "g": "ɡցԍɢᏀꓖǥɠ", "h": "нНһҺΗհʜᎻꓧћђħĦ", "i": "іІιΙıӏӀɩɪⅰᎥꓲ¡ǃ|ɨƗ", "j": "јЈϳᴊꓙᎫɉ", "k": "кКκΚᴋᏦꓗқҚƙ",
    "l": "ⅼꓡᏞʟłŁɭƚլĿ", "m": "мМΜᴍᎷꓟⅿ", "n": "пПηΝռոɴꓠŋɲƞ", "o": "оОοΟσΣօØøөӨɔᴏꓳ०০੦૦๐໐○◯", "p": "рРρΡᴘᏢꓑƥþ",
    "q": "ԛԚզգɋ", "r": "гГʀᏒꓣɼɾя", "s": "ѕЅꜱᏚꓢʂƨ§", "t": "тТτΤᴛꓔᎢŧŦƭ", "u": "υսʋᴜꓴцµμɥ", "v": "νѵѴᴠꓦᏙⅴ∨", "w": "ԝԜωшШᴡꓪᎳɯѡ",
    "x": "хХχΧꓫⅹ×", "y": "уУүҮγΥʏꓬƴỿɣ", "z": "ᴢꓜᏃΖƶʐȥ", "ae": "æÆ", "oe": "œŒ",
}  # fmt: skip
LATIN = {ord(char): latin for latin, chars in _LOOKALIKES.items() for char in chars} | {
    ord("æ"): "a", ord("Æ"): "a", ord("œ"): "o", ord("Œ"): "o"
}  # fmt: skip
for _first in (
    0x1F150,
    0x1F170,
    0x1F1E6,
):  # letters in dark circles, dark squares, and those that spell flags
    LATIN |= {_first + place: chr(ord("a") + place) for place in range(26)}

# NFKC makes three stops of it, but asks for more memory every few signs: where much is in use, a row of them takes its length
# squared. So it is taken apart before.
ELLIPSIS = "\u2026"
_WORD = re.compile(r"[^\W_]+|\?|[^\w\s!-/:-@\[-`{-~]")
_STRETCHED = re.compile(r"(.)\1+")
_UNLEET = str.maketrans("013457@$", "oieastas")


def plain(text: str) -> str:
    """The text in lower-case Latin letters without accents, apostrophes and invisible characters."""
    decomposed = unicodedata.normalize(
        "NFKD", unicodedata.normalize("NFKC", text.translate(_FIRST).replace(ELLIPSIS, "..."))
    )
    if decomposed.isascii():
        return decomposed.translate(_DROP).casefold()
    kept = "".join(char for char in decomposed if char == "\n" or not _is_unseen(char))
    return kept.translate(LATIN).translate(_DROP).casefold()


def _is_unseen(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "M" or category in {"Cc", "Cf", "Co", "Cs", "Cn"} or char in "\u115f\u1160\u3164\uffa0\u2800"


_OWN = frozenset("æøåœß")
_LOOKS_LATIN = {code: latin for code, latin in LATIN.items() if chr(code).lower() not in _OWN}
_APOSTROPHES = dict.fromkeys(_DROP, "'")
_STRETCHED_LONG = re.compile(r"([^\d\n])\1{2,}")
_LEET = re.compile(r"(?<=[^\W\d_])[013457@$]+(?=[^\W\d_])")


def legible(text: str) -> str:
    """The text in lower case with its accents and signs, without what disguises letters; as `TextEncoder` reads it."""
    text = unicodedata.normalize("NFKC", text.translate(_BLANKS | _APOSTROPHES).replace(ELLIPSIS, "..."))
    if not text.isascii():
        text = "".join(char for char in text if char == "\n" or not _is_unseen(char)).translate(_LOOKS_LATIN)
    text = _LEET.sub(lambda match: match[0].translate(_UNLEET), text)
    return _STRETCHED_LONG.sub(r"\1", text).lower()


def undisguised_words(text: str) -> list[str]:
    """The words of a text, whatever their case, accents, apostrophes, repeated letters or digits for letters."""
    return [_spelt(word) for word in _WORD.findall(plain(text))]


def _spelt(word: str) -> str:
    if word.isdigit():
        return "0"
    if not word.isalpha() and word[0].isalpha() and word[-1].isalpha():
        word = word.translate(_UNLEET)
    return _STRETCHED.sub(r"\1", word)
