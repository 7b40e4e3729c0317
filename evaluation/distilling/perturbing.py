"""Sentences of a source made wrong by one small change each, always in the same way for the same dice."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence

from engine.judges.sentences import split
from engine.knowledge.source import Source

_SHORTEST, _LONGEST = 7, 38
_NUMBER = re.compile(r"\b(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|half|a third|a quarter)\b", re.I)
_NUMBERS = ("two", "three", "four", "five", "seven", "eight", "nine", "ten", "half", "a third", "a quarter")
_UNIT = re.compile(r"\b(minute|hour|day|week|month|year)(s?)\b")
_UNITS = ("minute", "hour", "day", "week", "month", "year")
_CARE: Mapping[str, str] = {
    r"\bmay not\b": "will never",
    r"\b(?:may|might|can|could)\b(?! not)": "will always",
    r"\b(?:some|many|most) people\b": "all people",
    r"\b(?:sometimes|often|usually|mostly|generally)\b": "always",
    r"\b(?:some|many|most)\b(?! of)": "all",
    r"\btends? to\b": "always will",
    r"\b(?:about|around|nearly|almost)\b": "exactly",
}
_NEGATION: Mapping[str, str] = {
    r"\b(?:do|does|did|is|are|was|were|should|would|can|could|has|have) not\b": "",
    r"\bcannot\b": "can",
    r"\b(can|may|might|will|should|could|is|are|was|were)\b(?! not)": r"\1 not",
    r"\bnever\b": "always",
    r"\bno\b": "every",
    r"\bwithout\b": "with",
}
_REVERSED: tuple[tuple[str, str], ...] = (
    ("more", "less"), ("higher", "lower"), ("better", "worse"), ("before", "after"), ("early", "late"), ("help", "harm"),
    ("helps", "harms"), ("common", "rare"), ("increase", "decrease"), ("slowly", "quickly"), ("often", "seldom"),
    ("safe", "dangerous"), ("first", "last"), ("easier", "harder"), ("stronger", "weaker"), ("start", "stop"),
    ("younger", "older"), ("good", "bad"), ("longer", "shorter"), ("reduces", "raises"), ("lowers", "raises"),
)  # fmt: skip
_SWAPPED_WORDS: tuple[tuple[str, str], ...] = (
    ("medicines", "herbal teas"), ("medicine", "vitamin"), ("antipsychotics", "antidepressants"), ("doctor", "astrologer"),
    ("psychiatrist", "dentist"), ("family", "employer"), ("sleep", "appetite"), ("voices", "headaches"), ("stress", "noise"),
    ("women", "men"), ("symptoms", "allergies"), ("brain", "liver"), ("nurse", "pharmacist"), ("smoking", "coffee"),
    ("alcohol", "sugar"), ("weight", "blood pressure"), ("treatment", "surgery"), ("support", "money"), ("young", "elderly"),
)  # fmt: skip
Change = Callable[[str, random.Random], str | None]


def sentences_of(source: Source) -> tuple[str, ...]:
    """The whole sentences of a source that can stand alone in a reply; headings and fragments are left out."""
    found = []
    for one in split(source.text):
        text = " ".join(one.text.split())
        if not one.heading and _SHORTEST <= len(text.split()) <= _LONGEST and text[0].isupper() and text[-1] == ".":
            found.append(text)
    return tuple(found)


def changed_number(sentence: str, dice: random.Random) -> str | None:
    """Another figure in the place of one; years and counts alike."""
    match = _NUMBER.search(sentence)
    if match is None:
        return None
    old = match[1]
    new = str(int(old) + dice.choice((3, 7, 12))) if old.isdigit() else _other(_NUMBERS, old.casefold(), dice)
    return _put(sentence, match, new)


def changed_unit(sentence: str, dice: random.Random) -> str | None:
    """Months for weeks, hours for days."""
    match = _UNIT.search(sentence)
    return None if match is None else _put(sentence, match, f"{_other(_UNITS, match[1], dice)}{match[2]}")


def made_certain(sentence: str, dice: random.Random) -> str | None:
    """A careful word made into a sure one."""
    return _first(sentence, _CARE)


def turned(sentence: str, dice: random.Random) -> str | None:
    """A negation put in or taken out."""
    return _first(sentence, _NEGATION)


def reversed_(sentence: str, dice: random.Random) -> str | None:
    """A word of direction made into its opposite."""
    return _first(sentence, {rf"\b{a}\b": b for pair in _REVERSED for a, b in (pair, pair[::-1])})


def other_thing(sentence: str, dice: random.Random) -> str | None:
    """The same said of something else."""
    pairs = list(_SWAPPED_WORDS)
    dice.shuffle(pairs)
    return _first(sentence, {rf"\b{old}\b": new for old, new in pairs})


CHANGES: Mapping[str, Change] = {
    "number": changed_number,
    "unit": changed_unit,
    "certainty": made_certain,
    "negation": turned,
    "direction": reversed_,
    "subject": other_thing,
}
WHY: Mapping[str, str] = {
    "number": "A figure of the source is changed.",
    "unit": "A span of time of the source is changed.",
    "certainty": "What the source says with care is said as certain.",
    "negation": "A negation of the source is turned round.",
    "direction": "A direction of the source is reversed.",
    "subject": "What the source says of one thing is said of another.",
}


def _first(sentence: str, changes: Mapping[str, str]) -> str | None:
    for pattern, new in changes.items():
        made, count = re.subn(pattern, new, sentence, count=1)
        if count:
            made = re.sub(r" {2,}", " ", made)
            return made[0].upper() + made[1:]
    return None


def _other(choices: Sequence[str], old: str, dice: random.Random) -> str:
    return dice.choice([one for one in choices if one != old])


def _put(sentence: str, match: re.Match[str], new: str) -> str:
    made = sentence[: match.start()] + new + sentence[match.end() :]
    return made[0].upper() + made[1:]
