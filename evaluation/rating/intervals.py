"""How sure a figure that is no share is: bootstrap intervals, at 95 % like those of shares in `engine.proportions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine import Interval

CONFIDENCE = 0.95
RESAMPLES = 1000
_DEFINED = 0.5  # below this part of usable resamples an interval would say more than is known


def bootstrap(
    clusters: Sequence[object],
    figure: Callable[[NDArray[np.intp]], float | None],
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Interval | None:
    """The percentile interval of a figure of units that are drawn anew, whole clusters at a time.

    `clusters` names the cluster of each unit: the replies of one conversation follow from each other, so that they are
    drawn together. `figure` gets the places of the drawn units, and None from it is left out. None where fewer than
    two clusters are there, or most resamples leave the figure undefined.
    B. Efron, "Bootstrap methods: another look at the jackknife", Annals of Statistics 7 (1979) 1–26.
    """
    members = [np.asarray([place for place, one in enumerate(clusters) if one == name]) for name in _unique(clusters)]
    if len(members) < 2:
        return None
    random = np.random.default_rng(seed)
    drawn = (random.integers(len(members), size=len(members)) for _ in range(resamples))
    found = [figure(np.concatenate([members[one] for one in places])) for places in drawn]
    values = [one for one in found if one is not None]
    if len(values) < resamples * _DEFINED:
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _unique(clusters: Sequence[object]) -> list[object]:
    return list(dict.fromkeys(clusters))
