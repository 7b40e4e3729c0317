"""One spelling for every disguise, careless or deliberate, that a word can wear.

`Normaliser.views` turns a message into sentences of plain words: no case, accents, apostrophes, invisible
characters, letters of other scripts, digits for letters, stretched, split or joined words. What a word is
supposed to be is decided by the words that the rules know; a word already known is never changed.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from rapidfuzz.distance import OSA

from engine.memo import once_a_turn
from engine.text import STOP_WORDS, sentences

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
_LETTERS = {ord(char): latin for latin, chars in _LOOKALIKES.items() for char in chars} | {
    ord("æ"): "a", ord("Æ"): "a", ord("œ"): "o", ord("Œ"): "o"
}  # fmt: skip
for _first in (
    0x1F150,
    0x1F170,
    0x1F1E6,
):  # letters in dark circles, dark squares, and those that spell flags
    _LETTERS |= {_first + place: chr(ord("a") + place) for place in range(26)}

_SPELT_OUT = re.compile(r"(?<![^\W_])(?:[^\W_][\s.*_\-/|,·~+]{1,3}){2,}[^\W_](?![^\W_])")
_CHUNK = re.compile(r"[^\W_][^\W_@$!*#+€]*(?:[@$!*#+€]+[^\W_]+)*|[$@][^\W_]+(?:[@$!*#+€]+[^\W_]+)*|(?<!\?)\?++\s*+$")
_ELLIPSIS = re.compile(r"\.{2,}|…|\n+")
_STRETCHED = re.compile(r"(.)\1+")
_LEET = {"0": "o", "1": "il", "3": "e", "4": "a", "5": "s", "6": "g", "7": "t", "8": "b", "9": "g", "@": "a", "$": "s",
         "!": "il", "+": "t", "€": "e"}  # fmt: skip
_LONE_WORDS = frozenset({"i", "a", "o", "y", "u"})
_MAX_FORMS = 32
_MAX_REMEMBERED = 24  # letters; what is longer may be more than a word
_MAX_JOINED = 60  # letters; a longer word without a space is not taken apart


def plain(text: str) -> str:
    """The text in lower-case Latin letters without accents, apostrophes and invisible characters."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text.translate(_FIRST)))
    if decomposed.isascii():
        return decomposed.translate(_DROP).casefold()
    kept = "".join(char for char in decomposed if char == "\n" or not _is_unseen(char))
    return kept.translate(_LETTERS).translate(_DROP).casefold()


def _is_unseen(char: str) -> bool:
    category = unicodedata.category(char)
    return category[0] == "M" or category in {"Cc", "Cf", "Co", "Cs", "Cn"} or char in "\u115f\u1160\u3164\uffa0\u2800"


class Normaliser:
    """Rewrites messages into the words of one vocabulary.

    `vocabulary` holds the words the rules use (an ending `*` marks a beginning), `spellings` frequent
    misspellings, `fuzzy` those long words for which one wrong, missing, added or swapped letter is forgiven.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        *,
        spellings: Mapping[str, str] | None = None,
        fuzzy: Iterable[str] = (),
    ) -> None:
        entries = frozenset(vocabulary)
        self._words = frozenset(entry for entry in entries if not entry.endswith("*"))
        self._beginnings = tuple(entry[:-1] for entry in entries if entry.endswith("*") and len(entry) > 5)
        self._spellings = dict(spellings or {})
        self._known = self._words | {word.replace("'", "") for word in STOP_WORDS} | _LONE_WORDS
        self._fuzzy = tuple(fuzzy)
        self._guess = once_a_turn(lambda chunk: tuple(self._guessed(chunk)))
        self._longest = max(map(len, self._fuzzy), default=0) + 1  # one letter may be too many
        self._near = {shorter: word for word in self._fuzzy for shorter in (word, *_shortened(word))}

    def views(self, message: str) -> tuple[tuple[str, ...], ...]:
        """The message as sentences of words, each word followed by a blank; twice where line breaks mislead.

        The second view reads on over line breaks and dots of omission, which may stand within a sentence.
        """
        text = _SPELT_OUT.sub(self._rejoin, plain(message))
        readings = [text]
        if _ELLIPSIS.search(text.strip()):
            readings.append(_ELLIPSIS.sub(" ", text))
        views = [tuple(self._sentence(one) for one in sentences(reading)) for reading in readings]
        if len(views[0]) > 2 and sum(map(len, views[0])) < 12 * len(views[0]):
            views.append(("".join(views[0]),))
        return tuple(dict.fromkeys(views))

    def words(self, sentence: str) -> list[str]:
        """The words of one sentence that `plain` has been through."""
        found = [word for chunk in _CHUNK.findall(sentence) for word in self._resolved(chunk)]
        return self._merged(found)

    def _sentence(self, sentence: str) -> str:
        return "".join(f"{word} " for word in self.words(sentence))

    def _rejoin(self, match: re.Match[str]) -> str:
        letters = "".join(char for char in match.group() if char.isalnum())
        if self._is_word(letters):
            return letters
        pieces = self._split(self._unleeted(letters), forced=True)
        return " ".join(pieces) if pieces else match.group()

    def _resolved(self, chunk: str) -> Iterator[str]:
        if chunk[0] == "?":
            yield "?"
        elif chunk in self._spellings:
            yield from self._spellings[chunk].split(" ")
        elif self._is_word(chunk) or chunk.isdigit():
            yield chunk
        elif len(chunk) <= _MAX_REMEMBERED:
            yield from self._guess(chunk)
        else:
            yield from self._guessed(chunk)

    def _guessed(self, chunk: str) -> Iterator[str]:
        if any(sign in chunk for sign in "*#"):
            yield from self._uncensored(chunk)
            return
        word = self._unleeted(chunk)
        word = word if self._is_word(word) else self._unstretched(word)
        word = self._spellings.get(word, word)
        if " " in word or self._is_word(word):
            yield from word.split(" ")
            return
        yield from self._corrected(word)

    def _corrected(self, word: str) -> Iterator[str]:
        near = self._nearest(word)
        if near:
            yield near
        else:
            yield from (self._split(word, forced=len(word) >= 16) if len(word) >= 6 else None) or [word]

    def _uncensored(self, chunk: str) -> Iterator[str]:
        # Letter by letter: an expression made of what somebody wrote would stay in the cache of `re`.
        shape = self._unleeted(chunk)
        fitting = (word for word in self._fuzzy if len(word) > 2 and _has_shape(word, shape))
        squeezed = re.sub(r"[*#]", "", chunk)
        yield squeezed if self._is_word(squeezed) else next(fitting, squeezed)

    def _is_word(self, word: str) -> bool:
        return word in self._known or word.startswith(self._beginnings)

    def _unleeted(self, chunk: str) -> str:
        if chunk.isalpha() or chunk.isdigit():
            return chunk
        choices = [_LEET.get(sign, sign) for sign in chunk]
        spelt = ["".join(row) for row in itertools.islice(itertools.product(*choices), _MAX_FORMS)]
        return next((word for word in spelt if self._is_word(word) or self._is_word(_single(word))), spelt[0])

    def _unstretched(self, word: str) -> str:
        if not _STRETCHED.search(word):
            return word
        runs = [match.group() for match in re.finditer(r"(.)\1*", word)]
        choices = [(run,) if len(run) == 1 else (run[0] * 2, run[0]) for run in runs]
        spelt = ["".join(row) for row in itertools.islice(itertools.product(*choices), _MAX_FORMS)]
        if re.search(r"(.)\1\1", word):
            return next((one for one in spelt if self._is_word(one) or one in self._spellings), spelt[-1])
        return next((one for one in spelt if self._is_word(one)), word)

    def _nearest(self, word: str) -> str | None:
        if not 5 <= len(word) <= self._longest:
            return None
        for shorter in (word, *_shortened(word)):
            near = self._near.get(shorter)
            if near and len(near) > 5 and OSA.distance(word, near) <= 1:
                return near
        return None

    def _merged(self, found: list[str]) -> list[str]:
        merged: list[str] = []
        place = 0
        while place < len(found):
            size = next((size for size in (4, 3, 2) if self._belong(found[place : place + size], size)), 1)
            merged.append("".join(found[place : place + size]))
            place += size
        return merged

    def _belong(self, pieces: list[str], size: int) -> bool:
        """Whether the pieces are one word taken apart; a beginning counts if the last piece completes it."""
        if len(pieces) < size or all(self._is_word(piece) for piece in pieces):
            return False
        joined, without_last = "".join(pieces), "".join(pieces[:-1])
        if joined in self._words:
            return True
        begins = len(joined) > 6 and joined.startswith(self._beginnings)
        return begins and not without_last.startswith(self._beginnings)

    def _split(self, letters: str, *, forced: bool) -> list[str] | None:
        """The known words that the letters are made of, fewest first; None if letters are left and not `forced`."""
        if len(letters) > _MAX_JOINED * (4 if forced else 1):
            return None
        best: list[tuple[float, list[str]]] = [(0.0, [])]
        for end in range(1, len(letters) + 1):
            options = [(best[end - 1][0] + 4.0, [*best[end - 1][1], letters[end - 1]])]
            for start in range(max(0, end - 14), end):
                word = letters[start:end]
                if word in self._known:
                    options.append((best[start][0] + (1.0 if end - start > 1 else 1.6), [*best[start][1], word]))
            best.append(min(options, key=lambda option: option[0]))
        cost, pieces = best[-1]
        whole = all(piece in self._known for piece in pieces) and cost < len(letters) / 1.7
        return pieces if forced or whole else None


def _has_shape(word: str, shape: str) -> bool:
    """Whether a word is a censored one: letter by letter the same, or any letter for a sign."""
    return len(word) == len(shape) and all(
        "a" <= letter <= "z" if sign in "*#" else letter == sign for letter, sign in zip(word, shape, strict=True)
    )


def _single(word: str) -> str:
    return _STRETCHED.sub(r"\1", word)


def _shortened(word: str) -> tuple[str, ...]:
    return tuple(word[:place] + word[place + 1 :] for place in range(len(word)))
