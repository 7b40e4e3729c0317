"""The language of a message: py3langid where it is not plainly that of the texts, and only where it is sure.

Measured on 14,882 messages of authors in five languages: right for 0.95 to 1.0 of those with four words or more, for half of the
shorter ones; so a short message is judged by its own words among the languages we have, and the one before it counts as much as
plain evidence does: a few words leave the language of a conversation only where they are plainly of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from engine.language.ordinary import ordinary_words
from engine.language.text import STOP_WORDS, words
from engine.types import Message, Role

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SURE = 0.3
"""From this probability on another language than the usual one is believed."""
LEAST = 4
"""A message with fewer words is weighed against the language of what was written before it."""
PLAIN = 0.6
"""With so large a share of everyday English words a message is plainly English."""
STAYING = 7.5
"""So many times likelier another language must be before a short message leaves that of the ones before; chosen with 385
short messages of authors in view, of which it keeps 0.97 in a conversation's language and finds 0.70 of those that leave it."""
LEANING = 2.0
"""So many times likelier a first message of two or three words must be of another language than the usual one; of 94 such
messages by authors 0.89 are read rightly where their language is the usual one (0.84 without), 0.85 where English is (0.84)."""
SHORTEST = 2
"""A single word is taken for one of the language before it; as the first, for that of a greeting, or of the usual one."""
OURS = frozenset({"en", "de", "es", "fr", "nb"})
LONGEST = 400
"""Characters that are looked at."""
_READ_AS = {
    **dict.fromkeys(("no", "nn", "da", "sv"), "nb"),
    **dict.fromkeys(("an", "ext"), "es"),
    **dict.fromkeys(("gcf", "gcr", "oc", "wa"), "fr"),
    "lb": "de",
}
"""Near relatives that a few words or a dialect are mistaken for; who writes them reads the language of our texts."""


@dataclass(frozen=True, kw_only=True)
class LanguageDetector:
    """Says in which language somebody writes. `usual`: that of the texts, as ISO 639-1 (`nb` for Norwegian).

    `greetings`: single words that somebody may begin with, each of one language only.
    """

    usual: str = "en"
    greetings: Mapping[str, str] = field(default_factory=dict)

    def of(self, message: str, earlier: Sequence[Message] = (), usual: str | None = None) -> str:
        """The code of the language, the usual one in doubt; `usual` in place of the detector's own."""
        said = words(message[:LONGEST])
        if len(said) < LEAST:
            return self._of_a_few(said, message, earlier, usual)
        usual = usual or self.usual
        if usual == "en" and _plainly_english(said):
            return usual
        code, chance = identifier().classify(message[:LONGEST])
        return _READ_AS.get(code, str(code)) if chance >= SURE else self._before(earlier, usual) or usual

    def _before(self, earlier: Sequence[Message], usual: str | None) -> str | None:
        """The language of the last message that has more than one word, None where there is none."""
        last = next((place for place in reversed(range(len(earlier))) if _shows(earlier[place])), None)
        return None if last is None else self.of(earlier[last].content, earlier[:last], usual)

    def _of_a_few(self, said: Sequence[str], message: str, earlier: Sequence[Message], usual: str | None) -> str:
        """The language of one to three words, weighed against that of the last message that has more than one."""
        before = self._before(earlier, usual)
        expected = before or usual or self.usual
        if len(said) < SHORTEST:
            return self.greetings.get("".join(said), expected) if before is None else expected
        chances = _chances(message[:LONGEST], OURS | {expected})
        if _plainly_english(said):
            chances["en"] *= STAYING
        chances[expected] *= LEANING if before is None else STAYING
        return max(chances, key=lambda code: (chances[code], code == expected))


def _shows(one: Message) -> bool:
    return one.role is Role.USER and len(words(one.content[:LONGEST])) >= SHORTEST


def _chances(text: str, codes: Iterable[str]) -> dict[str, float]:
    """How likely a text is of each of these languages, by the likeliest of those that are read as it."""
    found = dict.fromkeys(codes, 0.0)
    for code, chance in identifier().rank(text):
        ours = _READ_AS.get(code, str(code))
        if ours in found:
            found[ours] = max(found[ours], float(chance))
    return found


@cache
def identifier() -> LanguageIdentifier:
    """One for the process, as it knows nothing of anybody; loaded with the first message that needs it, in half a second."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _plainly_english(said: Sequence[str]) -> bool:
    return sum(map(is_english, said)) >= PLAIN * len(said)


def is_english(word: str) -> bool:
    """Whether a word is an everyday one of English."""
    return word in STOP_WORDS or word in ordinary_words()
