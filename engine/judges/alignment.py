"""Claims that run beside a sentence of the source, word by word, and what stands there in another word's place.

Coverage forgives one strange word among many known ones, and that is how a small wrong looks: "a vein" for "a muscle",
"quieter" for "louder", "most get it" for "most do not get it". So clauses that run side by side are compared by place.
A word in another's place is a paraphrase as often as not; only pairs that cannot be one are held against the claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeAlias

from engine.judges.findings import Disagreement, Finding
from engine.judges.lexicon import Lexicon
from engine.judges.sentences import clauses
from engine.judges.support import SourceIndex
from engine.language.text import STOP_WORDS, stem, words
from engine.memo import once_a_turn

_CANDIDATES = 4  # clauses of the source that share most words with the claim
_LEAST_SHARED = 3  # words; below that two clauses only happen to resemble each other
_BESIDE = 0.55  # share of the claim's words that stand in the clause in the same order
_COPIED = 0.65  # share of the source's words from which a negation more or less turns the meaning
_UN = re.compile(r"(?:unknown|unclear|uncertain|unable|impossible|incurable|untreatable|unsafe)$")
_PIECE = re.compile(r", | (?:if|when|even|unless|or) ")
_NEED = frozenset({"need", "needed", "necessary", "must", "should", "required"})
_WIDEST = 3  # a longer stretch in another's place is a paraphrase


@dataclass(frozen=True, slots=True)
class Clause:
    """The telling words of a clause, as they stand and as stems for all their synonyms; `several`: not one whole clause."""

    tokens: tuple[str, ...]
    shown: tuple[str, ...]
    folded: str
    several: bool = False


Place: TypeAlias = tuple[Clause, frozenset[str], frozenset[str]]
"""A clause of the source, its tokens, and the stems of its whole sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """Words of the claim (`mine`) that stand where the source has others (`theirs`), either of them perhaps none."""

    mine: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """A clause of the claim beside the clause of the source that it follows; `share` is of the claim's words.

    `sentence`: the stems of the whole sentence in which the clause stands.
    """

    mine: Clause
    theirs: Clause
    share: float
    exchanges: tuple[Exchange, ...]
    sentence: frozenset[str]

    @property
    def of_theirs(self) -> float:
        """The share of the source's words."""
        return self.share * len(self.mine.tokens) / len(self.theirs.tokens)

    @property
    def copied(self) -> bool:
        """Whether the claim says nearly all that the clause of the source says, whatever else it says."""
        return self.of_theirs >= _COPIED


def departures(claim: str, index: SourceIndex, lexicon: Lexicon) -> Iterator[Finding]:
    """What a folded claim has in another word's place that cannot be a paraphrase of it."""
    for one in alignments(claim, index, lexicon):
        yield from _turned_comparison(one, lexicon)
        if about := _negated_otherwise(one, lexicon):
            yield Finding(kind=Disagreement.POLARITY, about=about)
        for exchange in one.exchanges:
            yield from _exchanged(exchange, one, lexicon)


def alignments(claim: str, index: SourceIndex, lexicon: Lexicon) -> Iterator[Alignment]:
    """The clauses of a folded claim that follow a clause of the source, each beside it."""
    places = _places(index, lexicon)
    for clause in (*_parts(claim, lexicon), *_pieces(claim, lexicon)):
        best = max(_beside(clause, places, lexicon), key=lambda one: (one.share, one.of_theirs), default=None)
        if best is not None:
            yield best


@lru_cache(maxsize=64)
def _places(index: SourceIndex, lexicon: Lexicon) -> tuple[Place, ...]:
    return tuple(
        (clause, frozenset(clause.tokens), unit.stems)
        for unit in index.units
        if not unit.denied
        for clause in _parts(unit.folded, lexicon)
    )


@once_a_turn
def _parts(folded: str, lexicon: Lexicon) -> tuple[Clause, ...]:
    """A sentence whole, and its clauses where it has several."""
    parts = [part for clause in clauses(folded) for part in clause.split(": ")]
    found = [_clause(text, lexicon) for text in parts]
    if len(parts) > 1:
        found.append(_clause(folded, lexicon, several=True))
    return tuple(clause for clause in found if len(clause.tokens) >= _LEAST_SHARED)


@once_a_turn
def _pieces(folded: str, lexicon: Lexicon) -> tuple[Clause, ...]:
    """What stands before a condition or an afterthought of a claim, which would hide how closely it follows a source."""
    found = (_clause(piece, lexicon, several=True) for piece in _PIECE.split(folded)) if _PIECE.search(folded) else ()
    return tuple(clause for clause in found if len(clause.tokens) > _LEAST_SHARED)


def _clause(folded: str, lexicon: Lexicon, *, several: bool = False) -> Clause:
    telling = lexicon.contrasts | lexicon.negators
    kept = [word for word in words(lexicon.with_phrases(folded)) if word in telling or word not in STOP_WORDS]
    tokens = (word if word in telling else lexicon.same(stem(word)) for word in kept)
    return Clause(tuple(tokens), tuple(kept), folded, several)


def _beside(clause: Clause, places: tuple[Place, ...], lexicon: Lexicon) -> Iterator[Alignment]:
    mine = frozenset(clause.tokens) - lexicon.contrasts
    for other, tokens, sentence in sorted(places, key=lambda place: -len(mine & place[1]))[:_CANDIDATES]:
        if len(mine & tokens) < min(_LEAST_SHARED, len(mine)):
            return
        matcher = SequenceMatcher(None, clause.tokens, other.tokens, autojunk=False)
        share = sum(block.size for block in matcher.get_matching_blocks()) / len(clause.tokens)
        if share >= _BESIDE:
            found = tuple(_between(clause, other, matcher.get_opcodes()))
            yield Alignment(mine=clause, theirs=other, share=share, exchanges=found, sentence=sentence)


def _between(mine: Clause, theirs: Clause, blocks: Sequence[tuple[str, int, int, int, int]]) -> Iterator[Exchange]:
    for kind, left, right, start, end in blocks:
        if kind == "equal" or right - left > _WIDEST or end - start > _WIDEST:
            continue
        pairs = zip(mine.tokens[left:right], mine.shown[left:right], strict=True)
        others = zip(theirs.tokens[start:end], theirs.shown[start:end], strict=True)
        yield Exchange(
            mine=tuple(shown for token, shown in pairs if token not in theirs.tokens),
            theirs=tuple(shown for token, shown in others if token not in mine.tokens),
        )


def _exchanged(exchange: Exchange, one: Alignment, lexicon: Lexicon) -> Iterator[Finding]:
    turned = _is_turned(one)
    for mine in exchange.mine:
        for theirs in exchange.theirs:
            about = f"{mine}' where it says '{theirs}"
            rivals = lexicon.are_rivals(mine, theirs) and lexicon.same(stem(mine)) not in one.sentence
            if rivals or (lexicon.are_opposed(mine, theirs) and not turned):
                yield Finding(kind=Disagreement.EXCHANGE, about=about)
            elif lexicon.is_raised(mine, theirs):
                yield Finding(kind=Disagreement.STRENGTH, about=mine)


def _negated_otherwise(one: Alignment, lexicon: Lexicon) -> str | None:
    """The negating word that only one of two clauses has that otherwise say nearly the same."""
    if not one.copied or one.mine.several or one.theirs.several or len(one.mine.tokens) <= _LEAST_SHARED:
        return None
    if any(map(lexicon.denies_oddly, (one.mine.folded, one.theirs.folded))):
        return None
    mine, theirs = (_denials(side, lexicon) for side in (one.mine, one.theirs))
    if len(mine) % 2 == len(theirs) % 2:
        return None
    beside = [exchange.mine for exchange in one.exchanges if not lexicon.negators.isdisjoint(exchange.mine)]
    if any(word not in lexicon.negators | _NEED for words_ in beside for word in words_):
        return None  # the claim denies something more, not the same
    return next(iter(mine or theirs))


def _denials(clause: Clause, lexicon: Lexicon) -> list[str]:
    # "Neither … nor" denies once.
    return [word for word in clause.shown if (word in lexicon.negators and word != "nor") or _UN.match(word)]


def _sides(clause: Clause) -> tuple[set[str], set[str]] | None:
    """What stands before and after the "than" of a comparison."""
    before, than, after = clause.folded.partition(" than ")
    if not than:
        return None
    first, later = set(words(before)), set(words(after))
    pairs = tuple(zip(clause.tokens, clause.shown, strict=True))
    return (
        {token for token, word in pairs if word in first and word not in later},
        {token for token, word in pairs if word in later and word not in first},
    )


def _is_turned(one: Alignment) -> bool:
    """Whether two comparisons name the compared in opposite order, as in "more than" told as "less than"."""
    mine, theirs = _sides(one.mine), _sides(one.theirs)
    return bool(mine and theirs and mine[0] & theirs[1] and mine[1] & theirs[0])


def _turned_comparison(one: Alignment, lexicon: Lexicon) -> Iterator[Finding]:
    if not _is_turned(one):
        return
    mine, theirs = set(one.mine.shown) - set(one.theirs.shown), set(one.theirs.shown) - set(one.mine.shown)
    if not any(lexicon.are_opposed(left, right) for left in mine for right in theirs):
        yield Finding(kind=Disagreement.POLARITY, about="than")
