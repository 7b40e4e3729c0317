"""Scores as Markdown tables, for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


def as_markdown(result: dict[str, Any]) -> str:
    """Everything that `eval score` found but the single responses."""
    lines: list[str] = []
    for panel in result["panels"]:
        lines += _panel(panel)
    for one in result["programs_against_people"]:
        lines += _against(one)
    if "printed" in result:
        lines += _printed(result)
    return "\n".join(lines).strip() + "\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with columns of even width."""
    body = [list(head), *(list(row) for row in rows)]
    widths = [max(len(row[at]) for row in body) for at in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in body
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def figure(value: float | None) -> str:
    """A figure with as many digits as it deserves; "–" where it is not defined."""
    return "–" if value is None else f"{value:.3g}"


def interval(found: Sequence[float] | None) -> str:
    """The 95 % interval in words of a table."""
    return "" if found is None else f" [{found[0]:.3g}, {found[1]:.3g}]"


def _panel(panel: dict[str, Any]) -> Iterator[str]:
    raters = panel["raters"]
    names = ", ".join(raters) if isinstance(raters, list) else str(raters)
    yield f"## Ratings: {panel['kind']} ({names}), {panel['responses']} responses"
    yield ""
    yield "95 % intervals in brackets."
    yield ""
    rows = [("all", arm, found) for arm, found in panel["by_arm"].items()]
    rows += [(role, arm, found) for role, arms in panel["table"].items() for arm, found in arms.items()]
    thresholds = [key for key in rows[0][2] if key.startswith("ge_")] if rows else []
    head = ["role", "arm", "median (IQR)", *(f"≥ {key.removeprefix('ge_')}" for key in thresholds)]
    yield from grid(head, ([role, arm, *_cells(found, thresholds)] for role, arm, found in rows))
    yield ""
    if panel["agreement"]:
        yield from _agreement(panel["agreement"])
    if panel["comparisons"]:
        yield from _comparisons(panel["comparisons"])


def _cells(found: dict[str, Any], thresholds: Sequence[str]) -> list[str]:
    middle = (
        f"{figure(found['median'])} ({figure(found['q1'])}–{figure(found['q3'])}){interval(found['median_interval'])}"
    )
    return [middle, *(found[key]["text"] + interval(found[key]["interval"]) for key in thresholds)]


def _agreement(found: dict[str, Any]) -> Iterator[str]:
    within, kappa = found["within_one_point"], found["kappa"]
    rows = [["within one point", within["text"] + interval(within["interval"])]]
    rows += [
        [f"weighted kappa, {' and '.join(one['raters'])}", figure(one["kappa"]) + interval(one["interval"])]
        for one in kappa["pairs"]
    ]
    spread = "" if kappa["sd"] is None else f", SD {figure(kappa['sd'])}"
    rows.append(["weighted kappa, mean of pairs", figure(kappa["mean"]) + interval(kappa["interval"]) + spread])
    rows += [
        [f"Krippendorff's alpha, {level}", figure(one["alpha"]) + interval(one["interval"])]
        for level, one in found["alpha"].items()
    ]
    yield from grid(["agreement of the raters", "figure"], rows)
    yield ""


def _comparisons(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    tests = [key for key in found[0] if key.startswith("mcnemar_ge_")]
    by_holm = ", Holm" if len(found) > 1 else ""
    counts = (f"only one ≥ {key.rpartition('_')[2]}, p (McNemar{by_holm})" for key in tests)
    head = ["arms", "pairs", *counts, f"p (Wilcoxon{by_holm})"]
    rows = [
        [
            " and ".join(one["arms"]),
            str(one["pairs"]),
            *(f"{one[key]['only_first']} and {one[key]['only_second']}, {figure(one[key]['p_holm'])}" for key in tests),
            figure(one["wilcoxon"]["p_holm"]),
        ]
        for one in found
    ]
    yield from grid(head, rows)
    yield ""


def _against(one: dict[str, Any]) -> Iterator[str]:
    yield f"## {one['kind']} against people, {one['responses']} responses"
    yield ""
    if one["responses"]:
        rows = [["weighted kappa of the medians", figure(one["kappa"]) + interval(one["kappa_interval"])]]
        shares = [key for key in one if key == "within_one_point" or key.startswith("same_side_of_")]
        names = (key.replace("same_side_of_", "both or neither ≥ ").replace("_", " ") for key in shares)
        rows += [
            [name, one[key]["text"] + interval(one[key]["interval"])] for name, key in zip(names, shares, strict=True)
        ]
        yield from grid(["agreement", "figure"], rows)
    yield ""


def _printed(result: dict[str, Any]) -> Iterator[str]:
    printed, fits = result["printed"], result["printed_counts_fit"]
    yield f"## As printed in {result['source']}"
    yield ""
    for arm, shown in printed["acceptable"].items():
        where = " and ".join(f"≥ {one}" for one in fits[arm]) or "no threshold"
        yield f"- {arm}: {shown} acceptable; the count fits {where}, the text says ≥ {printed['threshold']}"
    for role_shares in printed["acceptable_by_role"].items():
        yield f"- {role_shares[0]} by role: " + ", ".join(f"{role} {shown}" for role, shown in role_shares[1].items())
    if printed["mean_kappa"] is not None:
        spread = "" if printed["kappa_sd"] is None else f" (SD {printed['kappa_sd']})"
        yield (
            f"- agreement: {printed['within_one_point']} within one point, mean weighted kappa {printed['mean_kappa']}"
            f"{spread}; not computed here, because single ratings were not published"
        )
    yield ""
