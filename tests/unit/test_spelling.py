"""Misspelt words, towards those that many people typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.language.spelling import MOST, Spelling
from engine.language.text import words

SPELLING = Spelling.of([*[words("clozapine voices quetiapine depression medicine weight")] * 3, words("voises")])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("clozapin", "clozapine"), ("quitiapine", "quetiapine"), ("depresion", "depression"), ("wieght", "weight")],
)
def test_a_misspelt_word_is_read_as_one_that_many_typed(typed: str, meant: str) -> None:
    """A letter wrong, missing or turned round still gives the word that was meant."""
    assert SPELLING.corrected([typed]) == [meant]


@pytest.mark.parametrize("word", ["voises", "meditation", "sun", "x1234567", "zebra", "übermorgen"])
def test_other_words_stay(word: str) -> None:
    """What somebody typed before, everyday words, short ones, figures and what is near nothing stay as they are."""
    assert SPELLING.corrected([word]) == [word]


@given(st.lists(st.text(max_size=30), max_size=3 * MOST))
def test_any_words_keep_their_number(said: list[str]) -> None:
    """For every word comes one word, and only the first unknown ones are looked for."""
    found = SPELLING.corrected(said)
    assert len(found) == len(said)
    assert sum(one != other for one, other in zip(dict.fromkeys(said), dict.fromkeys(found), strict=False)) <= len(said)
