"""Where a text leads its reader: links and numbers to call, however they are spelt.

A text is folded first, so that look-alike letters, full-width digits, invisible characters and hard spaces hide nothing.
What counts is what a chat program makes clickable or a person would dial. Every expression here is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from engine.language.text import fold, words

_PIECE = re.compile(r"[^\s<>()\[\]{}\"'|,;]+")
_EDGES = ".:!?*_-~`/"
_DOT = re.compile(r"(?<=[a-z0-9])\u3002(?=[a-z0-9])")  # browsers take it for one
# `t.me`, `discord.gg`, `name@host`, `tg:`, `any://`; two letters after a dot are enough, whether or not such a domain
# exists: a missing blank after a full stop costs a draft one more try, a link that slips through costs a reader.
_LINK = re.compile(
    r"[^\W_]\.[^\W\d_]{2}|[^\W_]@[^\W_]|://"
    r"|\b(?:mailto|tg|tel|sms|smsto|callto|skype|whatsapp|viber|xmpp|sip|facetime|magnet|data|javascript|intent):[^\W_/]"
)
_ABBREVIATION = re.compile(r"[^\W\d_](?:\.[^\W\d_]{1,4})+\.:?")
_PAGE = re.compile(r"(?:https?://)?(?:www\.)?")

_NUMBER = re.compile(r"\d(?:(?:\.(?! )|[ ()_\u20e3\u00b7\u2022*-]){0,4}/?\d)*+")
_YEAR, _CLOCK = r"(?:19|20)\d\d", r"(?:[01]?\d|2[0-4])(?:\.[0-5]\d)?"
_TIME = re.compile(
    rf"{_YEAR}(?: ?[-/ ] ?{_YEAR})*|\d{{1,2}}[./-]\d{{1,2}}[./-]{_YEAR}|{_YEAR}-\d\d-\d\d"
    rf"|{_CLOCK}(?: ?- ?{_CLOCK})?|24/7"
)
_CLAUSE_END = re.compile(r"[.!?;\n]")
_MEASURE = re.compile(r" ?(?:%|[mk]?[gl]\b|mcg\b|[mc]m\b)")
# In the five languages of the texts, folded.
_CALLING = frozenset(
    [
        *("call", "calls", "calling", "called", "ring", "rings", "ringing", "dial", "dials", "dialling", "dialing"),
        *("text", "texts", "texting", "phone", "phoning", "telephone", "tel", "sms"),
        *("ruf", "rufe", "rufen", "ruft", "anruf", "anrufe", "anrufen", "wahle", "wahlen", "wahlt", "telefon"),
        *("llama", "llame", "llamad", "llamar", "llamen", "marca", "marque", "marcar", "marcad", "telefono"),
        *("appelle", "appelez", "appeler", "compose", "composez", "composer"),
        *("ringe", "ringer", "tast", "sla", "tlf"),
    ]
)
LONG = 7
"""So many digits are a number to call, whatever stands around them; from three on, beside a word such as “call”."""
_NEAR_BEFORE, _NEAR_AFTER = 5, 2


def links(text: str) -> Iterator[str]:
    """The links and addresses of a text, folded, without `https://www.` and without punctuation around them."""
    for piece in _PIECE.findall(_DOT.sub(".", fold(text))):
        if _LINK.search(piece) and not _ABBREVIATION.fullmatch(piece):
            bare = piece.strip(_EDGES)
            yield bare[_PAGE.match(bare).end() :]  # type: ignore[union-attr]  # it matches nothing as well


def numbers(text: str, least: int = 1) -> Iterator[str]:
    """The digits of every number of a text that has so many, groups that stand together taken as one."""
    for found in _NUMBER.finditer(fold(text)):
        digits = _digits(found[0])
        if len(digits) >= least:
            yield digits


def callable_numbers(text: str) -> Iterator[str]:
    """The digits of every number that a reader would call: long ones, and short ones where the text says to call."""
    folded = fold(text)
    for found in _NUMBER.finditer(folded):
        digits = _digits(found[0])
        if len(digits) < 3 or _TIME.fullmatch(found[0]):
            continue
        if len(digits) >= LONG or _is_called(folded, found.start(), found.end()):
            yield digits


def _is_called(text: str, start: int, end: int) -> bool:
    if _MEASURE.match(text, end):
        return False
    before = _CLAUSE_END.split(text[max(0, start - 80) : start])[-1]
    after = _CLAUSE_END.split(text[end : end + 40], maxsplit=1)[0]
    near = (*words(before)[-_NEAR_BEFORE:], *words(after)[:_NEAR_AFTER])
    return not _CALLING.isdisjoint(near)


def _digits(found: str) -> str:
    return "".join(str(unicodedata.digit(one)) for one in found if one.isdecimal())


def known_links(text: str) -> frozenset[str]:
    """The links of a source, and the pages and the site above each."""
    known = set()
    for link in links(text):
        parts = link.split("/")
        known |= {"/".join(parts[: end + 1]) for end in range(len(parts))}
    return frozenset(known)


def known_numbers(text: str) -> frozenset[str]:
    """The digits of every number of a source, of three digits and more."""
    return frozenset(numbers(text, 3))
