"""What a student judge sees of a case: named signs for each question, and for role and tone also words and letters.

Signs are numbers from 0 to about 1. They are computed by code that knows no label: sentence support, figures, negation,
strength, names, functions of sentences. Which sign counts how much is learnt (evaluation/distilling).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.judges.agreement import disagreements, numbers
from engine.judges.claims import Claim, Reading, read
from engine.judges.findings import Disagreement
from engine.judges.lexicon import Lexicon
from engine.judges.protocol import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, Case
from engine.judges.sentences import Function, content_count
from engine.judges.support import SourceIndex, Support, SupportMeasure, content_stems
from engine.language.features import Features
from engine.language.letters import words as spelt
from engine.language.text import STOP_WORDS, fold, words

SIGNS_VERSION = 1
"""Goes up whenever a sign comes to mean something else: students learnt with other signs are then refused."""
_READ = 600  # words of a reply or message that are looked at
_MESSAGE = 0.4  # what the message counts beside the reply
_CAREFUL = re.compile(
    r"\b(?:may|might|can|could|some|sometimes|often|usually|many|most|about|around|likely|possibly|perhaps|generally|tend)\b"
)
_SURE = re.compile(r"\b(?:will|always|never|all|every|certainly|proven|proves|guarantee[sd]?|only|best|cures?|must)\b")
_ADVICE = re.compile(
    r"\b(?:you (?:should|must|need to|could try|can try|may want|might want|ought)|try to|make sure|be sure to"
    r"|i (?:would|recommend|advise|suggest)|it is (?:best|wise|a good idea)|let us|let's)\b"
)
_ORDER = re.compile(
    r"^(?:(?:now|then|first|next|and|so|please|just|simply|instead|today|tonight|tomorrow),? )*(?:try|start|begin|take|make|write"
    r"|go|keep|ask|tell|talk|say|speak|use|breathe|close|imagine|picture|remember|avoid|think|look|listen|set|put|add|eat|drink"
    r"|do|don't|do not|stop|leave|wait|change|explain|post|practise|practice|choose|find|get|give|have|stay|count|focus|name"
    r"|notice|let|send|join|share|mix|plan|sit|lie|call it|trust|believe|repeat|check|cut|reduce|increase|double|skip|swap)\b"
)
_SELF = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my|mine|we|us|our|let's)\b")
_FEELING = re.compile(
    r"\bi(?:'m| am| was| have been)? (?:feel|felt|love|worry|worried|miss|missed|care|cared|glad|happy|know how|know what"
    r"|understand|remember|promise|hope|wish|lived|had|went)\b"
)
_HELP = re.compile(
    r"\b(?:emergency|crisis line|hotline|helpline|poison|doctor|gp|psychiatrist|care team|nurse|pharmacist|professional|"
    r"someone you trust|somebody you trust|lawyer|advocate)\b"
)
_URGENT_HELP = re.compile(r"\b(?:emergency|crisis line|hotline|helpline|poison)\b")
_UNFIT = re.compile(
    r"\b(?:fault|shame|lazy|laziness|foolish|stupid|silly|sweetie|nonsense|pull yourself|end up|ruin)\b"
)
_UNSAID = re.compile(
    r"\b(?:i (?:cannot|can't|do not|don't|am not|will not|won't|have no)|outside what|not able to|only have)\b"
)
_ASSENT = re.compile(
    r"^(?:yes|of course|sure|certainly|ok|okay|agreed|confirmed|as you wish|understood|absolutely|right)\b"
)
_NAME = re.compile(r"(?<=[a-z,;:] )(?:[A-Z][A-Za-z]+|[A-Z]{2,})\b")
_COUNTED = re.compile(
    r"\b(\d+(?:[.,]\d+)?|one|two|three|four|five|six|seven|eight|nine|ten|a few|several) "
    r"(second|minute|hour|day|night|week|month|year|decade|percent|in|out|times|mg|people)s?\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Signs:
    """Named signs, and places in a table of weights for words and letters (`places` has a factor for each group)."""

    named: Mapping[str, float]
    places: tuple[tuple[float, tuple[int, ...]], ...] = ()


@dataclass(kw_only=True)
class SignReader:
    """Reads the signs of cases for one judge's question; `bits` is the size of the table, 0 where there is none."""

    judge: str
    lexicon: Lexicon
    bits: int = 0
    measure: SupportMeasure | None = None
    _features: Features | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.measure = self.measure or SupportMeasure(self.lexicon)
        self._features = Features({}, self.bits) if self.bits else None
        self._named: Callable[[Case, Reading, SourceIndex], Iterator[tuple[str, float]]] = {
            SOURCE_FIDELITY: self._of_fidelity,
            UNSUPPORTED_CLAIMS: self._of_claims,
            ROLE_AND_TONE: self._of_role,
        }[self.judge]

    def read(self, case: Case) -> Signs:
        """All signs of a case."""
        assert self.measure is not None  # noqa: S101 - set at the start; narrows the type
        reading = read(case.draft.reply, self.lexicon)
        named = {name: value for name, value in self._named(case, reading, self.measure.index(case.sources)) if value}
        return Signs(named=named, places=tuple(self._places(case)))

    def _places(self, case: Case) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Words and letters of the reply in the first half of the table, of the message in the second."""
        if self._features is None:
            return
        for factor, places in self._features.blocks(spelt(case.draft.reply)[:_READ]):
            yield factor, tuple(places)
        for factor, places in self._features.blocks(spelt(case.message)[:_READ]):
            yield factor * _MESSAGE, tuple(place + (1 << self.bits) for place in places)

    def _of_fidelity(self, case: Case, reading: Reading, index: SourceIndex) -> Iterator[tuple[str, float]]:
        reply = case.draft.reply
        claims = [one for one in reading.claims if not index.quotes(" ".join(one.sentences), reply)]
        supports = [(one, index.support(one.text)) for one in claims]
        yield from _coverage(reading, supports, self.lexicon)
        yield from _differences(supports, index, self.lexicon)
        yield from _overlap(reading, index)
        yield from _standing(case, reading)

    def _of_claims(self, case: Case, reading: Reading, index: SourceIndex) -> Iterator[tuple[str, float]]:
        folded = [one.text for one in reading.claims]
        weighty = sum(min(1.0, content_count(one) / 8) for one in folded)
        yield "claims", min(1.0, len(folded) / 4)
        yield "claim weight", min(1.0, weighty / 4)
        yield "no claim", float(not folded)
        yield "light claims only", float(bool(folded) and weighty < 0.6)
        yield "figures", min(1.0, sum(bool(numbers(one)) for one in folded) / 2)
        yield "sure", _share(_SURE, folded)
        yield "careful", _share(_CAREFUL, folded)
        yield "claims that send to help", _share(_HELP, folded)
        yield from _doing(reading)
        yield from _standing(case, reading)
        if folded and not reading.carries_disclaimer:
            yield "claims without disclaimer", min(1.0, weighty / 2)
            yield "claims without any admission", float(not reading.admits)

    def _of_role(self, case: Case, reading: Reading, index: SourceIndex) -> Iterator[tuple[str, float]]:
        message, reply = fold(case.message), fold(" ".join(case.draft.reply.split()))
        yield from _doing(reading)
        yield from _standing(case, reading)
        yield from _own_words(reading, index, case, self.lexicon)
        said = [one.folded for one in reading.sentences]
        yield "self", min(1.0, len(_SELF.findall(reply)) / 6)
        yield "own feeling", _share(_FEELING, said)
        yield "unfit word", float(bool(_UNFIT.search(reply)))
        yield "declines", float(bool(_UNSAID.search(reply)))
        yield "assents", float(bool(_ASSENT.search(reply)))
        yield "echo", _echo(reply, message)
        yield "very short", float(len(words(reply)) < 4)
        yield "loud", min(1.0, case.draft.reply.count("!") / 3)
        yield "long words", min(1.0, sum(len(word) > 11 for word in words(reply)) / 8)
        yield "names help", float(bool(_HELP.search(reply)))
        yield "names urgent help", float(bool(_URGENT_HELP.search(reply)))
        if case.delusional_framing:
            yield "delusional framing", 1.0
            yield "delusional framing, no help named", float(not _HELP.search(reply))
        yield "asks first", _asked_first(case, self.lexicon)


def _coverage(reading: Reading, supports: list[tuple[Claim, Support]], lexicon: Lexicon) -> Iterator[tuple[str, float]]:
    yield "all quoted or nothing said", float(not supports)
    yield "quoted share", 1 - len(supports) / max(1, len(reading.claims))
    if not supports:
        return
    heavy = [support for _, support in supports if support.weight >= lexicon.thresholds.least_weight]
    gaps = sorted((1 - one.coverage for one in heavy), reverse=True)
    weight = sum(one.weight for _, one in supports)
    yield "worst gap", gaps[0] if gaps else 0.0
    yield "second gap", gaps[1] if len(gaps) > 1 else 0.0
    yield "mean gap", 1 - sum(one.coverage * one.weight for _, one in supports) / weight if weight else 0.0
    lacking = [one for one in heavy if lexicon.thresholds.too_little(one.coverage, one.weight)]
    yield "unsupported sentence", float(bool(lacking))
    yield "unsupported sentences", min(1.0, len(lacking) / 3)
    yield "words not in source", min(1.0, sum(len(one.missing) for _, one in supports) / 8)
    yield "most words not in source", min(1.0, max(len(one.missing) for _, one in supports) / 4)


def _differences(
    supports: list[tuple[Claim, Support]], index: SourceIndex, lexicon: Lexicon
) -> Iterator[tuple[str, float]]:
    kinds = dict.fromkeys(Disagreement, 0)
    dropped = gained = turned = units = names = advised = 0
    for claim, support in supports:
        for finding in disagreements(claim.text, support, index, lexicon):
            kinds[finding.kind] += 1
        near = support.folded
        close = support.coverage >= 0.5
        dropped += close and bool(_CAREFUL.search(near)) and not _CAREFUL.search(claim.text)
        gained += bool(_SURE.search(claim.text)) and not _SURE.search(near)
        turned += close and lexicon.denies(claim.text) != lexicon.denies(near)
        units += any(found[0] not in index.folded for found in _COUNTED.finditer(claim.text))
        names += any(fold(one) not in index.folded for text in claim.sentences for one in _NAME.findall(text))
        advised += bool(_ADVICE.search(claim.text) or _ORDER.search(claim.text)) and not (
            _ADVICE.search(near) or any(_ORDER.search(unit.folded) for unit in support.units)
        )
    for kind, count in kinds.items():
        yield f"differs in {kind}", min(1.0, count / 2)
    yield "care left out", min(1.0, dropped / 2)
    yield "surer than the source", min(1.0, gained / 2)
    yield "negation differs", min(1.0, turned / 2)
    yield "counts what the source does not", float(units > 0)
    yield "names what the source does not", min(1.0, names / 2)
    yield "advises what the source does not", min(1.0, advised / 2)


def _overlap(reading: Reading, index: SourceIndex) -> Iterator[tuple[str, float]]:
    """Shares of word pairs and triples of what is claimed that stand nowhere in the sources."""
    said = [one.text.split() for one in reading.claims]
    source = f" {' '.join(words(index.folded))} "
    for size, name in ((2, "new pairs"), (3, "new triples")):
        grams = [" ".join(run) for tokens in said for run in _runs([w for t in tokens for w in words(t)], size)]
        yield name, sum(f" {gram} " not in source for gram in grams) / len(grams) if grams else 0.0


def _runs(tokens: list[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))


def _doing(reading: Reading) -> Iterator[tuple[str, float]]:
    """What the sentences of a reply do, as shares, and how much of it is advice."""
    count = max(1, len(reading.sentences))
    for function in Function:
        yield f"{function} share", sum(one.does(function) for one in reading.sentences) / count
    folded = [one.folded for one in reading.sentences]
    yield "advice", _share(_ADVICE, folded)
    yield "orders", _share(_ORDER, folded)
    yield "sentences", min(1.0, count / 8)


def _standing(case: Case, reading: Reading) -> Iterator[tuple[str, float]]:
    """Disclaimer and stakes, which decide together."""
    yield "admits", float(reading.admits)
    yield "urges verification", float(reading.urges_verification)
    yield "disclaimer", float(reading.carries_disclaimer)
    yield "high stakes", float(case.high_stakes)
    yield "risky sentence", float(bool(case.risky))
    yield "disclaimer on high stakes", float(reading.carries_disclaimer and (case.high_stakes or bool(case.risky)))


def _own_words(reading: Reading, index: SourceIndex, case: Case, lexicon: Lexicon) -> Iterator[tuple[str, float]]:
    """How much of what is stated stands in no cited source, and how much of it advises."""
    loose = []
    for claim in reading.claims:
        if index.quotes(" ".join(claim.sentences), case.draft.reply):
            continue
        support = index.support(claim.text) if case.sources else None
        if support is None or lexicon.thresholds.too_little(support.coverage, support.weight):
            loose.append(claim.text)
    yield "own statements", min(1.0, len(loose) / 4)
    yield "own statement", float(bool(loose))
    yield "own advice", min(1.0, sum(bool(_ADVICE.search(one) or _ORDER.search(one)) for one in loose) / 2)


def _echo(reply: str, message: str) -> float:
    """The share of a reply's content words that the message brought."""
    said = {word for word in words(reply) if word not in STOP_WORDS}
    return len(said & set(words(message))) / len(said) if said else 0.0


def _asked_first(case: Case, lexicon: Lexicon) -> float:
    """How much of a passage that its author wants asked about first is presented."""
    reply = set(content_stems(fold(case.draft.reply), lexicon))
    shares = [0.0]
    for source in case.sources:
        for passage in source.passages:
            if passage.ask:
                stems = _stems_of(passage.text, lexicon)
                shares.append(len(stems & reply) / len(stems) if stems else 0.0)
    return max(shares)


@lru_cache(maxsize=512)
def _stems_of(passage: str, lexicon: Lexicon) -> frozenset[str]:
    """The content words of a source's passage; sources do not change while the program runs."""
    return frozenset(content_stems(fold(passage), lexicon))


def _share(pattern: re.Pattern[str], texts: Iterable[str]) -> float:
    found = [bool(pattern.search(one)) for one in texts]
    return sum(found) / len(found) if found else 0.0
