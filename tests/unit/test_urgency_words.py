"""Every disguise of a word ends in one spelling."""

from __future__ import annotations

import pytest

from engine.language.letters import plain, undisguised_words


@pytest.mark.parametrize("apostrophe", ["'", "’", "‘", "ʼ", "´", "`", "＇", ""])
def test_apostrophes_vanish(apostrophe: str) -> None:
    """No kind of apostrophe, nor its absence, changes a word."""
    assert undisguised_words(f"I don{apostrophe}t want to live") == undisguised_words("i dont want to live")


@pytest.mark.parametrize(
    "message",
    [
        "I WANT TO DIE",
        "i w\u200bant to d\u00adie",
        "і wаnt tо dіе",
        "ｉ ｗａｎｔ ｔｏ ｄｉｅ",
        "i w4nt to d1e",
        "i wannnnt to dieeee",
        "i   want\tto  die",
        "i wánt tò dïe",
        "🅸 want to die",
    ],
)
def test_disguises_are_taken_off(message: str) -> None:
    """Case, invisible characters, other scripts, digits, stretching and accents change nothing."""
    assert undisguised_words(message) == undisguised_words("i want to die")


def test_line_breaks_stay() -> None:
    """Sentences are told apart after their letters were made plain."""
    assert plain("One\nTwo") == "one\ntwo"


def test_numbers_are_one_word() -> None:
    """No amount is a word of its own, so none can be learnt."""
    assert undisguised_words("30 tablets") == undisguised_words("3000 tablets")
