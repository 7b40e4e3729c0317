"""Where a reply departs from its cited sources in ways that code is sure of: figures, a meaning turned round, quotations.

Drafts come in the five languages of the texts and may put a source in other words, so only this is held against them: a
share, time or dose that nothing they go by gives; a sentence that is a source's own but for a "not" more or less, or for
a word that means the reverse; words in quotation marks, said to be the source's, that are not. Number words are
understood in English. Everything is compared folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from engine.language.text import fold, sentences, squash, words

NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "eighteen": 18, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
}  # fmt: skip
_FIGURE = r"(\d+(?:[.,]\d+)?|" + "|".join(NUMBER_WORDS) + r")"
_TO = r"(?: ?(?:to|or|and|-|bis|oder|und|a|o|y|ou|et|til|eller|og) ?)"
# In days. A night counts as a day, so that three nights are told as three days.
_DAYS = (
    (1 / 86400, r"seconds?|secs?|sekunden?|sekunder|segundos?|secondes?"),
    (1 / 1440, r"minut(?:e|en|es|o|os|t|ter)|mins?"),
    (1 / 24, r"hours?|stunden?|horas?|heures?|timer"),
    (1, r"days?|nights?|tage?n?|nachte?n?|dias?|noches?|jours?|nuits?|dag(?:er)?|natt|netter|dogn"),
    (7, r"weeks?|wochen?|semanas?|semaines?|uker?"),
    (30, r"months?|monate?n?|mes(?:es)?|mois|maned(?:er)?"),
    (365, r"years?|jahre?n?|anos?|ans|annees?|ar"),
)
_MILLIGRAMS = (
    (1, r"mg|milligram(?:m?es?|mer?|s)?|miligramos?"),
    (0.001, r"mcg|μg|microgram(?:s|mes?)?|mikrogramm?|microgramos?"),
    (1000, r"g|gram(?:s|m|mes|mos)?|gramos?|grammes?"),
)
_SPAN, _DOSE = (
    re.compile(rf"\b{_FIGURE}(?:{_TO}{_FIGURE})?[ -]?(?:{'|'.join(f'({unit})' for _, unit in units)})\b")
    for units in (_DAYS, _MILLIGRAMS)
)
_PERCENT = re.compile(
    rf"\b{_FIGURE}(?:{_TO}{_FIGURE})? ?(?:%|percent\b|per cent\b|prozent\b|por ciento\b|pour cent\b|prosent\b)"
)
_RATIO = re.compile(
    rf"\b{_FIGURE} (?:\w+ )?(?:in|out of|of|von|de|de cada|sur|av)(?: every| each)? {_FIGURE}\b(?!/| ?(?:%|mg\b|ml\b))"
)
_CLOCK = re.compile(
    r"\b(?:kl\.? ?(\d{1,2})(?:[:.](\d\d))?|(\d{1,2}):(\d\d)|(\d{1,2})(?:\.(\d\d))? ?(?:[ap]\.?m\b|uhr\b|o'clock))"
)
# What a source may say in words for a figure, so that a draft may give the figure.
_SINGLE = re.compile(
    r"\b(?:an?|one|each|every|per|once|ein(?:e[nrms]?)?|pro|un[ae]?|cada|par|chaque|en|et|hver) "
    rf"(?:{'|'.join(f'({unit})' for _, unit in _DAYS)}|(time))\b"
)
_ADVERBS = {"hourly": 1 / 24, "daily": 1, "nightly": 1, "weekly": 7, "monthly": 30, "yearly": 365, "annual": 365}
_PARTS = {"half": 50, "halve": 50, "third": 100 / 3, "thirds": 200 / 3, "quarter": 25, "quarters": 75, "fifth": 20,
          "tenth": 10, "halfte": 50, "mitad": 50, "moitie": 50, "halvparten": 50, "drittel": 100 / 3, "viertel": 25,
          "tercio": 100 / 3, "cuarto": 25, "tiers": 100 / 3, "quart": 25, "tredel": 100 / 3}  # fmt: skip
_LOOSE = re.compile(rf"\b{_FIGURE} (?:\w+ ){{1,3}}?(?:{'|'.join(f'({unit})' for _, unit in _DAYS)})\b")
_SHORT_HOURS = re.compile(r"\b(\d{1,2}(?:[.,]\d)?) ?(?:h|hrs?|std|t)(\d\d)?\b")  # how long, or the hour of the day
_THOUSANDS = re.compile(r"(?<=\d)[ ,.](?=\d{3}\b)")
_NEAR = 0.1  # twelve months are a year
_HALF_DAY = 720

_NEGATORS = frozenset(
    [
        *("not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot"),
        *("nicht", "nie", "niemals", "nichts", "niemand", "ohne", "weder"),
        *("nunca", "jamas", "nada", "nadie", "tampoco", "ningun", "ninguna", "ninguno"),
        *("pas", "jamais", "rien", "sans", "aucun", "aucune"),
        *("ikke", "aldri", "ingen", "ingenting", "uten", "verken"),
    ]
)
_FILLERS = frozenset(["do", "does", "did", "ne", "n", "the"])
_TURNS = (
    "more less", "before after", "above below", "higher lower", "always never", "better worse", "increase decrease",
    "increases decreases", "increases reduces", "raises lowers", "safe dangerous", "common rare", "mehr weniger",
    "vor nach", "hoher niedriger", "immer nie", "besser schlechter", "mas menos", "antes despues", "mejor peor",
    "siempre nunca", "aumenta reduce", "plus moins", "avant apres", "mieux pire", "toujours jamais", "mer mindre",
    "for etter", "hoyere lavere", "bedre verre", "alltid aldri",
)  # fmt: skip
_OPPOSITES = frozenset(frozenset(one.rstrip("s") for one in pair.split()) for pair in _TURNS)
_PARTICLE = re.compile(r"^(?:no|nein|non|nei|nope)[,.!:] +", re.I)
_SHORTEST = 5  # words from which a sentence can be somebody else's
_COPIED = 0.9
_MYTH = re.compile(r"\bm(?:yth|ythe|itos?|yte[rn]?)\b|\bmyths\b|\bmythen\b")

_ALTERING = (
    "stop|quit|skip|double|halve|drop|ditch|leave out|throw away|come off|cut down|reduce|increase|raise|lower|restart"
)
_CHANGE = re.compile(
    rf"^(?:(?:please|just|simply|then|so|yes|ok|okay)[, ]+)*(?:{_ALTERING})\b"
    r"|\byou (?:should|can|could|may|must|might|need to|have to|ought to|are free to)(?: just| simply| safely| now| also)* "
    rf"(?:{_ALTERING})\b"
)
_WITH_SOMEBODY = re.compile(
    r"\b(?:doctor|prescriber|psychiatrist|nurse|pharmacist|team|clinic|together|agreed?|if|unless|when|how)\b"
)

_QUOTED = re.compile(r"[“„«\"]([^“”„«»\"\n]{12,400})[”“»\"]")
_SAID_THERE = re.compile(
    r"\b(?:sources?|manual|guidelines?|the (?:text|page)|according to|quellen?|laut|leitlinien?|fuentes?|segun|guia"
    r"|selon|kilden?|ifolge|retningslinjen?)\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """A figure with what it counts: `share` in percent, `time` in days, `dose` in milligrams, `clock` in minutes."""

    kind: str
    value: float
    text: str

    def is_among(self, known: Iterable[Quantity]) -> bool:
        """Whether one of these says the same, rounded or in another unit."""
        return any(one.kind == self.kind and self._fits(one.value) for one in known)

    def _fits(self, other: float) -> bool:
        if self.kind == "time":
            return abs(self.value - other) <= _NEAR * max(self.value, other)
        return abs(self.value - other) <= (1 if self.kind == "share" else 1e-6)


def quantities(text: str) -> Iterator[Quantity]:
    """Every share, time, dose and hour of the day that a text gives as a figure."""
    folded = _THOUSANDS.sub("", fold(text))
    yield from _measured(_DOSE, "dose", [factor for factor, _ in _MILLIGRAMS], folded)
    yield from _measured(_SPAN, "time", [factor for factor, _ in _DAYS], folded)
    for match in _PERCENT.finditer(folded):
        yield from (Quantity(kind="share", value=_value(one), text=match[0]) for one in match.groups() if one)
    for match in _RATIO.finditer(folded):
        top, bottom = _value(match[1]), _value(match[2])
        if 0 < top <= bottom <= 1000 and bottom > 1:
            yield Quantity(kind="share", value=100 * top / bottom, text=match[0])
    for match in _CLOCK.finditer(folded):
        hour, minutes = (int(one or 0) for one in (match[1] or match[3] or match[5], match[2] or match[4] or match[6]))
        if hour <= 24 and minutes < 60:  # whether noon or midnight is meant is often left to the reader
            yield Quantity(kind="clock", value=(60 * hour + minutes) % _HALF_DAY, text=match[0])


def _measured(pattern: re.Pattern[str], kind: str, factors: list[float], folded: str) -> Iterator[Quantity]:
    for match in pattern.finditer(folded):
        factor = factors[next(place for place, unit in enumerate(match.groups()[2:]) if unit)]
        for figure in (match[1], match[2]):
            if figure and figure != "one":  # "one day things may change"
                yield Quantity(kind=kind, value=_value(figure) * factor, text=match[0])


def _implied(folded: str) -> Iterator[Quantity]:
    """What a text gives in other ways than a figure with its unit."""

    def given(kind: str, value: float) -> Quantity:
        return Quantity(kind=kind, value=value, text="")

    for match in (*_SINGLE.finditer(folded), *_LOOSE.finditer(folded)):
        units = match.groups()[-len(_DAYS) :] if match.re is _LOOSE else match.groups()[: len(_DAYS)]
        factor = next((days for (days, _), unit in zip(_DAYS, units, strict=True) if unit), 1 / 24)
        yield given("time", factor * (_value(match[1]) if match.re is _LOOSE else 1))
    for match in _SHORT_HOURS.finditer(folded):
        yield given("time", _value(match[1]) / 24)
        yield given("clock", (60 * _value(match[1]) + int(match[2] or 0)) % _HALF_DAY)
    said = words(folded)
    yield from (given("time", days) for word, days in _ADVERBS.items() if word in said)
    if "half" in said:
        yield from (given("time", days) for days in (1 / 48, 182.5, 547.5))
    for before, word in zip(["", *said], said, strict=False):
        if word in _PARTS:
            yield from (given("share", _PARTS[word] * times) for times in (1, NUMBER_WORDS.get(before, 1)))
    for match in re.finditer(rf"\b{_FIGURE} o'clock", folded):
        yield given("clock", 60 * _value(match[1]) % _HALF_DAY)


def _hours_told(text: str) -> Iterator[Quantity]:
    """Any small figure that a person writes may be an hour of the day: "he opens at 8"."""
    for match in re.finditer(r"\b(\d{1,2})\b", fold(text)):
        yield Quantity(kind="clock", value=60 * _value(match[1]) % _HALF_DAY, text="")


def _value(figure: str) -> float:
    return float(NUMBER_WORDS[figure]) if figure in NUMBER_WORDS else float(figure.replace(",", "."))


def foreign_quantities(reply: str, cited: Iterable[CitedText], told: Iterable[str] = ()) -> tuple[Quantity, ...]:
    """The figures of a reply that neither a cited text gives nor `told`, what the person wrote.

    Without a cited text only doses: what is said in general may count.
    """
    sources = tuple(cited)
    known = [one for text in sources for one in text.given]
    known += [one for text in told for one in (*_given(text), *_hours_told(text))]
    # Nine in ten who do not is the same figure as one in ten who do.
    known += [Quantity(kind="share", value=100 - one.value, text="") for one in known if one.kind == "share"]
    found = (one for one in quantities(reply) if sources or one.kind == "dose")
    return tuple(one for one in found if not one.is_among(known))


@dataclass(frozen=True, kw_only=True, slots=True)
class _BareSentence:
    """A sentence as bare words, and before each of them (and at the end) how often something is denied."""

    text: str
    bare: tuple[str, ...]
    denials: tuple[int, ...]

    @classmethod
    def of(cls, sentence: str) -> _BareSentence:
        bare, denials, pending = [], [], 0
        for word in _spelt_out(words(_PARTICLE.sub("", sentence))):
            if word in _NEGATORS:
                pending += 1
            elif word not in _FILLERS:
                bare.append(word.rstrip("s") or word)
                denials.append(pending)
                pending = 0
        return cls(text=sentence, bare=tuple(bare), denials=(*denials, pending))


def _spelt_out(said: Iterable[str]) -> Iterator[str]:
    """Words with their negation apart: "don't", "can't", "cannot", "keine", "n'est"."""
    for word in said:
        if word.endswith("n't"):
            yield from ("not", {"can't": "can", "won't": "will"}.get(word, word[:-3]))
        elif word == "cannot":
            yield from ("not", "can")
        elif word.startswith("kein"):
            yield from ("nicht", word[1:])
        else:
            yield word.removeprefix("n'")


@dataclass(frozen=True, kw_only=True, eq=False)
class CitedText:
    """A text that a reply rests on, taken apart as far as somebody asks, once, and kept no longer than the text."""

    text: str

    @cached_property
    def given(self) -> tuple[Quantity, ...]:
        """What it gives, in figures or in words."""
        return _given(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, folded."""
        return frozenset(words(self.text))

    @cached_property
    def squashed(self) -> str:
        """Its letters and digits, for finding a quotation."""
        return squash(self.text)

    @cached_property
    def _lines(self) -> tuple[_BareSentence, ...]:
        return tuple(map(_BareSentence.of, _told_as_true(self.text)))


def _given(text: str) -> tuple[Quantity, ...]:
    return (*quantities(text), *_implied(fold(text)))


def _told_as_true(text: str) -> list[str]:
    """The sentences of a text but for questions, myths and what others say."""
    found: list[str] = []
    myths = False
    for block in text.split("\n"):
        if block.startswith("#"):
            myths = bool(_MYTH.search(fold(block)))
        elif not myths:
            found += [one for one in sentences(block) if _tells(one)]
    return found


def _tells(sentence: str) -> bool:
    return not (sentence.endswith("?") or sentence[0] in '"“„«' or _MYTH.search(fold(sentence)))


def turned_sentences(reply: str, cited: Iterable[CitedText]) -> Iterator[tuple[str, str]]:
    """The sentences of a reply that are a cited one with its meaning turned round, each with that one."""
    lines = [line for text in cited for line in text._lines]
    for sentence in sentences(reply):
        mine = _BareSentence.of(sentence)
        if len(mine.bare) < _SHORTEST or not _tells(sentence):
            continue
        near = [(line, turned) for line in lines if (turned := _turned(mine, line)) is not None]
        if near and all(turned for _, turned in near):
            yield sentence, near[0][0].text


def _turned(mine: _BareSentence, theirs: _BareSentence) -> bool | None:
    """Whether a near copy says the reverse; None where it is none."""
    size, many = len(mine.bare), sum(mine.denials)
    for start in range(len(theirs.bare) - size + 1):
        if theirs.bare[start : start + size] == mine.bare:
            inside = sum(theirs.denials[start : start + size])
            return many not in {inside, inside + theirs.denials[start + size]}
    if len(set(mine.bare) & set(theirs.bare)) < _COPIED * max(size, len(theirs.bare)) - 1:
        return None
    matcher = SequenceMatcher(None, mine.bare, theirs.bare, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    for _, left, right, start, end in changes:
        if frozenset((*mine.bare[left:right], *theirs.bare[start:end])) in _OPPOSITES and end - start == 1:
            return True
    return many != sum(theirs.denials) if matcher.ratio() >= _COPIED else None


def changes_treatment(sentence: str) -> bool:
    """Whether a sentence tells or allows somebody to stop, skip or change a treatment by themselves. English only."""
    folded = fold(sentence)
    if _WITH_SOMEBODY.search(folded) or not _NEGATORS.isdisjoint(_spelt_out(words(folded))):
        return False
    return _CHANGE.search(folded) is not None


def false_quotations(reply: str, cited: Iterable[CitedText], told: Iterable[str] = ()) -> Iterator[str]:
    """What stands in quotation marks, said to be a source's words, and neither in a cited text nor in `told`."""
    quoted = [(match, squash(match[1])) for match in _QUOTED.finditer(reply)]
    quoted = [(match, bare) for match, bare in quoted if bare.count(" ") >= 3]
    if not quoted:
        return
    texts = [f" {one} " for one in (*(text.squashed for text in cited), *map(squash, told))]
    for match, bare in quoted:
        around = fold(f"{reply[max(0, match.start() - 60) : match.start()]} {reply[match.end() : match.end() + 40]}")
        if _SAID_THERE.search(around) and not any(f" {bare} " in text for text in texts):
            yield match[1]
