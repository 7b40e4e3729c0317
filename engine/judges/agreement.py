"""What word coverage cannot see: whether claim and source agree in numbers, negation, direction, strength."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from engine.judges.alignment import departures
from engine.judges.findings import Disagreement, Finding
from engine.judges.lexicon import Lexicon
from engine.judges.sentences import clauses, content_count
from engine.judges.support import SourceIndex, Support, Unit, content_stems
from engine.language.text import STOP_WORDS, fold, stem, words
from engine.memo import once_a_turn

_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100,
}  # fmt: skip
_FIGURE = r"(\d+(?:[.,]\d+)?|" + "|".join(_WORDS) + r")"
_RATIO = re.compile(rf"\b{_FIGURE} (?:people |persons |twins )?(?:in|out of|of)(?: every| each)? {_FIGURE}\b")
_PERCENT = re.compile(rf"\b{_FIGURE} ?(?:%|percent\b|per cent\b)")
_PART = re.compile(r"\b(?:(one|a|two|three) )?(half|third|thirds|quarter|quarters|fifth|fifths)\b(?! (?:party|person))")
_PLAIN = re.compile(r"(?<![\w.,])(\d+(?:[.,]\d+)?)(?![\w])")
_COUNTED = re.compile(
    r"\b(" + "|".join(_WORDS) + r") (?:or \w+ )?"
    r"(?:second|minute|hour|day|night|week|month|year|decade|times|people|percent|mg)s?\b"
)
_PARTS = {"half": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fifth": 5, "fifths": 5}
_TIMES = re.compile(
    r"\b(twice|double[sd]?|doubling|triple[sd]?|threefold|twofold|tenfold|"
    r"(?:\w+|\d+) times (?:as|more|higher|the))\b"
)
_DAYS = {
    "second": 1 / 86400,
    "minute": 1 / 1440,
    "hour": 1 / 24,
    "day": 1,
    "night": 1,
    "week": 7,
    "month": 30,
    "year": 365,
}
_SPAN = re.compile(
    rf"\b{_FIGURE}(?:(?: to | or |-| and ){_FIGURE})?[ -](second|minute|hour|day|night|week|month|year)s?\b"
)
_WITHIN = re.compile(
    r"\b(?:within|in just|in only|after just|after only|for|after) an? (second|minute|hour|day|night|week|month|year)\b"
)
_LOOSE = re.compile(rf"\b(?!one\b){_FIGURE} (?:or \w+ )?\w+ (?:\w+ )?(second|minute|hour|day|night|week|month|year)s\b")
_EVERY = re.compile(
    r"\b(?:(?:every|each|once an?|twice an?|times an?) (?:few |two |three |four |second |other )?"
    r"(hour|day|night|week|month|year)s?|(dai|week|month|year)ly)\b"
)
_NEAR = 0.1  # twelve months are a year
_THOUSANDS = re.compile(r"(?<=\d)[ ,](?=\d{3}\b)")
_MILLIONS = re.compile(r"\b(\d+(?:[.,]\d+)?) million\b")
_OTHERS = re.compile(r"\b(?:not|\w+n't|never|no|none|without|others?|rest|remaining|remainder)\b")
_MYTH = re.compile(r"^[^:.]{0,60}\bmyth: ")
_EXAMPLE = re.compile(
    r"\b(?:imagine|picture|suppose|think of|out of every|for every|group of|(?:let's |let us |^)take)\b"
)
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.,;:!?()]")
_SCOPE = 4
_COMMA = re.compile(r"[,;:]\s+(?:and |but |while )?")
_CLEARLY = 0.6  # about one word more
_COPIED = 0.8  # share of each other's words from which two sentences are one, copied
_TURNED = 0.5  # share of the common words that must be denied on one side only
_TURNED_IN_COPY = 0.3  # the same where nearly all that the claim says stands in the source sentence
_PARTICLE = re.compile(r"^(?:yes|no|well|indeed)[,.!] ")


def disagreements(claim: str, support: Support, index: SourceIndex, lexicon: Lexicon) -> Iterator[Finding]:
    """Everything in which a folded claim differs from what was found to support it."""
    for about in (
        *_foreign_numbers(claim, index),
        *_foreign_spans(claim, index),
        *_swapped_shares(claim, index, lexicon),
    ):
        yield Finding(kind=Disagreement.NUMBER, about=about)
    for about in _other_frequency(claim, support):
        yield Finding(kind=Disagreement.NUMBER, about=about)
    for about in delays(claim, support, lexicon):
        yield Finding(kind=Disagreement.EXCHANGE, about=about)
    for match in lexicon.specifics.finditer(claim):
        if match[0] not in index.folded:
            yield Finding(kind=Disagreement.SPECIFIC, about=match[0])
    for about in _stronger(claim, support, lexicon):
        yield Finding(kind=Disagreement.STRENGTH, about=about)
    refuted = _MYTH.sub("", _PARTICLE.sub("", claim))
    if opposite := _opposite(refuted, support, index, lexicon):
        parts = _separate(refuted)
        if len(parts) < 2 or any(_opposite(part, index.support(part), index, lexicon) for part in parts):
            yield Finding(kind=Disagreement.POLARITY, about=opposite)
    yield from departures(refuted, index, lexicon)


@once_a_turn
def numbers(folded: str) -> frozenset[str]:
    """Shares ('1 in 3', 'a third' and '33 %' alike) as `r33`, other figures as they are."""
    found: set[str] = set()
    rest = folded
    for match in _RATIO.finditer(folded):
        top, bottom = _value(match[1]), _value(match[2])
        if 0 < top <= bottom and bottom > 1:
            found.add(f"r{round(100 * top / bottom)}")
            rest = rest.replace(match[0], " ")
    for match in _PERCENT.finditer(rest):
        found.add(f"r{round(_value(match[1]))}")
    rest = _PERCENT.sub(" ", rest)
    for match in _PART.finditer(rest):
        found.add(f"r{round(100 * _WORDS.get(match[1] or 'one', 1) / _PARTS[match[2]])}")
    found |= {f"{_value(match[1]):g}" for match in (*_PLAIN.finditer(rest), *_COUNTED.finditer(rest))}
    found |= {f"x{match[1].split()[0]}" for match in _TIMES.finditer(rest)}
    return frozenset(found)


def _value(figure: str) -> float:
    return float(_WORDS[figure]) if figure in _WORDS else float(figure.replace(",", "."))


@once_a_turn
def spans(folded: str) -> frozenset[float]:
    """Every length of time that a folded text gives with its number, in days."""
    found: set[float] = set()
    for match in _SPAN.finditer(folded):
        days = _DAYS[match[3].rstrip("s")]
        found |= {_value(figure) * days for figure in (match[1], match[2]) if figure}
    found |= {_value(match[1]) * _DAYS[match[2]] for match in _LOOSE.finditer(folded)}
    found |= {float(_DAYS[match[1]]) for match in _WITHIN.finditer(folded)}
    return frozenset(found)


@lru_cache(maxsize=64)
def _known_numbers(index: SourceIndex) -> frozenset[str]:
    """The numbers of the sources themselves, which do not change while the program runs."""
    return numbers(_grouped(index.folded))


@lru_cache(maxsize=64)
def _known_spans(index: SourceIndex) -> frozenset[float]:
    """Likewise their lengths of time."""
    return spans(index.folded)


def _grouped(folded: str) -> str:
    """Large numbers in one way: "24 000 000", "24,000,000" and "24 million" alike."""
    whole = _THOUSANDS.sub("", folded)
    return _MILLIONS.sub(lambda match: f"{_value(match[1]) * 1_000_000:.0f}", whole)


def _foreign_numbers(claim: str, index: SourceIndex) -> Iterator[str]:
    claimed = numbers(claim := _grouped(claim))
    if not claimed:
        return
    known = _known_numbers(index)
    if _OTHERS.search(claim):  # nine in ten who do not is the same figure as one in ten who do
        known |= {f"r{100 - int(one[1:])}" for one in known if one.startswith("r")}
    for number in sorted(claimed - known):
        plain = number.lstrip("rx")
        if number[0] == "r":
            yield f"{plain} %"
        # '3 people' may be told of a source's '3 in 5', and an example may count people of its own.
        elif number[0] == "x" or not (_EXAMPLE.search(claim) or _stands_in(plain, index.folded)):
            yield plain


def _foreign_spans(claim: str, index: SourceIndex) -> Iterator[str]:
    """Times whose number may stand in the source, but of another unit: "3 weeks" for "3 months"."""
    known = _known_spans(index)
    for days in spans(claim):
        if not _EXAMPLE.search(claim) and not any(abs(days - one) <= _NEAR * max(days, one) for one in known):
            yield f"{days:g} days"


def _other_frequency(claim: str, support: Support) -> Iterator[str]:
    """How often something happens, where the source says how often in another unit: "every day" for "every week"."""
    known = {_unit(match) for match in _EVERY.finditer(support.folded)}
    for match in _EVERY.finditer(claim):
        if known and _unit(match) not in known:
            yield match[0]


def delays(claim: str, support: Support, lexicon: Lexicon) -> Iterator[str]:
    """A delay in what the source wants done at once: "tomorrow" for "right away"."""
    haste = lexicon.haste.search(support.folded)
    delay = lexicon.delays.search(claim)
    if haste and delay and not lexicon.haste.search(claim) and not lexicon.delays.search(support.folded):
        yield f"{delay[0]}' where it says '{haste[0]}"


def _unit(match: re.Match[str]) -> str:
    """The unit of time in an expression of how often."""
    return "day" if (match[1] or match[2]) in {"dai", "day", "night"} else str(match[1] or match[2])


def _swapped_shares(claim: str, index: SourceIndex, lexicon: Lexicon) -> Iterator[str]:
    """Shares that the source gives, but of something else: another of its sentences fits the clause better."""
    for clause in _COMMA.split(claim):
        shares = {one for one in numbers(clause) if one.startswith("r")}
        stems = set(content_stems(clause, lexicon))
        if len(shares) != 1 or not stems:
            continue
        fits = {True: 0.0, False: 0.0}
        for unit in index.units:
            known = {one for one in numbers(unit.folded) if one.startswith("r")}
            if known and unit.quotable:
                same = not shares.isdisjoint(known)
                fits[same] = max(fits[same], sum(index.weight(one) for one in stems & unit.stems))
        half = sum(map(index.weight, stems)) / 2
        if fits[True] and fits[False] >= max(half, fits[True] + _CLEARLY):
            yield f"{next(iter(shares))[1:]} %"


def _stands_in(figure: str, folded: str) -> bool:
    return bool(re.search(rf"\b{re.escape(figure)}\b", folded))


def _stronger(claim: str, support: Support, lexicon: Lexicon) -> Iterator[str]:
    if claim.startswith("if "):  # what is supposed may be as strong as it likes
        claim = "" if " would " in claim else claim.partition(", ")[2]
    for name, pattern in lexicon.absolutes.items():
        match = pattern.search(claim)
        if match and not pattern.search(support.folded) and not lexicon.absolutes_met[name].search(support.folded):
            before = words(claim[: match.start()])[-4:]
            if not any(word in lexicon.negators or word == "few" for word in before):
                yield match[0]


def _opposite(claim: str, support: Support, index: SourceIndex, lexicon: Lexicon) -> str | None:
    """The word about which the claim says the reverse of the sentence it is closest to, if there is one."""
    stems = set(content_stems(claim, lexicon))
    total = sum(map(index.weight, stems))
    shared = [(sum(index.weight(one) for one in stems & unit.stems), unit) for unit in support.units]
    if not shared or not total:
        return None
    weight, unit = max(shared, key=lambda pair: pair[0])
    if weight < lexicon.thresholds.contradiction * total:
        return None
    copied = weight >= _COPIED * total and weight >= _COPIED * sum(map(index.weight, unit.stems))
    if copied and (about := _negator_more_or_less(claim, unit, lexicon)):
        return about
    turned = _TURNED_IN_COPY if weight >= _COPIED * total else _TURNED
    return _antonym(claim, unit, lexicon) or _reversed(claim, unit, lexicon, turned)


def _separate(claim: str) -> tuple[str, ...]:
    """The clauses of a claim that can be denied by themselves; a claim of one clause is whole."""
    return tuple(part for clause in clauses(claim) for part in clause.split(": ") if content_count(part))


def _negator_more_or_less(claim: str, unit: Unit, lexicon: Lexicon) -> str | None:
    """What a near copy denies that its source does not, or no longer denies."""
    mine, theirs = _negators(claim, lexicon), _negators(unit.folded, lexicon)
    if not unit.denied and not lexicon.deniers.isdisjoint(mine):
        return None  # a myth that is named is not one that is told
    if bool(mine) == (bool(theirs) != unit.denied):
        return None
    return next(iter(mine or theirs), "not")


def _negators(folded: str, lexicon: Lexicon) -> list[str]:
    return [word for word in words(_PARTICLE.sub("", folded)) if word in lexicon.negators | lexicon.deniers]


def _reversed(claim: str, unit: Unit, lexicon: Lexicon, share: float) -> str | None:
    stated = polarity(unit.folded, lexicon)
    both = {word: denied for word, denied in polarity(claim, lexicon).items() if word in stated}
    if any(denied == {True} and True in stated[word] and not unit.denied for word, denied in both.items()):
        return None  # what both deny they deny in different words
    turned = [word for word, denied in both.items() if all((one != unit.denied) not in denied for one in stated[word])]
    weighty = [word for word in turned if word not in lexicon.light]
    return weighty[0] if weighty and len(turned) >= share * len(both) else None


def _antonym(claim: str, unit: Unit, lexicon: Lexicon) -> str | None:
    said = {stem(word): word for word in words(claim)}
    found = frozenset(stem(word) for word in words(unit.folded))
    for left, right in lexicon.antonyms:
        for mine, other in ((left, right), (right, left)):
            here = mine & said.keys()
            if here and not other & said.keys() and other & found and not mine & found:
                return said[min(here)]
    return None


def polarity(folded: str, lexicon: Lexicon) -> dict[str, set[bool]]:
    """For every content word of a folded text whether it is denied: inside the scope of a negating word."""
    tokens = _TOKEN.findall(lexicon.with_phrases(_PARTICLE.sub("", folded)))
    whole = not lexicon.deniers.isdisjoint(tokens)
    found: dict[str, set[bool]] = {}
    left = 0
    for token in tokens:
        if not token[0].isalnum() or token in {"but", "and", "because", "if", "that", "unless"}:
            left = 0
        elif token in lexicon.negators:
            left = _SCOPE
        elif token not in STOP_WORDS:
            found.setdefault(lexicon.same(stem(fold(token))), set()).add((left > 0) != whole)
            left -= 1
    return found
