"""How well a sentence is supported by the cited sources: weighted coverage in the best few sentences.

Words count by stem and synonym. A word that stands in many sentences of the source counts less (IDF), one
that says little in any text counts least. What coverage cannot see (numbers, negation, strength) is compared
in `agreement`.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from engine.judges.lexicon import Lexicon
from engine.judges.sentences import Sentence, split
from engine.knowledge.source import Source
from engine.language.text import STOP_WORDS, fold, squash, stem, words

_WIDEST = 3
_KEPT_INDEXES = 64


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A sentence of a source. `context`: the words of its heading and title; `denied`: listed as a myth."""

    text: str
    folded: str
    stems: frozenset[str]
    context: frozenset[str]
    quotable: bool = True
    denied: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """How far a claim is covered (0 to 1), by which units, and which of its words stand nowhere there."""

    coverage: float
    weight: float
    units: tuple[Unit, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[str, ...]:
        """The compared source sentences as they stand."""
        return tuple(unit.text for unit in self.units if unit.quotable)

    @property
    def folded(self) -> str:
        """The compared source sentences folded, as one text."""
        return " ".join(unit.folded for unit in self.units)


def content_stems(folded: str, lexicon: Lexicon) -> list[str]:
    """The content words of a folded text as stems that stand for all their synonyms; numbers are left out."""
    return [
        lexicon.same(stem(word))
        for word in words(lexicon.with_phrases(folded))
        if word not in STOP_WORDS and not word[0].isdigit()
    ]


def strange_words(text: str, known: Iterable[str], lexicon: Lexicon) -> tuple[str, ...]:
    """The words of a text, as written, that say something and stand in none of the known texts, as such or as a synonym.

    Figures are words here; what says little in any text is not.
    """
    there = {one for each in known for one in _saying(fold(each), lexicon)}
    found: dict[str, None] = {}
    for word in words(text):
        missing = set(_saying(fold(word), lexicon)) - there - lexicon.light
        if missing:
            found[word] = None
    return tuple(found)


def _saying(folded: str, lexicon: Lexicon) -> list[str]:
    figures = [word for word in words(folded) if word[0].isdigit()]
    return content_stems(folded, lexicon) + figures


class SourceIndex:
    """The cited sources of one draft, ready to be searched for support."""

    def __init__(self, sources: Iterable[Source], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self.units = tuple(unit for source in sources for unit in _units(source, lexicon))
        self._counts = Counter(one for unit in self.units for one in unit.stems)
        self.vocabulary = frozenset(self._counts).union(*(unit.context for unit in self.units))
        self._windows: list[tuple[int, ...]] = _windows(self.units)
        self._postings = self._post()
        # Of the sources' own words alone: a draft's, which may be somebody's, are not kept.
        self._weights = {one: self._rarity(often) for one, often in self._counts.items()}
        self._foreign = self._rarity(0)

    @cached_property
    def folded(self) -> str:
        """All sentences folded, as one text."""
        return "\n".join(unit.folded for unit in self.units)

    @cached_property
    def _exact(self) -> dict[str, list[int]]:
        """Where each whole sentence stands, by its bare words."""
        places: dict[str, list[int]] = {}
        for number, unit in enumerate(self.units):
            places.setdefault(squash(unit.text), []).append(number)
        return places

    def quotes(self, claim: str, reply: str) -> bool:
        """Whether a claim is a whole sentence of the source; a myth counts only with its correction."""
        return any(
            not self.units[number].denied or squash(self.units[number + 1].text) in squash(reply)
            for number in self._exact.get(squash(claim), ())
        )

    @cached_property
    def _of_myths(self) -> frozenset[int]:
        """The windows with a myth in them, which support only what denies something."""
        return frozenset(
            number for number, window in enumerate(self._windows) if any(self.units[one].denied for one in window)
        )

    def _post(self) -> dict[str, list[int]]:
        postings: dict[str, list[int]] = {}
        for number, window in enumerate(self._windows):
            inside = frozenset().union(*(self.units[one].stems | self.units[one].context for one in window))
            for one in inside:
                postings.setdefault(one, []).append(number)
        return postings

    def weight(self, stemmed: str) -> float:
        """What a word counts: little where it says little anywhere, more the rarer it is in the source."""
        if stemmed in self._lexicon.light:
            return self._lexicon.thresholds.light
        return self._weights.get(stemmed, self._foreign)

    def _rarity(self, often: int) -> float:
        total = len(self.units) + 1
        return 0.4 + 0.6 * max(0.0, math.log(total / (often + 0.5)) / math.log(total / 0.5))

    def support(self, claim: str) -> Support:
        """How well a folded claim is supported; a claim without any content word is fully covered."""
        stems = dict.fromkeys(content_stems(claim, self._lexicon))
        total = sum(map(self.weight, stems))
        if not total:
            return Support(coverage=1.0, weight=0.0)
        elsewhere = self._lexicon.thresholds.elsewhere
        scores: dict[int, float] = {}
        barred = frozenset[int]() if self._lexicon.denies(claim) else self._of_myths
        base = 0.0
        for one in stems:
            weight = self.weight(one)
            if one in self.vocabulary:
                base += elsewhere * weight
                for window in self._postings.get(one, ()):
                    scores[window] = scores.get(window, 0.0) + (1 - elsewhere) * weight
        allowed = [one for one in scores if one not in barred]
        best = max(allowed, key=lambda one: (round(scores[one], 6), -len(self._windows[one])), default=None)
        covered = base + (scores[best] if best is not None else 0.0)
        missing = (one for one in stems if one not in self.vocabulary and one not in self._lexicon.light)
        units = tuple(self.units[one] for one in self._windows[best]) if best is not None else ()
        return Support(coverage=covered / total, weight=total, units=units, missing=tuple(missing))


class SupportMeasure:
    """Indexes by source, the last few kept; sources do not change while the program runs."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._kept: OrderedDict[tuple[str, ...], SourceIndex] = OrderedDict()

    def index(self, sources: tuple[Source, ...]) -> SourceIndex:
        """The index of these sources together."""
        key = tuple(source.content_hash for source in sources)
        if key not in self._kept:
            self._kept[key] = SourceIndex(sources, self._lexicon)
            while len(self._kept) > _KEPT_INDEXES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def _units(source: Source, lexicon: Lexicon) -> Iterator[Unit]:
    title = frozenset(content_stems(fold(source.title), lexicon))
    heading, myths = frozenset[str](), False
    sentences = split(source.text)
    for number, sentence in enumerate(sentences):
        folded = fold(" ".join(sentence.text.split()))
        stems = frozenset(content_stems(folded, lexicon))
        if sentence.heading:
            heading, myths = stems, "myth" in folded
            continue
        denied = myths and sentence.item and _has_deeper_item(sentences, number)
        yield Unit(text=sentence.text, folded=folded, stems=stems, context=title | heading, denied=denied)
    for line in source.summary:
        folded = fold(line)
        stems = frozenset(content_stems(folded, lexicon))
        yield Unit(text=line, folded=folded, stems=stems, context=title, quotable=False)


def _has_deeper_item(sentences: tuple[Sentence, ...], number: int) -> bool:
    following = sentences[number + 1 : number + 2]
    return any(one.item and one.indent > sentences[number].indent for one in following)


def _windows(units: tuple[Unit, ...]) -> list[tuple[int, ...]]:
    """Every run of one to three neighbouring sentences under one heading."""
    windows: list[tuple[int, ...]] = []
    for start in range(len(units)):
        for width in range(1, _WIDEST + 1):
            run = tuple(range(start, min(start + width, len(units))))
            if len(run) == width and all(units[one].context == units[start].context for one in run):
                windows.append(run)
    return windows
