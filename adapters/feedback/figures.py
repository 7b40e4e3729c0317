"""What a report tells: shares with their intervals, by option, week, source, decision, platform and assistant.

All tables of a question are made of the same two parts, answers with a favourable option and the others, so that
`adapters/feedback/holding_back.py` can promise what it says. Where one of the parts is small, they are one part.
A report is made of blocks: weeks in order, as many together as it takes for their counts to be told. Each is told as if
it were all there is, and a report tells sums of what its blocks tell. So neither two reports made one after the other
nor reports on different weeks can be subtracted from one another: what differs are whole blocks. Weeks at the end that
make no block yet wait, and the running week is never told. A report on one platform cannot be subtracted from the report
on everything either, nor reports on all platforms from one another: inside each block its rows are whole rows of the
report on everything, and its counts are looked at together with those of what it leaves out, platform by platform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from adapters.feedback.events import NO_DECISION
from adapters.feedback.holding_back import Counts, Row, apart, merged, safe
from adapters.feedback.questions import Question, Questions
from adapters.feedback.tallies import Selection, Tally
from engine import Decision, Interval, wilson


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionShare:
    """`chosen` of `answers`, for one row of a table; `chosen` is None where it is held back."""

    names: tuple[str, ...]
    answers: int
    chosen: int | None

    @property
    def share(self) -> float | None:
        """The share, 0 to 1."""
        return None if self.chosen is None or not self.answers else self.chosen / self.answers

    @property
    def interval(self) -> Interval | None:
        """The Wilson interval of the share."""
        return None if self.chosen is None else wilson(self.chosen, self.answers)


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionFigures:
    """All that can be told of one question.

    In `options`, `chosen` are those who chose the row's options; it is empty where that is held back. In the other tables,
    `chosen` are those of the row's `answers` with a favourable option. `sources_held_back` names sources whose numbers are
    not told. `selection` is the one that was asked for, its weeks widened or narrowed so that it cuts no block.
    """

    question: Question
    selection: Selection
    answers: int
    options: tuple[OptionShare, ...]
    weeks: tuple[OptionShare, ...]
    decisions: tuple[OptionShare, ...]
    platforms: tuple[OptionShare, ...]
    assistants: tuple[OptionShare, ...]
    sources: tuple[OptionShare, ...]
    sources_held_back: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """A whole report; `held_back` are questions with so few answers that nothing is told of them."""

    selection: Selection
    questions: tuple[QuestionFigures, ...]
    held_back: tuple[str, ...]


def figures(tallies: Sequence[Tally], questions: Questions, selection: Selection) -> Figures:
    """The report on a selection. Questions that are not configured any more are left out."""
    told: list[QuestionFigures] = []
    held: list[str] = []
    for question in questions:
        known = {one.id for one in question.options}
        own = [one for one in tallies if one.question == question.id and one.option in known]
        if not any(selection.holds(one) for one in own):
            continue
        blocks = [
            _block_figures(question, block, selection.platform)
            for block in _blocks(question, own, selection.last)
            if selection.spans(block[-1].week)
        ]
        parts = [one for one in blocks if one is not None]
        if parts:
            told.append(_together(parts))
        else:
            held.append(question.id)
    return Figures(selection=selection, questions=tuple(told), held_back=tuple(held))


def _blocks(question: Question, own: Sequence[Tally], last: str) -> Iterator[list[Tally]]:
    """Weeks in order, as many together as it takes for their counts to be told; what is left over at the end waits.

    Where a block ends is decided by what came before its end alone. A later report has the same blocks, and more.
    """
    block: list[Tally] = []
    weeks = groupby(sorted(own, key=lambda one: one.week), key=lambda one: one.week)
    for week, some in weeks:
        if week > last:
            return
        block += some
        if safe(_Parts.of(question, block).total) and _Parts.of(question, block).split:
            yield block
            block = []


def _block_figures(question: Question, block: Sequence[Tally], platform: str | None) -> QuestionFigures | None:
    """What is told of a block, as if it were all there is; None where that platform's part of it cannot be."""
    part = Selection(first=block[0].week, last=block[-1].week, platform=platform)
    steps = [_Parts.of(question, block), _Parts.of(question, block, part)]
    # The same parts throughout: whole and halves of one thing, crossed with platforms, would tell its cells.
    alike = all(safe(parts.answers) and parts.split for parts in steps)
    return _told(steps, part) if alike and any(part.holds(one) for one in block) else None


def _together(blocks: Sequence[QuestionFigures]) -> QuestionFigures:
    """Blocks as one: rows that are one row in any of them are one row in all, so only sums of what blocks tell are told."""
    first, last = blocks[0], blocks[-1]
    order = [option.id for option in first.question.options]
    answers = sum(one.answers for one in blocks)
    options = _joined([one.options or _as_one(one) for one in blocks], order)
    held = sorted({name for one in blocks for name in one.sources_held_back})
    return QuestionFigures(
        question=first.question,
        selection=replace(first.selection, last=last.selection.last),
        answers=answers,
        options=tuple(replace(one, answers=answers) for one in options) if len(options) > 1 else (),
        weeks=tuple(week for one in blocks for week in one.weeks),
        decisions=_joined([one.decisions for one in blocks], (NO_DECISION, *Decision)),
        platforms=_joined([one.platforms for one in blocks]),
        assistants=_joined([one.assistants for one in blocks]),
        sources=tuple(one for one in _joined([one.sources for one in blocks]) if one.names[0] not in held),
        sources_held_back=tuple(held),
    )


def _as_one(one: QuestionFigures) -> tuple[OptionShare, ...]:
    """All options in one row, which tells nothing by itself."""
    names = tuple(option.id for option in one.question.options)
    return (OptionShare(names=names, answers=one.answers, chosen=one.answers),)


def _joined(tables: Sequence[Sequence[OptionShare]], order: Sequence[str] | None = None) -> tuple[OptionShare, ...]:
    """One table of several: rows that share a name are put together."""
    rows: list[OptionShare] = []
    for share in (share for table in tables for share in table):
        together = [row for row in rows if not set(row.names).isdisjoint(share.names)]
        names = dict.fromkeys(name for row in (*together, share) for name in row.names)
        chosen = [row.chosen for row in (*together, share)]
        rows = [row for row in rows if row not in together]
        rows.append(
            OptionShare(
                names=tuple(sorted(names, key=order.index if order else None)),
                answers=sum(row.answers for row in (*together, share)),
                chosen=None if None in chosen else sum(one for one in chosen if one is not None),
            )
        )
    return tuple(sorted(rows, key=lambda row: order.index(row.names[0]) if order else row.names))


_Of = Callable[[Tally], str]
_Merge = Callable[[list[Row], "_Parts"], list[Row]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Parts:
    """How the tallies of one question become counts: a pair for each region, favourable answers and others.

    The first region is the one that is told of; with `split` false, pairs are told as their sum only.
    """

    question: Question
    tallies: Sequence[Tally]
    regions: Sequence[tuple[str, ...]]
    region: Callable[[Tally], tuple[str, ...]]
    split: bool

    @classmethod
    def of(cls, question: Question, tallies: Sequence[Tally], selection: Selection | None = None) -> _Parts:
        """The parts of everything, or of a selection and all that it leaves out."""

        def region(one: Tally) -> tuple[str, ...]:
            if selection is None or selection.holds(one):
                return ()
            weeks = "these weeks" if selection.spans(one.week) else "other weeks"
            return (weeks,) if selection.platform is None else (weeks, one.platform)

        others = sorted({region(one) for one in tallies} - {()})
        made = cls(question=question, tallies=tallies, regions=((), *others), region=region, split=True)
        return made if safe(made.total) else replace(made, split=False)

    @property
    def total(self) -> Counts:
        """The counts of everything."""
        return self.counts(self.tallies)

    def counts(self, tallies: Iterable[Tally]) -> Counts:
        """Counts of some tallies, region by region."""
        columns = [0] * (2 * len(self.regions))
        for one in tallies:
            columns[2 * self.regions.index(self.region(one)) + (one.option not in self.question.favourable)] += (
                one.count
            )
        return tuple(columns) if self.split else _sums(columns)

    @property
    def answers(self) -> Counts:
        """How many answers there are, region by region."""
        return _sums(self.total) if self.split else self.total

    def rows(self, names: Iterable[tuple[str, ...]], of: _Of) -> list[Row]:
        """One row for some names each, of the tallies that have one of them."""
        by_name: dict[str, list[Tally]] = {}
        for one in self.tallies:
            by_name.setdefault(of(one), []).append(one)
        return [
            Row(names=some, counts=self.counts(one for name in some for one in by_name.get(name, ()))) for some in names
        ]

    def shares(self, rows: Iterable[Row]) -> tuple[OptionShare, ...]:
        """What is told of rows: those that hold answers of the first region."""
        found = []
        for row in rows:
            inside = row.counts[: 2 if self.split else 1]
            if sum(inside):
                # Of a question without a favourable option there is nothing to be told but how many answered.
                told = self.split and bool(self.question.favourable)
                found.append(OptionShare(names=row.names, answers=sum(inside), chosen=inside[0] if told else None))
        return tuple(found)


def _sums(columns: Sequence[int]) -> Counts:
    return tuple(a + b for a, b in zip(columns[::2], columns[1::2], strict=True))


def _told(steps: Sequence[_Parts], part: Selection) -> QuestionFigures:
    """What is told of a part; `steps` lead to it from everything over all platforms, each a part of the one before."""
    chosen = steps[-1]

    def table(of: _Of, names: Iterable[str] | None = None) -> tuple[OptionShare, ...]:
        named = [(name,) for name in names or sorted({of(one) for one in chosen.tallies})]
        return chosen.shares(_stepwise(steps, named, of, _merged))

    inside = [one for one in chosen.tallies if chosen.region(one) == ()]
    told, held = _sources(chosen)
    return QuestionFigures(
        question=chosen.question,
        selection=part,
        answers=sum(one.count for one in inside),
        options=_options(steps),
        weeks=_naming(table(lambda one: one.week), part.spans),
        decisions=table(lambda one: one.decision, (NO_DECISION, *Decision)),  # so that neighbours are alike
        platforms=_naming(table(lambda one: one.platform), lambda name: part.platform in {None, name}),
        assistants=table(lambda one: one.assistant),
        sources=told,
        sources_held_back=held,
    )


def _naming(shares: Iterable[OptionShare], belongs: Callable[[str], bool]) -> tuple[OptionShare, ...]:
    """The same rows, named for what the selection is about only; whether anybody answered there plays no part."""
    return tuple(replace(one, names=tuple(name for name in one.names if belongs(name))) for one in shares)


def _sources(chosen: _Parts) -> tuple[tuple[OptionShare, ...], tuple[str, ...]]:
    """One row a source that stands behind a selected answer; an answer that rests on two is in two rows."""
    ids = sorted({id for one in chosen.tallies if chosen.region(one) == () for id in one.sources})
    rows = [Row(names=(id,), counts=chosen.counts(one for one in chosen.tallies if id in one.sources)) for id in ids]
    told, held = apart(rows, chosen.total)
    return chosen.shares(told), tuple(held)


def _stepwise(steps: Sequence[_Parts], names: Iterable[tuple[str, ...]], of: _Of, merge: _Merge) -> list[Row]:
    """The rows of the last step, each made of whole rows of the step before."""
    rows: list[Row] = []
    for parts in steps:
        rows = merge(parts.rows(names, of), parts)
        names = [row.names for row in rows]
    return rows


def _options(steps: Sequence[_Parts]) -> tuple[OptionShare, ...]:
    """One row an option, in the question's order; small ones are put together, within their part where there are two."""
    order = [one.id for one in steps[-1].question.options]
    rows = _stepwise(steps, [(id,) for id in order], lambda one: one.option, _merged_options)
    rows.sort(key=lambda row: order.index(row.names[0]))
    if len(rows) == 1:  # all of them in one row: that tells nothing
        return ()
    answers = sum(row.counts[0] for row in rows)
    return tuple(OptionShare(names=row.names, answers=answers, chosen=row.counts[0]) for row in rows)


def _merged(rows: list[Row], parts: _Parts) -> list[Row]:
    return merged(rows)


def _merged_options(rows: list[Row], parts: _Parts) -> list[Row]:
    if not parts.split:
        return merged(rows)
    # Each option lies in one part, so that the sum of its pair is its count.
    summed = [replace(row, counts=_sums(row.counts)) for row in rows]
    favourable = [row for row in summed if row.names[0] in parts.question.favourable]
    return merged(favourable) + merged([row for row in summed if row not in favourable])
