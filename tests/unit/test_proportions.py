"""The interval of a share: published examples, the edges, and what must hold for every share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from engine.proportions import wilson

SHARES = st.integers(1, 2000).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_interval_is_the_published_one(part: int, whole: int, low: float, high: float) -> None:
    """The four examples of Newcombe (Statistics in Medicine 17 (1998) 857–872, table I, method 3) come out."""
    assert wilson(part, whole) == pytest.approx((low, high), abs=5e-5)


def test_nothing_has_no_interval() -> None:
    """Of no cases at all there is no share, and so no interval."""
    assert wilson(0, 0) is None


@pytest.mark.parametrize("whole", range(1, 300))
def test_none_and_all_are_bounds_themselves(whole: int) -> None:
    """None of n begins at exactly 0 and ends at z²/(n + z²); all of n mirror it."""
    far = 3.841458820694124 / (whole + 3.841458820694124)
    assert wilson(0, whole) == (0.0, pytest.approx(far))
    assert wilson(whole, whole) == (pytest.approx(1 - far), 1.0)


@given(SHARES)
def test_the_interval_holds_the_share_and_is_that_of_another_program(share: tuple[int, int]) -> None:
    """The bounds enclose the share between 0 and 1, and are those that scipy finds."""
    part, whole = share
    found = wilson(part, whole)
    assert found is not None
    low, high = found
    assert 0 <= low <= part / whole <= high <= 1
    other = binomtest(part, whole).proportion_ci(0.95, method="wilson")
    assert found == pytest.approx((other.low, other.high), abs=1e-12)


def test_a_sum_of_shares_counts_like_a_count() -> None:
    """Ten cases that were each right in half of their runs are as sure as five right ones of ten."""
    assert wilson(sum([0.5] * 10), 10) == wilson(5, 10)
