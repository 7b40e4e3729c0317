"""Text as the engine sees it: cleaned for the model, folded for comparison, split into sentences and words.

Nothing here interprets a message. `clean` makes it safe to keep and to show, `fold` makes two spellings
of the same word equal, `sentences` and `stems` serve retrieval and the built-in judges.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import snowballstemmer

from engine.language.letters import ELLIPSIS, LATIN
from engine.memo import once_a_turn

# Characters that NFKC leaves alone and that people (or their phones) use in place of plain ones.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u02b9\u00b4\u0060\uff07", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
_LOOKALIKE = {code: latin for code, latin in LATIN.items() if chr(code).isalpha()}  # signs stay signs here
_EMPTY = frozenset(
    "\u115f\u1160\u3164\uffa0\u2800\ufffd\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
_BLANK = re.compile(r"[^\S\n]+")
_MANY_LINES = re.compile(r"\n{3,}")
_LONE_MARKER = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s*$")
_LIST_MARKER = re.compile(r"^\s*(?:[-*•–]|#{1,6}|\(?\d+(?:\.\d+)*[.)])\s+")
# A run of signs is looked at once, from its beginning, and never given back: people may send thousands of them.
_SENTENCE_END = re.compile(
    r"(?<![.!?…])(?<![:.!?] \d)(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\bSt)"
    r"[.!?…]++[\"'”’)\]*]*+(?=\s|$)"
)
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

_STOP = """
    a about above after again all also am an and any are aren't as at be because been before being below between
    both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each else etc
    even ever every few for from further get gets getting go going got had hadn't has hasn't have haven't having he
    he'd he'll he's her here here's hers herself him himself his how how's however i i'd i'll i'm i've if in into
    is isn't it it's its itself just let let's like lot made make makes many may me might more most much must my
    myself no nor not now of off often on once one only or other others ought our ours ourselves out over own
    please quite rather really said same say see shall she she'd she'll she's should shouldn't so some such than
    that that's the their theirs them themselves then there there's these they they'd they'll they're they've thing
    things this those through to too under until up upon us use used very was wasn't way we we'd we'll we're we've
    well were weren't what what's when when's where where's which while who who's whom why why's will with within
    without won't would wouldn't yet you you'd you'll you're you've your yours yourself yourselves im ive dont cant
    wont u ur pls plz ok okay hi hello hey
"""
STOP_WORDS = frozenset(_STOP.split())
"""Words that are about nothing, in English."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CleanText:
    """A message after cleaning. `truncated`: it was longer than allowed. `wordless`: no letter or digit is left."""

    text: str
    truncated: bool = False
    wordless: bool = False


def clean(raw: str, *, limit: int = 4000) -> CleanText:
    """Make a message safe to keep: NFKC, no controls, no invisible or direction-changing characters, capped.

    `limit` is in characters; the cut falls on a word border where there is one in the last tenth.
    """
    if len(raw) <= limit and _is_clean(raw):
        return CleanText(text=raw, wordless=not any(char.isalnum() for char in raw))
    # Normalising can multiply the length, so the cap comes before as well as after.
    text = _normalised(raw[: limit * 4]).replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    # Again, because a letter and its accent may have had an invisible character between them.
    text = _normalised(_SUSPECT.sub(_if_visible, text))
    text = _MANY_LINES.sub("\n\n", _BLANK.sub(" ", text)).strip()
    truncated = len(text) > limit or len(raw) > limit * 4
    if len(text) > limit:
        cut = text.rfind(" ", limit - limit // 10, limit)
        text = text[: cut if cut > 0 else limit].rstrip()
    return CleanText(text=text, truncated=truncated, wordless=not any(char.isalnum() for char in text))


def _is_clean(text: str) -> bool:
    """Whether cleaning would surely change nothing, which is so of most texts and found in a tenth of the time."""
    if "  " in text or "\n\n\n" in text or text != text.strip():
        return False
    return _is_plain(text) or (_SUSPECT.search(text) is None and _normalised(text) == text)


def _is_plain(text: str) -> bool:
    """Whether a text is of ASCII characters one can see, blanks and line breaks."""
    return text.isascii() and text.replace("\n", "").isprintable()


def _normalised(text: str) -> str:
    # NFKC would make a space and an accent of the free-standing accent that many type as an apostrophe.
    return unicodedata.normalize("NFKC", text.replace("\u00b4", "'").replace(ELLIPSIS, "..."))


# All but plain text of European languages, which is never invisible and need not be looked at letter by letter.
_SUSPECT = re.compile("[^\n -~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e\u20a0-\u20bf]")


def _if_visible(match: re.Match[str]) -> str:
    return "" if _is_invisible(match[0]) else match[0]


def _if_a_letter(match: re.Match[str]) -> str:
    return "" if unicodedata.combining(match[0]) else _if_visible(match)


def _is_invisible(char: str) -> bool:
    category = unicodedata.category(char)
    # Cf: zero-width and bidirectional controls; Cc: control codes; Co, Cs, Cn: private, broken, unassigned.
    # Hangul fillers and the Braille blank are letters by category and empty to the eye; so are variation selectors.
    return category in {"Cc", "Cf", "Co", "Cs", "Cn"} or char in _EMPTY


@once_a_turn
def fold(text: str) -> str:
    """Fold for comparison: no case, accents, curly quotes, long dashes, invisible or look-alike letters."""
    if _is_plain(text):
        return _BLANK.sub(" ", text.replace("`", "'").casefold()).strip()
    plain = unicodedata.normalize("NFKD", _normalised(text).translate(_PLAIN).casefold())
    return _BLANK.sub(" ", _SUSPECT.sub(_if_a_letter, plain).translate(_LOOKALIKE)).strip()


def squash(text: str) -> str:
    """Fold and keep letters and digits only, for finding a quotation whatever its punctuation."""
    return " ".join(_WORD.findall(fold(text).replace("'", "")))


@once_a_turn
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order; every line of a list is at least one, its marker removed."""
    return tuple(_sentences(text))


def _sentences(text: str) -> Iterator[str]:
    paragraph: list[str] = []
    for line in (*text.split("\n"), ""):
        starts_item = bool(_LIST_MARKER.match(line))
        if (not line.strip() or starts_item) and paragraph:
            yield from _split(" ".join(paragraph))
            paragraph = []
        stripped = _LIST_MARKER.sub("", line).strip()
        if stripped and not _LONE_MARKER.match(line):
            paragraph.append(stripped)


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        piece = paragraph[start : end.end()].strip()
        if piece:
            yield piece
        start = end.end()
    rest = paragraph[start:].strip()
    if rest:
        yield rest


# Of plain text: letters and digits small, the apostrophe for both of its signs, a blank for everything else.
_SPACED = bytes(
    code if chr(code).isalnum() else 0x27 if chr(code) in "'`" else 0x20 for code in bytes(range(128)).lower()
).ljust(256)
_LOOSE = re.compile(r"(?<![a-z0-9])'|'(?![a-z0-9])")


def words(text: str) -> list[str]:
    """The words of a text, folded, in order."""
    if _is_plain(text):  # what `_WORD` would find in it, in half the time
        spaced = text.encode().translate(_SPACED).decode()
        return (_LOOSE.sub(" ", spaced) if "'" in spaced else spaced).split()
    straight = text.translate(_PLAIN)  # curly quotes alone are no reason to look at every letter
    return words(straight) if _is_plain(straight) else _WORD.findall(fold(text))


@cache
def _stemmer(language: str) -> snowballstemmer.stemmer:
    stemmer = snowballstemmer.stemmer(language)
    stemmer.maxCacheSize = 0  # it would keep the last ten thousand words that people wrote
    return stemmer


@once_a_turn
def stem(word: str, language: str = "english") -> str:
    """The stem of one folded word (Snowball); `language` is a Snowball name."""
    return str(_stemmer(language).stemWord(word.removesuffix("'s").replace("'", "")))


def stems(text: str, language: str = "english") -> list[str]:
    """The stems of the content words of a text, in order, repeats kept."""
    return [stem(word, language) for word in words(text) if word not in STOP_WORDS]


def estimate_tokens(text: str) -> int:
    """Roughly how many tokens a model counts, where no usage is reported: four characters each."""
    return (len(text) + 3) // 4


def grade(text: str) -> float:
    """Flesch-Kincaid grade level (Kincaid and others, 1975) with syllables counted by vowel groups."""
    spoken = [word for sentence in sentences(text) for word in words(sentence)]
    if not spoken:
        return 0.0
    return 0.39 * len(spoken) / max(1, len(sentences(text))) + 11.8 * sum(map(_syllables, spoken)) / len(spoken) - 15.59


def _syllables(word: str) -> int:
    groups = len(re.findall(r"[aeiouy]+", word))
    return max(1, groups - (word.endswith("e") and not word.endswith(("le", "ee")) and groups > 1))
