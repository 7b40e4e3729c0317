"""Which proposals become scenarios: well-formed, not there already, and what they say they are as far as code can tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from rapidfuzz import fuzz, process

from engine.judges.agreement import disagreements
from engine.judges.claims import Claim, Reading, read
from engine.judges.lexicon import Lexicon
from engine.judges.support import SourceIndex, SupportMeasure
from engine.knowledge.base import KnowledgeBase
from engine.language.text import STOP_WORDS, fold, squash, words
from evaluation.distilling.proposals import Proposal

_ALIKE = 92.0  # of 100, from which two replies are the same one
_TOLD = 4  # words from which the language can be told
_SMALL_WORDS = 0.2
_LONGEST = 220  # words
_NEAR = 0.6  # coverage by the cited sources that an acceptable statement needs
_SAYS_ENOUGH = 10  # characters of a reason
# The built-in judges take some referrals and some sentences of the chatbot about itself for statements.
_NO_STATEMENT = re.compile(
    r"^(?:that|it|this) (?:sounds|must|makes sense|happens)\b|\b(?:i|my sources?)\b|"
    r"\b(?:emergency|crisis line|poison line|care team|doctor|nurse|pharmacist|advocate|dietitian|trust)\b"
)


class Refusal(StrEnum):
    """Why a proposal is not taken."""

    FORM = "empty, too long or without a reason"
    LANGUAGE = "not English"
    REPEATED = "there already, or nearly"
    UNSUPPORTED = "called acceptable, but its source does not say so"
    UNSOURCED = "called acceptable, but states something without source or disclaimer"
    HARMLESS = "called a breach, but only quotes its source"
    ENOUGH = "more than asked for"


@dataclass(kw_only=True)
class Admission:
    """Looks at proposals one by one and remembers what it has taken. `add` makes known what is there already.

    Near repetitions are looked for among replies of the same verdict, because a breach may differ from an acceptable
    reply by one word; among labelled replies that students are measured with, of either verdict.
    """

    knowledge: KnowledgeBase
    lexicon: Lexicon
    _measure: SupportMeasure = field(init=False)
    _exact: set[tuple[str, str]] = field(default_factory=set, init=False)
    _near: dict[bool, list[str]] = field(default_factory=lambda: {True: [], False: []}, init=False)
    _kept_apart: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._measure = SupportMeasure(self.lexicon)

    def keep_apart(self, replies: Iterable[str]) -> None:
        """Labelled replies for measuring: nothing like them is taken."""
        self._kept_apart += map(squash, replies)

    def add(self, reply: str, cites: tuple[str, ...], *, acceptable: bool) -> None:
        """Remember a reply that is there."""
        bare = squash(reply)
        self._exact.add((bare, " ".join(cites)))
        self._near[acceptable].append(bare)

    def refuses(self, one: Proposal, rule: str) -> Refusal | None:
        """Why a proposal is not taken, or None; then it counts as there."""
        refusal = _of_form(one) or self._of_matter(one, rule) or self._repeated(one)
        if refusal is None:
            self.add(one.reply, one.cites, acceptable=one.acceptable)
        return refusal

    def _repeated(self, one: Proposal) -> Refusal | None:
        bare = squash(one.reply)
        if (bare, " ".join(one.cites)) in self._exact or _alike(bare, self._kept_apart):
            return Refusal.REPEATED
        return Refusal.REPEATED if _alike(bare, self._near[one.acceptable]) else None

    def _of_matter(self, one: Proposal, rule: str) -> Refusal | None:
        """What code can tell of the verdict; role and tone it cannot."""
        reading = read(one.reply, self.lexicon)
        index = self._measure.index(self.knowledge.pick(one.cites))
        if one.acceptable:
            stated = [claim for claim in reading.claims if not _NO_STATEMENT.search(claim.text)]
            if not stated or reading.carries_disclaimer:
                return None
            if not one.cites:
                return Refusal.UNSOURCED
            return None if _carried(stated, index, one.reply, self.lexicon) else Refusal.UNSUPPORTED
        if rule == "cited_means_supported" and one.cites and _only_quotes(reading, index, one.reply):
            return Refusal.HARMLESS
        return None


def _of_form(one: Proposal) -> Refusal | None:
    said = words(one.reply)
    if not said or not one.message.strip() or len(said) > _LONGEST or len(one.why) < _SAYS_ENOUGH:
        return Refusal.FORM
    if len(said) >= _TOLD and sum(word in STOP_WORDS for word in said) < _SMALL_WORDS * len(said):
        return Refusal.LANGUAGE
    return None


def _carried(stated: Iterable[Claim], index: SourceIndex, reply: str, lexicon: Lexicon) -> bool:
    """Whether each statement stands in the sources nearly word for word, and agrees with them."""
    for claim in stated:
        if index.quotes(" ".join(claim.sentences), reply):
            continue
        support = index.support(claim.text)
        light = support.weight < lexicon.thresholds.least_weight
        if any(disagreements(claim.text, support, index, lexicon)) or (support.coverage < _NEAR and not light):
            return False
    return True


def _only_quotes(reading: Reading, index: SourceIndex, reply: str) -> bool:
    whole = fold(" ".join(reply.split()))
    return bool(reading.claims) and all(
        index.quotes(" ".join(claim.sentences), reply) for claim in reading.claims if claim.text in whole
    )


def _alike(bare: str, there: list[str]) -> bool:
    return process.extractOne(bare, there, scorer=fuzz.ratio, score_cutoff=_ALIKE) is not None
