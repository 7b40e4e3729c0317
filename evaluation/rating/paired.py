"""Tests between two arms whose responses belong together in pairs. scipy is imported when a rank test is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from engine import ConfigurationError
from evaluation.calibration.shares import exact_mcnemar


@dataclass(frozen=True, kw_only=True, slots=True)
class McNemar:
    """Pairs in which only the first or only the second member counts as acceptable, and the two-sided exact p-value."""

    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Wilcoxon:
    """The signed-rank test: pairs that differ, the smaller rank sum and the two-sided p-value."""

    pairs: int
    differ: int
    statistic: float
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """The exact test of paired yes-or-no outcomes: a binomial test of the pairs that differ; p is 1 where none does.

    Q. McNemar, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12 (1947) 153–157.
    """
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    return McNemar(only_first=only_first, only_second=only_second, p=exact_mcnemar(only_first, only_second))


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> Wilcoxon:
    """The signed-rank test of paired scores; p is 1 where no pair differs.

    Pairs without a difference are left out, as in the original. Up to 50 pairs without ties p is exact, else it is
    the normal approximation corrected for ties.
    F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945) 80–83.
    """
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    differing = differences[differences != 0]
    if not differing.size:
        return Wilcoxon(pairs=differences.size, differ=0, statistic=0.0, p=1.0)
    tied = np.unique(np.abs(differing)).size < differing.size
    method = "exact" if differing.size <= 50 and not tied else "asymptotic"
    found = scipy_stats().wilcoxon(differing, method=method)
    return Wilcoxon(
        pairs=differences.size, differ=differing.size, statistic=float(found.statistic), p=float(found.pvalue)
    )


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values of several tests, raised so that together they keep the level of one; in the order given.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979) 65–70.
    """
    raised = [0.0] * len(ps)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda one: ps[one])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[place]))
        raised[place] = highest
    return raised


def scipy_stats() -> Any:
    """The module scipy.stats; raises ConfigurationError where it is not installed."""
    try:
        return import_module("scipy.stats")
    except ImportError as error:
        raise ConfigurationError(
            "The package 'scipy' is not installed.", remedy="Install cafi[reports] to have ratings evaluated."
        ) from error
