"""More training messages out of labelled ones, so that what is learnt is danger and not an author's habits.

The authors of the harmless messages end most of them with a question, those of the urgent ones hardly any. So
questions are taken away from harmless messages and added to urgent ones, danger is put in the middle of
ordinary text, ordinary texts are joined, and letters are mistyped. What is made up counts less than what was written.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine import sentences

MISTYPED, RETOLD = 0.5, 0.1  # weights of made-up examples
_TYPO_RATE = 0.15  # of the longer words


@dataclass(frozen=True)
class TrainingExample:
    """A text to learn from; `of`: the number of the message it comes from; `made`: nobody wrote it as it is."""

    text: str
    lang: str
    urgent: bool
    weight: float
    of: int
    made: bool = False


def augmented(examples: Iterable[TrainingExample]) -> Iterator[TrainingExample]:
    """The examples and what is made of them, always in the same way."""
    dice = random.Random(1)
    every = list(examples)
    harmless: dict[str, list[list[str]]] = {}
    for one in every:
        if not one.urgent:
            harmless.setdefault(one.lang, []).append(list(sentences(one.text)))
    for one in every:
        yield one
        yield replace(one, text=mistyped(one.text, dice), weight=one.weight * MISTYPED, made=True)
        around = dice.choice(harmless[one.lang])
        made = _told_among(one.text, around, dice) if one.urgent else _told_otherwise(one.text, around, dice)
        for text in made:
            yield replace(one, text=text, weight=one.weight * RETOLD, made=True)


def _told_among(text: str, around: Sequence[str], dice: random.Random) -> Iterator[str]:
    """Danger beside a harmless question, and danger in the middle of harmless text."""
    questions = [sentence for sentence in around if sentence.rstrip().endswith("?")]
    if questions:
        yield f"{text} {questions[-1]}" if dice.random() < 0.5 else f"{questions[-1]} {text}"
    place = dice.randrange(len(around) + 1)
    yield " ".join([*around[:place], text, *around[place:]])


def _told_otherwise(text: str, around: Sequence[str], dice: random.Random) -> Iterator[str]:
    """The same without its question, and together with other harmless text."""
    if "?" in text:
        parts = list(sentences(text))
        yield " ".join(parts[:-1]) if len(parts) > 1 and dice.random() < 0.5 else text.replace("?", "")
    yield " ".join([text, *around])


def mistyped(text: str, dice: random.Random) -> str:
    """The text with a letter missing, swapped or doubled here and there."""
    found = text.split(" ")
    for number, word in enumerate(found):
        if len(word) > 3 and dice.random() < _TYPO_RATE:
            at, kind = dice.randrange(1, len(word) - 1), dice.random()
            if kind < 0.4:
                found[number] = word[:at] + word[at + 1 :]
            elif kind < 0.7:
                found[number] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            else:
                found[number] = word[:at] + word[at] + word[at:]
    return " ".join(found)
