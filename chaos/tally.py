"""What came of messages: answered, doubled, lost, out of order, unjudged.

An answer of the model's ends with the number of its question. Where the model is in trouble, people read sentences of the
house instead, which have none: they are counted for each chat, and stand for its questions that have no numbered answer.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.scripts import REFINED_MARK
from chaos.model_server import GARBAGE, QUESTIONS, rejected

_NUMBER = re.compile(r"\((\d{4,})\)\s*$")
NOTICES = (
    "Hello. I am",
    "Thank you. What would you like to know?",
    "I am still working on it",
    "Which country are you in?",
    "I cannot take messages at the moment",
    "I have several messages from you",
    "I could not open what I kept",
    "For today I can only quote",
)
"""Sentences that stand beside an answer, never in place of one."""
SORRY = "Something went wrong on my side"


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A question. `at`: by the clock that never jumps, as for all times here."""

    chat: int
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A message that the bot has sent."""

    chat: int
    at: float
    text: str

    @property
    def number(self) -> int | None:
        """The question that a model's answer belongs to; None for a sentence of the house."""
        found = _NUMBER.search(self.text)
        return int(found[1]) if found else None

    @property
    def answers(self) -> bool:
        """Whether it stands in place of an answer."""
        return self.number is not None or not self.text.startswith(NOTICES)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The counts. `quoted`: answers without a model; `sorry`: those of them that only apologise.

    `took`: seconds from each question that has a numbered answer to that.
    """

    messages: int
    answered: int
    doubled: int
    lost: int
    out_of_order: int
    unjudged: int
    quoted: int
    sorry: int
    took: Mapping[int, float]


def tally(
    said: Mapping[int, Said],
    shown: Sequence[Shown],
    accepted: Mapping[int, int],
    order: Mapping[int, Sequence[int]] | None = None,
) -> Tally:
    """Count. `accepted`: how many of the judges' questions were answered well, by number; `order`: of each chat's questions as
    they were taken, where that is not the order in which they were written."""
    answers = [one for one in shown if one.answers]
    times: Counter[int] = Counter()
    first: dict[int, float] = {}
    orders: dict[int, list[int]] = defaultdict(list)
    spare: Counter[int] = Counter()
    for one in answers:
        if (number := one.number) is None:
            spare[one.chat] += 1
        else:
            times[number] += 1
            if number not in first:
                first[number] = one.at
                orders[one.chat].append(number)
    open_questions = Counter(one.chat for number, one in said.items() if number not in times)
    lost = sum(max(0, count - spare[chat]) for chat, count in open_questions.items())
    extra = sum(max(0, count - open_questions[chat]) for chat, count in spare.items())
    return Tally(
        messages=len(said),
        answered=len(said) - lost,
        doubled=sum(times.values()) - len(times) + extra,
        lost=lost,
        out_of_order=sum(_displaced(one, (order or {}).get(chat)) for chat, one in orders.items()),
        unjudged=sum(_unjudged(one, said, accepted) for one in shown),
        quoted=sum(spare.values()),
        sorry=sum(one.text.startswith(SORRY) for one in answers),
        took={number: at - said[number].at for number, at in first.items() if number in said},
    )


def _displaced(answered: Sequence[int], order: Sequence[int] | None) -> int:
    """How many answers came before one to an earlier question."""
    place = {number: at for at, number in enumerate(order if order is not None else sorted(answered))}
    found = [place[number] for number in answered if number in place]
    return sum(later < earlier for earlier, later in pairwise(found))


def _unjudged(one: Shown, said: Mapping[int, Said], accepted: Mapping[int, int]) -> bool:
    """Whether a person reads what no judges, or not all, have accepted; or what belongs to somebody else."""
    if GARBAGE in one.text:
        return True
    if one.number is None:
        return False
    if one.number not in said or said[one.number].chat != one.chat or accepted.get(one.number, 0) < QUESTIONS:
        return True
    return rejected(one.number) and REFINED_MARK not in one.text
