"""How far raters agree: quadratic-weighted kappa, Krippendorff's alpha, and agreement within one point.

A table of scores is an array of raters × units, with NaN where a rater gave no score. A figure is None where it is not
defined: too few scores, or no variation at all, so that agreement by chance is already complete.
"""

from __future__ import annotations

from importlib import import_module
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine import ConfigurationError

Scores: TypeAlias = NDArray[np.float64]
Level = Literal["ordinal", "interval"]


def quadratic_kappa(first: Scores, second: Scores) -> float | None:
    """Cohen's kappa with quadratic weights over the units that both raters scored; 1 is full agreement, 0 is chance.

    With weights that grow with the squared distance the weighted tables become mean squared differences: those that
    were observed, over those of every score of the one with every score of the other.
    J. Cohen, "Weighted kappa", Psychological Bulletin 70 (1968) 213–220.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    one, other = first[both], second[both]
    if not one.size:
        return None
    observed = np.mean((one - other) ** 2)
    expected = one.var() + other.var() + (one.mean() - other.mean()) ** 2
    return None if expected == 0 else float(1 - observed / expected)


def pairwise_kappas(scores: Scores) -> list[tuple[int, int, float | None]]:
    """The kappa of every pair of raters, by their rows."""
    return [(a, b, quadratic_kappa(scores[a], scores[b])) for a, b in combinations(range(len(scores)), 2)]


def mean_kappa(scores: Scores) -> float | None:
    """The mean kappa over all pairs of raters for which it is defined."""
    defined = [kappa for _, _, kappa in pairwise_kappas(scores) if kappa is not None]
    return float(np.mean(defined)) if defined else None


def alpha(scores: Scores, level: Level) -> float | None:
    """Krippendorff's alpha for any number of raters, with scores missing; 1 is full agreement, 0 is chance.

    `ordinal` uses ranks only, `interval` the distances too. Units with fewer than two scores do not count.
    K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania, 2011.
    """
    pairable = scores[:, (~np.isnan(scores)).sum(axis=0) >= 2]
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        return None
    return float(_krippendorff().alpha(reliability_data=pairable, level_of_measurement=level))


def within_one_point(scores: Scores) -> tuple[int, int]:
    """Of the units with at least two scores: those whose highest and lowest differ by at most one, and all."""
    columns = scores[:, (~np.isnan(scores)).sum(axis=0) >= 2]
    if not columns.size:
        return 0, 0
    spread = np.nanmax(columns, axis=0) - np.nanmin(columns, axis=0)
    return int((spread <= 1).sum()), columns.shape[1]


def _krippendorff() -> Any:
    try:
        return import_module("krippendorff")
    except ImportError as error:
        raise ConfigurationError(
            "The package 'krippendorff' is not installed.", remedy="Install cafi[reports] to have ratings evaluated."
        ) from error
