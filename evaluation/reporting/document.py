"""A report before it is drawn: sections of sentences, tables, plots with their table, and replies side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Figures in rows; the first column names the row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlottedFigure:
    """A figure with its interval, and the bar that it must not fall below where there is one."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None
    bar: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalRow:
    """One line of a plot of intervals."""

    name: str
    marks: tuple[PlottedFigure, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalPanel:
    """Rows under one title."""

    title: str
    rows: tuple[IntervalRow, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervals:
    """Figures with intervals, one panel below the other. `percent`: shares from 0 to 1, else agreement up to 1."""

    panels: tuple[IntervalPanel, ...]
    series: tuple[str, ...]
    percent: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """The median score of one reply with its quartiles; `slot` counts the places of a panel from 0."""

    series: str
    slot: int
    median: float
    q1: float
    q3: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorePanel:
    """The replies of one role; `slots` are the queries as (conversation, query), in order."""

    title: str
    slots: tuple[tuple[str, int], ...]
    scored: tuple[Scored, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The score of every reply, the arms side by side at each query."""

    panels: tuple[ScorePanel, ...]
    series: tuple[str, ...]
    highest: int = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class StripPanel:
    """One quantity of every reply, by series; the median is drawn through it."""

    title: str
    values: dict[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Strips:
    """A dot for each reply, one panel a quantity."""

    panels: tuple[StripPanel, ...]
    series: tuple[str, ...]


Drawing: TypeAlias = Intervals | Scores | Strips


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """A drawing, what it shows in words for those who do not see it, and its figures."""

    name: str
    alt: str
    drawing: Drawing
    table: Table


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """One reply with what it answered, what raters and judges said; all of it is text of others."""

    heading: str
    asked: str
    reply: str
    citations: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """Replies to be read beside each other."""

    title: str
    sides: tuple[Spoken, ...]


Block: TypeAlias = Table | Plot | Example


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportSection:
    """A heading, sentences below it, and what they are about."""

    title: str
    said: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()

    @property
    def name(self) -> str:
        """What links lead to."""
        return "-".join(self.title.lower().split())


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The whole report. `given` says what it was made from, `left_out` what is not in it and why."""

    given: Table
    sections: tuple[ReportSection, ...]
    left_out: tuple[str, ...]

    @property
    def plots(self) -> int:
        """How many plots it has."""
        return sum(isinstance(block, Plot) for section in self.sections for block in section.blocks)
