"""Drawings as SVG inside a page: matplotlib where it is installed, letters kept as text, no address in it.

Series differ in shape as well as in colour. Widths are those of a phone, so that letters stay readable there.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from statistics import median
from textwrap import wrap
from typing import Any

from evaluation.reporting.document import Drawing, IntervalPanel, Intervals, ScorePanel, Scores, StripPanel, Strips

HOW_TO_GET = "Plots need matplotlib: install CAFI with the extra `reports` (pip install 'cafi[reports]')."
INK, RULE = "#1d2433", "#b9c0cd"
COLOURS = ("#1f5c99", "#a8480f", "#2f6f4f", "#6d4a94", "#8a6d00", "#5a6172", "#98335c")
SHAPES = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 5.0  # inches, 480 px
NAME_LENGTH = 26
TITLE_LENGTH = 42
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.constrained_layout.h_pad": 0.09,
    "legend.handletextpad": 0.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Names are text of others: a dollar sign is no formula.
    "text.parse_math": False,
}
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.S)
_SPACES = re.compile(r'\s+xmlns(:\w+)?="[^"]*"')
_GROUPS = re.compile(r'<g id="[^"]*"')


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def svg(drawing: Drawing, name: str) -> str:
    """The drawing as an element of HTML; the same drawing and name give the same text."""
    from matplotlib import rc_context

    # Letters that the measuring font lacks are still written: the page's own font has them.
    with warnings.catch_warnings(), rc_context({**SETTINGS, "svg.hashsalt": name}):
        warnings.simplefilter("ignore")
        match drawing:
            case Intervals():
                return _text(_intervals(drawing))
            case Scores():
                return _text(_scores(drawing))
            case Strips():
                return _text(_strips(drawing))


def _text(figure: Any) -> str:
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    text = written.getvalue()
    text = _METADATA.sub("", text[text.index("<svg") :])
    text = _GROUPS.sub("<g", _SPACES.sub("", text)).replace("xlink:href", "href")
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)


@contextmanager
def _figure(heights: Sequence[float], series: Sequence[str]) -> Iterator[tuple[Any, list[Any]]]:
    """A figure with panels of these heights in inches, and the legend above them."""
    from matplotlib.figure import Figure

    legend = 0.3 * ((len(series) + 2) // 3) if len(series) > 1 else 0.0
    figure = Figure(figsize=(WIDTH, sum(heights) + legend), layout="constrained")
    axes = figure.subplots(len(heights), 1, height_ratios=list(heights), squeeze=False)[:, 0]
    yield figure, list(axes)
    if len(series) > 1:
        from matplotlib.lines import Line2D

        marks = [Line2D([], [], linestyle="", label=_short(name), **_style(at)) for at, name in enumerate(series)]
        figure.legend(handles=marks, loc="outside upper left", ncols=min(3, len(series)), frameon=False)


def _intervals(drawing: Intervals) -> Any:
    series = drawing.series
    step = 0.17 * len(series) + 0.16
    heights = [step * len(panel.rows) + 0.75 for panel in drawing.panels]
    with _figure(heights, series) as (figure, axes):
        for axis, panel in zip(axes, drawing.panels, strict=True):
            _interval_panel(axis, panel, series)
            _share_axis(axis, drawing)
    return figure


def _interval_panel(axis: Any, panel: IntervalPanel, series: Sequence[str]) -> None:
    axis.set_title(_wrapped(panel.title), loc="left")
    for row, one in enumerate(panel.rows):
        for mark in one.marks:
            at = series.index(mark.series)
            height = row + _shift(at, len(series), 0.55)
            if mark.low is not None and mark.high is not None:
                axis.plot([mark.low, mark.high], [height, height], color=_colour(at), linewidth=1.6)
            axis.plot([mark.value], [height], linestyle="", clip_on=False, zorder=3, **_style(at))
            if mark.bar is not None:
                axis.plot([mark.bar] * 2, [height - 0.13, height + 0.13], color=INK, linewidth=2.2, zorder=4)
        if row:
            axis.axhline(row - 0.5, color=RULE, linewidth=0.5)
    axis.set_yticks(range(len(panel.rows)), [_short(one.name) for one in panel.rows])
    axis.set_ylim(len(panel.rows) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)


def _share_axis(axis: Any, drawing: Intervals) -> None:
    found = [mark for panel in drawing.panels for row in panel.rows for mark in row.marks]
    lowest = min([0.0, *(mark.value if mark.low is None else mark.low for mark in found)])
    axis.set_xlim(lowest - 0.02, 1.02)
    axis.grid(axis="x", color=RULE, linewidth=0.5)
    axis.set_axisbelow(True)
    if drawing.percent:
        axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])


def _scores(drawing: Scores) -> Any:
    with _figure([1.75] * len(drawing.panels), drawing.series) as (figure, axes):
        for axis, panel in zip(axes, drawing.panels, strict=True):
            _score_panel(axis, panel, drawing)
    return figure


def _score_panel(axis: Any, panel: ScorePanel, drawing: Scores) -> None:
    axis.set_title(_wrapped(panel.title), loc="left")
    for one in panel.scored:
        at = drawing.series.index(one.series)
        place = one.slot + _shift(at, len(drawing.series), 0.6)
        axis.plot([place, place], [one.q1, one.q3], color=_colour(at), linewidth=1.6)
        axis.plot([place], [one.median], linestyle="", clip_on=False, zorder=3, **_style(at))
    for slot in range(1, len(panel.slots)):
        apart = panel.slots[slot][0] != panel.slots[slot - 1][0]
        axis.axvline(slot - 0.5, color=INK if apart else RULE, linewidth=0.8, linestyle=":" if apart else "-")
    starts = [at for at, slot in enumerate(panel.slots) if not at or slot[0] != panel.slots[at - 1][0]]
    names = {at: panel.slots[at][0] for at in starts}
    few = len(starts) <= 2
    axis.set_xticks(
        range(len(panel.slots)),
        [
            f"{query}\n{(name if few else name.removeprefix('conversation ')) if at in names else ''}"
            for at, (name, query) in enumerate(panel.slots)
        ],
    )
    for tick in axis.get_xticklabels():
        tick.set_horizontalalignment("left" if "\n" in tick.get_text().strip() else "center")
    axis.set_xlim(-0.5, max(len(panel.slots), 4) - 0.5)
    axis.set_yticks(range(drawing.highest + 1))
    axis.set_ylim(-0.3, drawing.highest + 0.3)
    axis.set_ylabel("score")
    axis.grid(axis="y", color=RULE, linewidth=0.5)
    axis.tick_params(axis="x", length=0)


def _strips(drawing: Strips) -> Any:
    heights = [0.34 * len(drawing.series) + 0.75] * len(drawing.panels)
    with _figure(heights, ()) as (figure, axes):
        for axis, panel in zip(axes, drawing.panels, strict=True):
            _strip_panel(axis, panel, drawing.series)
    return figure


def _strip_panel(axis: Any, panel: StripPanel, series: Sequence[str]) -> None:
    axis.set_title(_wrapped(panel.title), loc="left")
    for at, name in enumerate(series):
        values = panel.values[name]
        # Equal values would hide each other: they are spread over the height of the row, the same way each time.
        heights = [at + 0.22 * ((order * 0.618) % 1 - 0.5) * 2 for order in range(len(values))]
        axis.plot(values, heights, linestyle="", alpha=0.6, clip_on=False, **{**_style(at), "markersize": 4})
        axis.plot([median(values)] * 2, [at - 0.38, at + 0.38], color=INK, linewidth=2)
    axis.set_yticks(range(len(series)), [_short(name) for name in series])
    axis.set_ylim(len(series) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.grid(axis="x", color=RULE, linewidth=0.5)
    axis.tick_params(axis="y", length=0)
    axis.xaxis.set_major_formatter("{x:,g}")


def _style(at: int) -> dict[str, Any]:
    """The look of the n-th series: every second one is hollow, so that print in grey keeps them apart."""
    colour = _colour(at)
    face = colour if at % 2 == 0 else "white"
    return {
        "marker": SHAPES[at % len(SHAPES)],
        "markersize": 6,
        "color": colour,
        "markerfacecolor": face,
        "markeredgewidth": 1.4,
    }


def _colour(at: int) -> str:
    return COLOURS[at % len(COLOURS)]


def _shift(at: int, many: int, width: float) -> float:
    """Where in a row the n-th of many series stands."""
    return width * ((at + 0.5) / many - 0.5)


def _short(name: str) -> str:
    """A name that leaves room for the plot; the name of a judge is broken before its tier."""
    plain = "".join(letter for letter in name if letter.isprintable())
    if len(plain) <= NAME_LENGTH:
        return plain
    judge, slash, tier = plain.rpartition("/")
    return f"{judge[:NAME_LENGTH]}\n{tier[:NAME_LENGTH]}" if slash else f"{plain[: NAME_LENGTH - 1]}…"


def _wrapped(title: str) -> str:
    plain = "".join(letter for letter in title if letter.isprintable())
    return "\n".join(wrap(plain, TITLE_LENGTH, max_lines=2, placeholder="…"))
