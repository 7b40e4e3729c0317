"""Ratings in a report: arms by role, the score of every reply, tests between arms, agreement of the raters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluation.rating.tables import figure
from evaluation.reporting.document import (
    IntervalPanel,
    IntervalRow,
    Intervals,
    Plot,
    PlottedFigure,
    ReportSection,
    Scored,
    ScorePanel,
    Scores,
    Table,
)
from evaluation.reporting.notation import ordered_arms, probability, spoken_name

SLOTS = 16
"""Queries that fit beside each other in one panel."""


def panel_name(panel: Mapping[str, Any]) -> str:
    """Who rated: people by number, programs by name."""
    raters = panel["raters"]
    many = len(raters) if isinstance(raters, list) else raters
    if panel["kind"] == "human":
        return "1 person" if many == 1 else f"{many} people"
    return str(panel["kind"]) if many == 1 else f"{panel['kind']}, {many} times"


def rated_sections(score: Mapping[str, Any]) -> Iterator[ReportSection]:
    """Every panel of raters by itself, people first; then the agreement of raters, and of programs with people."""
    for panel in score["panels"]:
        yield _shares(panel)
        yield _responses(panel)
    yield from _agreement(score)


def _shares(panel: Mapping[str, Any]) -> ReportSection:
    arms = ordered_arms(panel["by_arm"])
    rows = [("all roles", panel["by_arm"]), *panel["table"].items()]
    thresholds = [key for key in panel["by_arm"][arms[0]] if key.startswith("ge_")]
    drawing = Intervals(
        panels=tuple(
            IntervalPanel(
                title=f"Replies with a median score of {_at(key)} or more",
                rows=tuple(
                    IntervalRow(name=spoken_name(role), marks=tuple(_marks(found, arms, key))) for role, found in rows
                ),
            )
            for key in reversed(thresholds)
        ),
        series=arms,
    )
    table = Table(
        caption=f"Rated by {panel_name(panel)}: shares with 95 % Wilson intervals",
        head=("role", "arm", "replies", "median (quartiles)", *(f"≥ {_at(key)}" for key in thresholds)),
        rows=tuple(
            (spoken_name(role), arm, str(found[arm]["n"]), _median(found[arm]), *_texts(found[arm], thresholds))
            for role, found in rows
            for arm in arms
            if arm in found
        ),
    )
    alt = "; ".join(
        f"{arm}: {panel['by_arm'][arm][key]['text']} at {_at(key)} or more" for arm in arms for key in thresholds
    )
    name = f"arms-by-role-{panel['kind']}"
    plot = Plot(name=name, alt=f"Shares by role and arm. All roles: {alt}.", drawing=drawing, table=table)
    said = (
        "Points are shares of replies, lines their 95 % Wilson intervals. Each reply counts by itself, though those of "
        "one conversation follow from each other: the intervals are rather too narrow.",
    )
    tests = _tests(panel["comparisons"])
    return ReportSection(
        title=f"Arms by role, rated by {panel_name(panel)}", said=said, blocks=(plot, *([tests] if tests else []))
    )


def _marks(found: Mapping[str, Any], arms: Sequence[str], key: str) -> Iterator[PlottedFigure]:
    for arm in arms:
        if arm in found and found[arm][key]["share"] is not None:
            low, high = found[arm][key]["interval"] or (None, None)
            yield PlottedFigure(series=arm, value=found[arm][key]["share"], low=low, high=high)


def _texts(found: Mapping[str, Any], thresholds: Sequence[str]) -> list[str]:
    return [found[key]["text"] + _percent_interval(found[key]["interval"]) for key in thresholds]


def _percent_interval(found: Sequence[float] | None) -> str:
    return "" if found is None else f", {100 * found[0]:.0f}–{100 * found[1]:.0f}%"


def _median(found: Mapping[str, Any]) -> str:
    return f"{figure(found['median'])} ({figure(found['q1'])}–{figure(found['q3'])})"


def _at(key: str) -> str:
    return key.removeprefix("ge_")


def _tests(comparisons: Sequence[Mapping[str, Any]]) -> Table | None:
    if not comparisons:
        return None
    keys = [key for key in comparisons[0] if key.startswith("mcnemar_ge_")]
    holm = ", Holm" if len(comparisons) > 1 else ""
    columns = (f"only one ≥ {key.rpartition('_')[2]}: counts, p" for key in keys)
    return Table(
        caption=f"Tests between arms (exact McNemar, Wilcoxon{holm})",
        head=("arms", "pairs", *columns, "Wilcoxon p"),
        rows=tuple(
            (
                " and ".join(one["arms"]),
                str(one["pairs"]),
                *(
                    f"{one[key]['only_first']} and {one[key]['only_second']}, {probability(one[key]['p_holm'])}"
                    for key in keys
                ),
                probability(one["wilcoxon"]["p_holm"]),
            )
            for one in comparisons
        ),
    )


def _responses(panel: Mapping[str, Any]) -> ReportSection:
    rows: list[dict[str, Any]] = panel["by_response"]
    arms = ordered_arms(one["arm"] for one in rows)
    several = len({one["run"] for one in rows}) > 1
    drawing = Scores(panels=tuple(_panels(rows, several)), series=arms)
    cells: dict[tuple[str, str, int, int], dict[str, str]] = {}
    for one in rows:
        cells.setdefault((one["run"], one["role"], one["conversation"], one["query"]), {})[one["arm"]] = _median(one)
    table = Table(
        caption=f"Rated by {panel_name(panel)}: median (quartiles) of each reply",
        head=(*(["run"] if several else []), "role", "conversation", "query", *arms),
        rows=tuple(
            (
                *([run] if several else []),
                spoken_name(role),
                str(conversation),
                str(query),
                *(found.get(arm, "–") for arm in arms),
            )
            for (run, role, conversation, query), found in sorted(cells.items())
        ),
    )
    means = "; ".join(f"{arm}: median {figure(panel['by_arm'][arm]['median'])}" for arm in arms)
    plot = Plot(
        name=f"scores-{panel['kind']}",
        alt=f"The score of each of {len(rows)} replies by conversation and query, arms side by side. {means}.",
        drawing=drawing,
        table=table,
    )
    said = (
        "A point is the median score of one reply, a line its quartiles. The queries of a conversation stand in order; "
        "dotted lines divide conversations.",
    )
    return ReportSection(title=f"Score of each reply, rated by {panel_name(panel)}", said=said, blocks=(plot,))


def _panels(rows: Sequence[dict[str, Any]], several: bool) -> Iterator[ScorePanel]:
    for run, role in dict.fromkeys((one["run"], one["role"]) for one in rows):
        own = [one for one in rows if (one["run"], one["role"]) == (run, role)]
        places = sorted({(one["conversation"], one["query"]) for one in own})
        title = spoken_name(role) + (f", {run}" if several else "")
        for begin in range(0, len(places), SLOTS):
            part = places[begin : begin + SLOTS]
            yield ScorePanel(
                title=title if not begin else f"{title}, continued",
                slots=tuple((f"conversation {conversation}", query) for conversation, query in part),
                scored=tuple(
                    Scored(
                        series=one["arm"],
                        slot=part.index((one["conversation"], one["query"])),
                        median=one["median"],
                        q1=one["q1"],
                        q3=one["q3"],
                    )
                    for one in own
                    if (one["conversation"], one["query"]) in part
                ),
            )


def _agreement(score: Mapping[str, Any]) -> Iterator[ReportSection]:
    groups = [(panel_name(one), list(_among(one["agreement"]))) for one in score["panels"] if one["agreement"]]
    groups += [
        (f"{one['kind']} against people", list(_against(one)))
        for one in score["programs_against_people"]
        if one["responses"]
    ]
    if not groups:
        return
    drawing = Intervals(
        panels=tuple(
            IntervalPanel(
                title=group,
                rows=tuple(IntervalRow(name=name, marks=(mark,) if mark else ()) for name, mark, _ in rows),
            )
            for group, rows in groups
        ),
        series=("figure",),
        percent=False,
    )
    table = Table(
        caption="Agreement with 95 % intervals",
        head=("raters", "agreement", "figure"),
        rows=tuple((group, name, shown) for group, rows in groups for name, _, shown in rows),
    )
    alt = "; ".join(f"{group}, {name}: {shown}" for group, rows in groups for name, _, shown in rows[:2])
    said = ("1 is full agreement; for kappa and alpha 0 is chance. Programs are never counted among people.",)
    plot = Plot(name="agreement", alt=f"Agreement of raters. {alt}.", drawing=drawing, table=table)
    yield ReportSection(title="Agreement of raters", said=said, blocks=(plot,))


def _among(found: Mapping[str, Any]) -> Iterator[tuple[str, PlottedFigure | None, str]]:
    kappa = found["kappa"]
    yield _share("within one point", found["within_one_point"])
    yield _line("weighted kappa, mean", kappa["mean"], kappa["interval"])
    for one in kappa["pairs"]:
        yield _line(f"kappa, {' and '.join(one['raters'])}", one["kappa"], one["interval"])
    for level, one in found["alpha"].items():
        yield _line(f"Krippendorff's α, {level}", one["alpha"], one["interval"])


def _against(found: Mapping[str, Any]) -> Iterator[tuple[str, PlottedFigure | None, str]]:
    yield _share("within one point", found["within_one_point"])
    yield _line("weighted kappa of medians", found["kappa"], found["kappa_interval"])
    for key in found:
        if key.startswith("same_side_of_"):
            yield _share(f"same side of {key.rpartition('_')[2]} points", found[key])


def _share(name: str, found: Mapping[str, Any]) -> tuple[str, PlottedFigure | None, str]:
    _, mark, _ = _line(name, found["share"], found["interval"])
    return name, mark, found["text"] + _percent_interval(found["interval"])


def _line(name: str, value: float | None, found: Sequence[float] | None) -> tuple[str, PlottedFigure | None, str]:
    low, high = found or (None, None)
    mark = None if value is None else PlottedFigure(series="figure", value=value, low=low, high=high)
    shown = "" if found is None else f", {figure(found[0])} to {figure(found[1])}"
    return name, mark, figure(value) + shown
