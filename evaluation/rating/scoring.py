"""`eval score`: from scores to the study's table, shares, agreement and tests between arms.

Raters of one kind are a panel: people are never mixed with programs. Thresholds: the study's text calls a median of 2
or more acceptable, its printed counts are those of 3 or more, so that both are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from engine import Interval, wilson
from evaluation.rating.agreement import alpha, mean_kappa, pairwise_kappas, quadratic_kappa, within_one_point
from evaluation.rating.intervals import RESAMPLES, bootstrap
from evaluation.rating.paired import holm, mcnemar, wilcoxon
from evaluation.rating.ratings import HUMAN, Rating
from evaluation.rating.units import RatedResponse, medians_of, scores_of, units_of

THRESHOLDS = (2, 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scoring:
    """How scores are evaluated: `seed` and number of `resamples` of the bootstrap, and what counts as acceptable."""

    seed: int = 1
    resamples: int = RESAMPLES
    thresholds: tuple[int, ...] = THRESHOLDS


def score_ratings(ratings: Sequence[Rating], scoring: Scoring) -> dict[str, Any]:
    """Every panel by itself, people first, and how each kind of program agrees with the people."""
    kinds = sorted({one.kind for one in ratings}, key=lambda kind: (kind != HUMAN, kind))
    by_kind = {kind: units_of(one for one in ratings if one.kind == kind) for kind in kinds}
    panels = [panel(kind, units, scoring) for kind, units in by_kind.items()]
    people = by_kind.get(HUMAN, [])
    against = [_against_people(kind, units, people, scoring) for kind, units in by_kind.items() if kind != HUMAN]
    return {"panels": panels, "programs_against_people": against if people else []}


def panel(kind: str, units: Sequence[RatedResponse], scoring: Scoring) -> dict[str, Any]:
    """All figures of one kind of raters."""
    raters = sorted({rater for unit in units for rater in unit.scores})
    return {
        "kind": kind,
        "raters": raters,
        "responses": len(units),
        "by_arm": {arm: figures(_in(units, arm=arm), scoring) for arm in _arms(units)},
        "table": table(units, scoring),
        "agreement": agreement(units, raters, scoring) if len(raters) > 1 else None,
        "comparisons": comparisons(units, scoring),
        "by_response": [_row(unit) for unit in units],
    }


def table(units: Sequence[RatedResponse], scoring: Scoring) -> dict[str, Any]:
    """The study's table: by role and arm the figures, and each conversation as rows of [median, q1, q3]."""
    return {
        role: {arm: _cell(_in(of_role, arm=arm), scoring) for arm in _arms(of_role)}
        for role in dict.fromkeys(unit.role for unit in units)
        if (of_role := _in(units, role=role))
    }


def figures(units: Sequence[RatedResponse], scoring: Scoring) -> dict[str, Any]:
    """Median and quartiles of the responses' medians, and the share at or above each threshold."""
    medians = medians_of(units)
    q1, median, q3 = (float(one) for one in np.quantile(medians, [0.25, 0.5, 0.75]))
    interval = _resampled(units, lambda places: float(np.median(medians[places])), scoring)
    shares = {f"ge_{one}": share(int((medians >= one).sum()), len(units)) for one in scoring.thresholds}
    return {"n": len(units), "median": median, "q1": q1, "q3": q3, "median_interval": interval, **shares}


def share(part: int, whole: int) -> dict[str, Any]:
    """A share as count, number with its Wilson interval, and as it is printed: "29/36 (81%)"."""
    number = round(part / whole, 4) if whole else None
    return {
        "k": part,
        "n": whole,
        "share": number,
        "interval": _rounded(wilson(part, whole)),
        "text": text(part, whole),
    }


def text(part: int, whole: int) -> str:
    """A share as the study prints it: per cent with two digits that count."""
    if not whole:
        return "0/0"
    percent = 100 * part / whole
    shown = f"{percent:.1f}" if 0 < percent < 10 else f"{percent:.0f}"
    return f"{part}/{whole} ({shown}%)"


def agreement(units: Sequence[RatedResponse], raters: Sequence[str], scoring: Scoring) -> dict[str, Any]:
    """Within one point, the kappa of each pair and their mean, both alphas; intervals by whole conversations."""
    scores = scores_of(units, raters)

    def interval(figure: Callable[[Any], float | None]) -> list[float] | None:
        return _resampled(units, lambda places: figure(scores[:, places]), scoring)

    pairs = pairwise_kappas(scores)
    defined = [kappa for _, _, kappa in pairs if kappa is not None]
    return {
        "within_one_point": share(*within_one_point(scores)),
        "kappa": {
            "pairs": [
                {"raters": [raters[a], raters[b]], "kappa": _short(kappa), "interval": interval(_pair(a, b))}
                for a, b, kappa in pairs
            ],
            "mean": _short(mean_kappa(scores)),
            "sd": _short(float(np.std(defined, ddof=1))) if len(defined) > 1 else None,
            "interval": interval(mean_kappa),
        },
        "alpha": {
            "ordinal": {
                "alpha": _short(alpha(scores, "ordinal")),
                "interval": interval(lambda some: alpha(some, "ordinal")),
            },
            "interval": {
                "alpha": _short(alpha(scores, "interval")),
                "interval": interval(lambda some: alpha(some, "interval")),
            },
        },
    }


def comparisons(units: Sequence[RatedResponse], scoring: Scoring) -> list[dict[str, Any]]:
    """Every two arms; `p_holm` beside each p allows for how many pairs of arms were tested."""
    found = [comparison(units, a, b, scoring) for a, b in combinations(_arms(units), 2)]
    for test in [*(f"mcnemar_ge_{at}" for at in scoring.thresholds), "wilcoxon"]:
        for one, raised in zip(found, holm([one[test]["p"] for one in found]), strict=True):
            one[test]["p_holm"] = raised
    return found


def comparison(units: Sequence[RatedResponse], first: str, second: str, scoring: Scoring) -> dict[str, Any]:
    """Two arms over the queries that both answered: exact McNemar at each threshold, Wilcoxon on the medians."""
    ones = {unit.twin: unit.median for unit in _in(units, arm=first)}
    others = {unit.twin: unit.median for unit in _in(units, arm=second)}
    both = sorted(ones.keys() & others.keys())
    one, other = [ones[place] for place in both], [others[place] for place in both]
    tests = {
        f"mcnemar_ge_{at}": asdict(mcnemar([score >= at for score in one], [score >= at for score in other]))
        for at in scoring.thresholds
    }
    return {"arms": [first, second], "pairs": len(both), **tests, "wilcoxon": asdict(wilcoxon(one, other))}


def _against_people(
    kind: str, units: Sequence[RatedResponse], people: Sequence[RatedResponse], scoring: Scoring
) -> dict[str, Any]:
    """A program's medians against the people's, over the responses that both rated."""
    theirs = {unit.response_id: unit for unit in people}
    pairs = [(unit, theirs[unit.response_id]) for unit in units if unit.response_id in theirs]
    if not pairs:
        return {"kind": kind, "responses": 0}
    mine, others = medians_of([one for one, _ in pairs]), medians_of([other for _, other in pairs])
    same = {
        f"same_side_of_{at}": share(int(((mine >= at) == (others >= at)).sum()), len(pairs))
        for at in scoring.thresholds
    }
    return {
        "kind": kind,
        "responses": len(pairs),
        "within_one_point": share(*within_one_point(np.vstack([mine, others]))),
        "kappa": _short(quadratic_kappa(mine, others)),
        "kappa_interval": _resampled(
            [one for one, _ in pairs], lambda places: quadratic_kappa(mine[places], others[places]), scoring
        ),
        **same,
    }


def _pair(a: int, b: int) -> Callable[[Any], float | None]:
    return lambda some: quadratic_kappa(some[a], some[b])


def _cell(units: Sequence[RatedResponse], scoring: Scoring) -> dict[str, Any]:
    conversations: dict[tuple[str, str, str, int], list[list[float]]] = {}
    for unit in units:
        conversations.setdefault(unit.cluster, []).append([unit.median, unit.q1, unit.q3])
    return {**figures(units, scoring), "conversations": list(conversations.values())}


def _resampled(
    units: Sequence[RatedResponse], figure: Callable[[Any], float | None], scoring: Scoring
) -> list[float] | None:
    found = bootstrap([unit.cluster for unit in units], figure, seed=scoring.seed, resamples=scoring.resamples)
    return _rounded(found)


def _in(units: Iterable[RatedResponse], *, role: str | None = None, arm: str | None = None) -> list[RatedResponse]:
    return [one for one in units if role in {None, one.role} and arm in {None, one.arm}]


def _arms(units: Iterable[RatedResponse]) -> list[str]:
    return list(dict.fromkeys(unit.arm for unit in units))


def _row(unit: RatedResponse) -> dict[str, Any]:
    return {**asdict(unit), "scores": dict(unit.scores), "iqr": unit.q3 - unit.q1}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(one, 4) for one in interval]
