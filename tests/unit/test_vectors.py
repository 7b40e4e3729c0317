"""Rows of numbers in a quarter of the room."""

from __future__ import annotations

import numpy as np
import pytest

from engine.language.vectors import BLOCK, UnitRows, in_whole_numbers, of_length_one


@pytest.mark.parametrize("many", [0, 1, 3, BLOCK, 2 * BLOCK + 5])
def test_rows_in_whole_numbers_are_as_like_as_the_rows_themselves(many: int) -> None:
    """However many rows there are, their likeness to one is within a hundredth of what the rows themselves would give."""
    dice = np.random.default_rng(1)
    rows = of_length_one(dice.normal(size=(many, 16)).astype(np.float32))
    one = of_length_one(dice.normal(size=(1, 16)).astype(np.float32))[0]
    kept = UnitRows.of(in_whole_numbers(rows))
    assert len(kept) == many and kept.like(one) == pytest.approx(rows @ one, abs=0.01)


def test_a_row_of_zeros_is_like_nothing_and_no_row_is_none() -> None:
    """What has no direction has no likeness, and nothing divides by its length."""
    one = np.ones(4, dtype=np.float32) / 2
    assert UnitRows.of(np.zeros((2, 4), dtype=np.int8)).like(one).tolist() == [0, 0]
    assert UnitRows.none().like(one).tolist() == []
