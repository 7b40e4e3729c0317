"""What people say in many words and one sense: thanks, a goodbye, an insult, a wish, a question about who can read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from pydantic import Field

from engine.language.text import words
from engine.settings import Strict

_POLITE = "please thanks thank you ok okay bitte danke takk gracias merci that would be"
_COURTESY = frozenset(_POLITE.split())


def agrees(message: str, phrases: Iterable[str]) -> bool:
    """Whether a message is nothing but a yes (or a no): one of the phrases, at most with courtesy around it."""
    said = tuple(words(message))
    for wanted in map(_row, phrases):
        if wanted and said[: len(wanted)] == wanted and _COURTESY.issuperset(said[len(wanted) :]):
            return True
    return False


@lru_cache(maxsize=4096)
def _row(phrase: str) -> tuple[str, ...]:
    """The words of a phrase of ours."""
    return tuple(words(phrase))


class Saying(Strict):
    """One sense, known by its words: each word of a message must belong to it, so that no topic is overheard.

    `phrases`: whole messages. `cues`: words or rows of words one of which must occur, `also`: likewise, if given.
    `beside`: what may stand around them, together with the small words of the language. `most`: words of a message.
    """

    phrases: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    beside: str = ""
    most: int = Field(default=14, ge=1)

    def fits(self, message: str) -> bool:
        """Whether a message says this and nothing else."""
        return agrees(message, self.phrases) or self._in_other_words(message)

    def _in_other_words(self, message: str) -> bool:
        said = tuple(words(message))
        if not said or len(said) > self.most:
            return False
        told, also = _places(said, self.cues), _places(said, self.also)
        if not told or (self.also and not also):
            return False
        beside = set(self.beside.split())
        return all(place in told or place in also or word in beside for place, word in enumerate(said))


def _places(said: Sequence[str], phrases: tuple[str, ...]) -> frozenset[int]:
    """Where the phrases stand: the places of their words."""
    found: set[int] = set()
    for wanted in map(_row, phrases):
        if not wanted or wanted[0] not in said:
            continue
        for start in range(len(said) - len(wanted) + 1):
            if said[start : start + len(wanted)] == wanted:
                found.update(range(start, start + len(wanted)))
    return frozenset(found)
