"""What the operator sees at a glance: each figure concerns nobody in particular, and has a small plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from adapters.web_adapter.operator_texts import OperatorTexts
from adapters.web_adapter.plots import PlotBar, bar_plot
from engine import BreakerState, EndpointFigures

TOOK, SLOW = (-1.0, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0, float("inf")), 20.0
"""Seconds that answers are sorted by, and beyond which they are slow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureRow:
    """One bar: how many of the answers chose it; None where that is held back."""

    name: str
    count: int | None
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One question of the feedback, as it may be told."""

    title: str
    rows: tuple[FigureRow, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the composition root knows. `spent`: day, tokens and cost. `referrals`: week, platform and count of weeks that have
    ended, in fives. `unanswered`: week, assistant, topic and count, alike. `contacts` and `sources` by state.

    `oldest`: seconds that the oldest message has been seen to wait. `workers`: those that live, None where this process
    answers by itself. `alerts`: None where none are sent, else what is on.
    """

    waiting: int = 0
    oldest: float = 0.0
    recent: Sequence[int] = ()
    workers: int | None = None
    spent: Sequence[tuple[str, int, float]] = ()
    tokens_a_day: int | None = None
    cost_a_day: float | None = None
    endpoints: Sequence[EndpointFigures] = ()
    referrals: Sequence[tuple[str, str, int]] = ()
    unanswered: Sequence[tuple[str, str, str, int]] = ()
    feedback: Sequence[Figure] = ()
    contacts: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    alerts: Sequence[str] | None = None


Overviews = Callable[[], Awaitable[Overview]]


async def no_overview() -> Overview:
    """Nothing is known."""
    return Overview()


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One block of the page: what it is about, a plot, and the same in rows. `ours`: the names are in the page's language."""

    id: str
    title: str
    plot: Markup | None
    rows: tuple[tuple[str, str], ...]
    about: str = ""


def panels(found: Overview, said: OperatorTexts, **here: Any) -> list[Panel]:
    """All blocks but those of the page itself; `here` are counts of this process."""
    say = said.overview
    none = say.none if found.workers is None else say.at_workers
    return [
        _bars("answers", say.answers, _counted(here["answers"]), none),
        _bars("decisions", say.decisions, _counted(here["decisions"]), none),
        _bars("requests", say.requests, _counted(here["requests"]), say.none),
        _queue(found, said),
        _endpoints(found, said),
        _spending(found, said),
        _bars("referrals", say.referrals, _referrals(found, said), f"{say.none} {say.under_five}", say.weeks_ended),
        _bars("coverage", say.coverage, _unanswered(found, said), f"{say.none} {say.under_five}", say.coverage_about),
        _bars("sources", say.sources, _named(found.sources, say.source_states, warn=("overdue", "behind")), say.none),
        _bars("contacts", say.contacts, _named(found.contacts, say.contact_states, warn=("old", "never")), say.none),
    ]


def _bars(name: str, title: str, bars: Sequence[PlotBar], none: str, about: str = "") -> Panel:
    rows = tuple((one.name, one.words) for one in bars) or ((none, ""),)
    return Panel(id=name, title=title, plot=bar_plot(bars, title) if bars else None, rows=rows, about=about)


def _counted(counts: Counter[str]) -> list[PlotBar]:
    return [PlotBar(name=name, value=count) for name, count in sorted(counts.items())]


def _named(counts: Counter[str], names: dict[str, str], *, warn: Sequence[str]) -> list[PlotBar]:
    return [
        PlotBar(name=names[one], value=counts[one], kind="warn" if one in warn and counts[one] else "")
        for one in names
        if counts
    ]


def _queue(found: Overview, said: OperatorTexts) -> Panel:
    say = said.overview
    oldest = f"{found.oldest / 60:.0f} {say.minutes}" if found.waiting else "–"
    bars = [PlotBar(name=f"−{len(found.recent) - at}", value=count) for at, count in enumerate(found.recent)]
    workers = () if found.workers is None else ((say.workers, f"{found.workers}"),)
    rows = ((say.waiting, f"{found.waiting}"), (say.oldest, oldest), *workers)
    return Panel(id="queue", title=say.queue, plot=bar_plot(bars, say.queue) if bars else None, rows=rows)


def _endpoints(found: Overview, said: OperatorTexts) -> Panel:
    say = said.overview
    bars, rows = [], []
    for one in found.endpoints:
        closed = one.state is BreakerState.CLOSED and not one.exhausted
        state = say.exhausted if one.exhausted else say.states[one.state]
        calls = ", ".join(f"{name} {count}" for name, count in sorted(one.calls.items()))
        bars.append(
            PlotBar(name=one.endpoint, value=sum(one.calls.values()), said=state, kind="" if closed else "warn")
        )
        rows.append((one.endpoint, " · ".join(part for part in (state, calls) if part)))
    if bars and found.workers is not None:
        return Panel(id="endpoints", title=say.endpoints, plot=None, rows=((say.at_workers, ""),))
    plot = bar_plot(bars, say.endpoints) if bars else None
    return Panel(id="endpoints", title=say.endpoints, plot=plot, rows=tuple(rows) or ((say.no_endpoints, ""),))


def _spending(found: Overview, said: OperatorTexts) -> Panel:
    say = said.overview
    by_cost = found.cost_a_day is not None
    limit = found.cost_a_day if by_cost else found.tokens_a_day
    bars = [
        PlotBar(
            name=day,
            value=cost if by_cost else tokens,
            said=f"{tokens:,} {say.tokens}, {cost:.4f}",
            kind="warn" if limit is not None and (cost if by_cost else tokens) >= limit else "",
        )
        for day, tokens, cost in found.spent
    ]
    limits = [f"{found.tokens_a_day:,} {say.tokens}"] if found.tokens_a_day is not None else []
    limits += [f"{found.cost_a_day:g}"] if found.cost_a_day is not None else []
    today = found.spent[-1] if found.spent else ("", 0, 0.0)
    rows = (
        (say.tokens, f"{today[1]:,}"),
        (say.cost, f"{today[2]:.4f}"),
        (say.limit, ", ".join(limits) or say.no_limit),
    )
    plot = bar_plot(bars, say.spending, None if limit is None else float(limit)) if bars else None
    return Panel(id="spending", title=say.spending, plot=plot, rows=rows)


def _referrals(found: Overview, said: OperatorTexts) -> list[PlotBar]:
    least = said.overview.at_least
    return [
        PlotBar(name=f"{week}, {platform}", value=count, said=least.format(count=count))
        for week, platform, count in found.referrals
    ]


def _unanswered(found: Overview, said: OperatorTexts) -> list[PlotBar]:
    say = said.overview
    return [
        PlotBar(
            name=f"{week}, {assistant}: {say.topics.get(topic, topic)}",
            value=count,
            said=say.at_least.format(count=count),
        )
        for week, assistant, topic, count in found.unanswered
    ]


def feedback_plots(found: Overview, said: OperatorTexts) -> list[tuple[Figure, Markup]]:
    """Each question of the feedback with its plot."""
    held = said.overview.held_back
    return [
        (
            one,
            bar_plot(
                [
                    PlotBar(
                        name=row.name,
                        value=row.count,
                        said=held if row.count is None else said.overview.of.format(count=row.count, of=row.of),
                    )
                    for row in one.rows
                ],
                one.title,
            ),
        )
        for one in found.feedback
    ]


def health_plot(times: Sequence[float], said: OperatorTexts) -> Markup:
    """The last answers by how long they took."""
    bars = [
        PlotBar(
            name=f"≤ {most:g} s", value=sum(least < one <= most for one in times), kind="" if most <= SLOW else "warn"
        )
        for least, most in pairwise(TOOK)
    ]
    return bar_plot(bars, said.overview.answers_took)
