"""How easy a text is to read, by each language's usual measure; in English that is the grade of the engine.

- LIX (Björnsson, 1968), for German and Norwegian: words a sentence and the share of words of more than six letters. Lower
  is easier.
- Fernández Huerta (1959), for Spanish, and Kandel and Moles (1958), for French: words a sentence and syllables a word.
  Higher is easier.

Syllables are counted by groups of vowels; a list's items count as sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_WORD = re.compile(r"[^\W\d_]+")
_END = re.compile(r"[.!?:…]+(?=\s|$)")
_ITEM = re.compile(r"^\s*(?:[-*•–]|\d+[.)])\s+(.*?)[.]?$", re.M)
_VOWELS = re.compile(r"[aeiouyáéíóúüàâèêëîïôùûœæøåäö]+")
_SILENT = re.compile(r"(?<=[^aeiouy])(?:es|ent|e)$")
_LONG = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Ease:
    """A measure's name, what it gives a text, and whether more of it is harder."""

    name: str
    measured: Callable[[str], float]
    harder_upwards: bool

    def is_harder(self, value: float, limit: float) -> bool:
        """Whether a value is beyond a limit."""
        return value > limit if self.harder_upwards else value < limit


def _counted(text: str) -> tuple[list[str], int]:
    plain = _ITEM.sub(r"\1.", text)
    return _WORD.findall(plain.casefold()), max(1, len(_END.findall(plain)))


def lix(text: str) -> float:
    """Björnsson's LIX; 0 for a text without words."""
    said, ends = _counted(text)
    return len(said) / ends + 100 * sum(len(word) > _LONG for word in said) / len(said) if said else 0.0


def fernandez_huerta(text: str) -> float:
    """Fernández Huerta's lecturabilidad; 100 for a text without words."""
    said, ends = _counted(text)
    if not said:
        return 100.0
    syllables = sum(max(1, len(_VOWELS.findall(word))) for word in said)
    return 206.84 - 60 * syllables / len(said) - 1.02 * len(said) / ends


def kandel_moles(text: str) -> float:
    """Kandel and Moles' ease for French; 100 for a text without words."""
    said, ends = _counted(text)
    if not said:
        return 100.0
    syllables = sum(max(1, len(_VOWELS.findall(_SILENT.sub("", word)))) for word in said)
    return 207 - 1.015 * len(said) / ends - 73.6 * syllables / len(said)


EASE: Mapping[str, Ease] = {
    "de": Ease(name="LIX", measured=lix, harder_upwards=True),
    "nb": Ease(name="LIX", measured=lix, harder_upwards=True),
    "es": Ease(name="Fernández Huerta", measured=fernandez_huerta, harder_upwards=False),
    "fr": Ease(name="Kandel-Moles", measured=kandel_moles, harder_upwards=False),
}
"""The measure of each language but English."""
