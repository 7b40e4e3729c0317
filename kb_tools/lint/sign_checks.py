"""Checks that the table of dangers alone says at which signs help is needed, and how fast.

What a sign, a call for help and a threshold look like is read from the table, so that a new entry is looked for without
a list of phrases. A sentence names a sign when it has most of its telling words: those that few sources use. It calls
for help when a verb that the table begins its actions with stands shortly before another word of those actions. Signs
of one telling word ("fainting") are too often something else and are not looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rapidfuzz import fuzz

from engine import (
    STOP_WORDS,
    Dangers,
    HowFast,
    KnowledgeBase,
    KnownDanger,
    Stretch,
    danger_lines,
    sentences,
    stem,
    stems,
    stretches,
    words,
)
from kb_tools.lint.case import LintedCase
from kb_tools.lint.danger_checks import entry_fault
from kb_tools.lint.finding import LintFinding
from kb_tools.lint.limits import LintLimits

LEAST_TELLING = 2
"""A sentence names a sign by so many of its telling words at least."""
REACH = 5
"""How many words behind its verb a call for help says where it goes: "call your doctor or nurse"."""


def signs_in_prose(base: KnowledgeBase, cases: Sequence[LintedCase], limits: LintLimits) -> Iterator[LintFinding]:
    """No prose calls for help at the sign of a danger that its section does not include.

    An error where the call has another threshold than the entry, else a warning.
    """
    table = _Table.of(base, limits)
    for case in cases:
        if case.english and not case.source.foreign and table.signs:
            for part in stretches(case.sheet.body):
                yield from _in_section(case, part, table)


def differing_signs(dangers: Dangers, limits: LintLimits) -> Iterator[LintFinding]:
    """No two entries give the same sign another threshold."""
    signs = [(danger, sign, sorted(stems(sign))) for danger in dangers.entries.values() for sign in danger.entry.signs]
    for (one, sign, first), (other, again, second) in combinations(signs, 2):
        if one.entry.how_fast is other.entry.how_fast or not _same(first, second, limits.near_duplicate):
            continue
        yield entry_fault(
            other,
            f"The sign {again!r} is {other.entry.how_fast} here and {one.entry.how_fast} in line {one.line} ({sign!r}).",
            "One sign has one threshold: say what tells the two apart, or make them one.",
        )


def _same(first: Sequence[str], second: Sequence[str], least: float) -> bool:
    """Whether two signs say the same; other numbers make another sign."""
    if [one for one in first if one.isdigit()] != [one for one in second if one.isdigit()]:
        return False
    return bool(first) and (first == second or fuzz.ratio(" ".join(first), " ".join(second)) >= least)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sign:
    danger: KnownDanger
    words: str
    telling: frozenset[str]

    def named_by(self, found: frozenset[str], share: float) -> bool:
        """Whether a sentence of these stems names the sign."""
        return len(self.telling & found) >= LEAST_TELLING and self.likeness(found) >= share

    def likeness(self, found: frozenset[str]) -> float:
        """Which share of its telling words a sentence has."""
        return len(self.telling & found) / max(1, len(self.telling))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Table:
    """What the table of dangers says, in stems. `calls` by their verb; `marks` are what one threshold alone says."""

    signs: tuple[_Sign, ...]
    calls: Mapping[str, frozenset[str]]
    marks: Mapping[HowFast, frozenset[str]]
    share: float

    @classmethod
    def of(cls, base: KnowledgeBase, limits: LintLimits) -> _Table:
        used = Counter(one for source in base.sources.values() for one in set(stems(source.prose)))
        few = max(limits.signs.few, limits.signs.in_sources * len(base.sources))
        entries = base.dangers.entries.values()
        leads = _leads(base.dangers)
        return cls(
            signs=tuple(
                _Sign(danger=one, words=sign, telling=frozenset(word for word in stems(sign) if used[word] <= few))
                for one in entries
                for sign in one.entry.signs
            ),
            calls=_calls([one.entry.do[0] for one in entries], list(leads.values())),
            marks={
                by: frozenset(stems(lead)).difference(*(stems(leads[other]) for other in leads if other is not by))
                for by, lead in leads.items()
            },
            share=limits.signs.of_sign,
        )

    def calls_for_help(self, sentence: str) -> bool:
        """Whether a sentence sends somebody for help."""
        found = [stem(word) for word in words(sentence)]
        return any(
            not self.calls[verb].isdisjoint(found[place + 1 : place + 1 + REACH])
            for place, verb in enumerate(found)
            if verb in self.calls
        )

    def thresholds(self, text: str) -> frozenset[HowFast]:
        """By when help is needed, as far as a text says it in the words of the table."""
        found = frozenset(stems(text))
        return frozenset(by for by, marks in self.marks.items() if marks & found)


def _leads(dangers: Dangers) -> dict[HowFast, str]:
    return {} if dangers.words is None else {by: getattr(dangers.words, by) for by in HowFast}


def _calls(actions: Sequence[str], leads: Sequence[str]) -> dict[str, frozenset[str]]:
    """Verb and further words of the first sentence of each action that is no question, and what all leads share."""
    calls: dict[str, frozenset[str]] = {}
    for action in actions:
        said = next((one for one in sentences(action) if not one.endswith("?")), "")
        verb, *rest = words(said) or [""]
        if verb not in STOP_WORDS:  # "do not take", "still at the clinic"
            calls[stem(verb)] = calls.get(stem(verb), frozenset()) | frozenset(stems(" ".join(rest)))
    shared = frozenset.intersection(*(frozenset(stems(lead)) for lead in leads)) if leads else frozenset()
    for lead in leads:
        verb = stem(next(iter(words(lead)), ""))
        calls[verb] = calls.get(verb, frozenset()) | (shared - {verb})
    return calls


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    """A sentence with the one before it and the one after it; for the item of a list, what leads to the list."""

    line: int
    sentence: str
    beside: tuple[str, ...]


def _in_section(case: LintedCase, part: Stretch, table: _Table) -> Iterator[LintFinding]:
    included = {match[1] for match in danger_lines(part.body)}
    for said in _sentences(case, part):
        calls = [one for one in (said.sentence, *said.beside) if table.calls_for_help(one)]
        if not calls:
            continue
        found = frozenset(stems(said.sentence))
        named = [one for one in table.signs if one.named_by(found, table.share)]
        if not named or any(one.danger.id in included for one in named):
            continue
        sign = max(named, key=lambda one: (one.likeness(found), len(one.telling)))
        by = table.thresholds(" ".join(calls))
        remedy = f"Leave it to [danger: {sign.danger.id}] in this section."
        if by and by.isdisjoint(one.danger.entry.how_fast for one in named):
            other = f"beside another threshold than {sign.danger.entry.how_fast}"
            yield case.error("danger", said.line, f"{_names(sign)}, {other}.", remedy)
        else:
            yield case.warning("danger", said.line, f"{_names(sign)}, and calls for help.", remedy)


def _names(sign: _Sign) -> str:
    return f"The text names a sign of {sign.danger.id!r} ({sign.words})"


def _sentences(case: LintedCase, part: Stretch) -> Iterator[_Said]:
    first = part.line + case.sheet.above
    last = first + part.body.count("\n")
    pieces = [one for one in case.sheet.pieces if one.kind != "heading" and first <= one.line <= last]
    every = [(line, text, one.kind) for one in pieces for line, text in one.sentences()]
    leading = ""
    for place, (line, text, kind) in enumerate(every):
        leading = leading if kind == "item" else text
        before = every[place - 1][1] if place else ""
        after = every[place + 1][1] if place + 1 < len(every) else ""
        beside = dict.fromkeys(one for one in (before, after, leading) if one and one != text)
        yield _Said(line=line, sentence=text, beside=tuple(beside))
