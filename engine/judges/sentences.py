"""What each sentence of a reply does: states something, asks, consoles, admits, sends to a professional.

Only statements need a source. Sentences are kept with their place in the text, so that a verdict can
quote them as they stand and the refiner can cut them out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.judges.lexicon import Lexicon
from engine.language.text import STOP_WORDS, fold, words

_MARKER = re.compile(r"[ \t]*(?:[-*•–▪◦](?![-*])|#{1,6}|>|\(?\d{1,3}(?:\.\d{1,3})*[.)])[ \t]+")
_END = re.compile(
    r"(?<![.!?…。])(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bvs)(?<!\bSt)(?<!\betc)"
    r"[.!?…。]++[\"'”’)\]*_]*+(?=\s|$)"
)
# Where a sentence of two halves can be parted without grammar: the second half begins a clause of its own.
_CLAUSE = re.compile(
    r"(?:(?<!\s)\s++)?;\s*+|(?<!\s)\s++-++\s++|(?:,|(?<!\s))\s++(?:but|however|although|though|because|whereas|since|yet)\b,?"
    r"|,\s+(?=(?:and|so|as|we|it|you|nobody|there|they|these|those|this|that|people|generally|general|some|many|most|"
    r"roughly|usually|normally|typically|mostly|"
    r"in general|the|your|research|studies|experts|a|an|such)\b)"
)
# Clauses that only say to whom or for what the rest of the sentence is meant.
_DEPENDENT = re.compile(r"^(?:and |so |as |since |because |or )?(?:they|who|which|for|to|if|when|that way)\b")
_REST_WORDS = 4
_TINY = 2  # a clause of fewer words that carry meaning states nothing


class Function(StrEnum):
    """What a sentence does in a conversation."""

    STATEMENT = "statement"
    QUESTION = "question"
    OFFER = "offer"
    GREETING = "greeting"
    EMPATHY = "empathy"
    ADMISSION = "admission"
    VERIFICATION = "verification"
    REDIRECT = "redirect"
    INTRO = "intro"
    CAVEAT = "caveat"
    META = "meta"
    DECLINE = "decline"
    DIRECTIVE = "directive"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence as it stands at `start:end` of its text; `item` says that it opens a list item."""

    text: str
    start: int
    end: int
    item: bool = False
    heading: bool = False
    indent: int = 0
    block: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Classified:
    """A sentence, what it does, and the part of it (folded) that states something and needs a source."""

    sentence: Sentence
    folded: str
    functions: frozenset[Function]
    claim: str = ""

    def does(self, *functions: Function) -> bool:
        """Whether the sentence does one of these."""
        return not self.functions.isdisjoint(functions)


def split(text: str) -> tuple[Sentence, ...]:
    """The sentences of a text with their places; each list item is at least one, its marker left out."""
    # A backslash and an n stand where a line break was lost on the way; the length must stay the same.
    return tuple(_split(text, text.replace("\\n", " \n")))


def _split(text: str, working: str) -> Iterator[Sentence]:
    for number, (start, end, item, heading, indent) in enumerate(_blocks(working)):
        first = True
        for left, right in _pieces(working, start, end):
            if any(char.isalnum() for char in working[left:right]):
                yield Sentence(
                    text=text[left:right],
                    start=left,
                    end=right,
                    item=item and first,
                    heading=heading,
                    indent=indent,
                    block=number,
                )
                first = False


def _blocks(text: str) -> list[tuple[int, int, bool, bool, int]]:
    """Start, end, is a list item, is a heading, indent: of every paragraph, list item and heading."""
    blocks: list[tuple[int, int, bool, bool, int]] = []
    offset, joins = 0, False
    for line in text.split("\n"):
        marker = _MARKER.match(line)
        end = offset + len(line)
        if not line.strip():
            joins = False
        elif joins and not marker:
            blocks[-1] = (blocks[-1][0], end, *blocks[-1][2:])
        else:
            heading = line.lstrip().startswith("#")
            start = offset + (marker.end() if marker else 0)
            blocks.append((start, end, bool(marker) and not heading, heading, len(line) - len(line.lstrip())))
            joins = not heading
        offset = end + 1
    return blocks


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    left = start
    for stop in [*(match.end() for match in _END.finditer(text, start, end)), end]:
        piece = text[left:stop]
        stripped = piece.strip()
        if stripped:
            begin = left + len(piece) - len(piece.lstrip())
            yield begin, begin + len(stripped)
        left = stop


def classify(reply: str, lexicon: Lexicon) -> tuple[Classified, ...]:
    """Every sentence of a reply with what it does."""
    found = tuple(_classify(sentence, lexicon) for sentence in split(reply))
    tainted = {one.sentence.block for one in found if one.does(Function.DIRECTIVE)}
    return tuple(_plain(one) if one.sentence.block in tainted else one for one in found)


def _plain(one: Classified) -> Classified:
    """A sentence beside a raw directive: it may be part of it, so nothing it does is to its credit."""
    if one.does(Function.DIRECTIVE):
        return one
    return replace(one, functions=frozenset({Function.STATEMENT}), claim=one.folded)


def _classify(sentence: Sentence, lexicon: Lexicon) -> Classified:
    folded = fold(" ".join(sentence.text.split()))
    functions = {Function(name) for name in lexicon.functions_in(folded)}
    if Function.DIRECTIVE in functions:
        alone = frozenset({Function.DIRECTIVE, Function.STATEMENT})
        return Classified(sentence=sentence, folded=folded, functions=alone, claim=folded)
    if folded.rstrip("\"')*_ ").endswith("?") and not lexicon.hidden_claim.search(folded):
        functions.add(Function.QUESTION)
        return Classified(sentence=sentence, folded=folded, functions=frozenset(functions))
    if folded.rstrip("*_ ").endswith(":") and content_count(folded) <= 9:
        functions.add(Function.INTRO)
    functions = functions or _shared_out(folded, lexicon)
    claim = _rest(folded, lexicon) if functions else folded
    if claim:
        functions.add(Function.STATEMENT)
    return Classified(sentence=sentence, folded=folded, functions=frozenset(functions), claim=claim)


def _shared_out(folded: str, lexicon: Lexicon) -> set[Function]:
    """What a sentence does whose clauses all do something, though no pattern fits the whole."""
    found: set[Function] = set()
    parts = clauses(folded)
    for clause in parts:
        here = {Function(name) for name in lexicon.functions_in(clause)}
        if not here and (content_count(clause) >= _TINY or lexicon.slips.search(clause)):
            return set()
        found |= here
    return found if len(parts) > 1 else set()


def _rest(folded: str, lexicon: Lexicon) -> str:
    """What a sentence states beside its other work: the clauses that do nothing else and say enough."""
    parts = clauses(folded)
    if len(parts) < 2:
        return ""
    rest = [
        clause
        for clause in parts
        if (content_count(clause) >= _REST_WORDS or lexicon.slips.search(clause))
        and not _DEPENDENT.match(clause)
        and not any(True for _ in lexicon.functions_in(clause))
    ]
    return ", ".join(rest)


def clauses(folded: str) -> tuple[str, ...]:
    """The clauses of a folded sentence, as far as they can be told apart without grammar."""
    return tuple(clause.strip() for clause in _CLAUSE.split(folded) if clause and clause.strip())


def content_count(folded: str) -> int:
    """How many words of a folded text carry meaning of their own."""
    return sum(word not in STOP_WORDS for word in words(folded))
