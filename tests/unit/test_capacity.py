"""The calculation of what many chats need."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.capacity import Load, needed


@given(st.floats(1e3, 1e7), st.floats(1, 20))
def test_twice_the_chats_need_twice_of_all_that_is_spent(chats: float, messages: float) -> None:
    """Messages, tokens, cost, writes and size grow with the chats; the cost of one chat stays."""
    load = Load(chats=chats, messages=messages)
    one, two = needed(load), needed(replace(load, chats=2 * chats))
    for what in ("messages a day", "model calls a day", "cost of models a day", "WAL a day, GB", "chats on disk, GB"):
        assert float(two[what]) == pytest.approx(2 * float(one[what]))
    assert float(two["cost of models for 1,000 chats"]) == pytest.approx(float(one["cost of models for 1,000 chats"]))
    assert float(two["workers"]) >= float(one["workers"])


def test_the_cost_is_tokens_times_prices() -> None:
    """By hand: two messages of a million prompt tokens and half a million others, half of the prompt from a cache."""
    load = Load(chats=2, messages=1, prompt_tokens=1e6, completion_tokens=5e5, prompt_price=2, cached_price=1, cached=0.5,
                completion_price=4)  # fmt: skip
    assert float(needed(load)["cost of models a day"]) == pytest.approx(2 * (0.5 * 1 + 0.5 * 2) + 4)
