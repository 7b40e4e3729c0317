"""How sure a share is: the one interval that every report of the house prints."""

from __future__ import annotations

from math import sqrt
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]
Z = 1.959963984540054
"""The standard normal quantile of a two-sided interval of 95 %."""


def wilson(part: float, whole: int) -> Interval | None:
    """The 95 % score interval of the share `part / whole`: its bounds, 0 to 1; None where there is nothing to share.

    `part` is a count from 0 to `whole`, or a sum of shares where one case was looked at several times.
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209–212.
    """
    if not whole:
        return None
    share, shrink = part / whole, 1 + Z * Z / whole
    middle = (share + Z * Z / (2 * whole)) / shrink
    spread = Z * sqrt(share * (1 - share) / whole + Z * Z / (4 * whole * whole)) / shrink
    # None and all are bounds themselves, which rounding would miss by a hair.
    return (0.0 if part == 0 else max(0.0, middle - spread)), (1.0 if part == whole else min(1.0, middle + spread))
