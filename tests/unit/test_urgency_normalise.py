"""Every disguise of a word ends in one spelling."""

from __future__ import annotations

import pytest

from engine.urgency.normalise import Normaliser, plain


@pytest.fixture(scope="module")
def normaliser() -> Normaliser:
    return Normaliser(
        ["i", "want", "to", "die", "kill", "myself", "suicid*", "dont", "end", "it", "all", "live", "anymore"],
        spellings={"kms": "kill myself", "wanna": "want to"},
        fuzzy=["suicidal", "myself", "anymore"],
    )


def first(normaliser: Normaliser, message: str) -> str:
    return " ".join(sentence.strip() for sentence in normaliser.views(message)[0])


@pytest.mark.parametrize("apostrophe", ["'", "’", "‘", "ʼ", "´", "`", "＇", ""])
def test_apostrophes_vanish(normaliser: Normaliser, apostrophe: str) -> None:
    """No kind of apostrophe, nor its absence, changes a word."""
    assert first(normaliser, f"I don{apostrophe}t want to live") == "i dont want to live"


@pytest.mark.parametrize(
    "message",
    [
        "I WANT TO DIE",
        "i w\u200bant to d\u00adie",
        "і wаnt tо dіе",
        "ｉ ｗａｎｔ ｔｏ ｄｉｅ",
        "i w4nt to d1e",
        "i wannnnt to dieeee",
        "i want to d i e",
        "i want to d.i.e",
        "i   want\tto  die",
        "i wánt tò dïe",
        "iwanttodie",
        "i wanna die",
        "🅸 want to die",
    ],
)
def test_disguises_are_taken_off(normaliser: Normaliser, message: str) -> None:
    """Case, invisible characters, other scripts, digits, stretching, spacing and accents change nothing."""
    assert first(normaliser, message) == "i want to die"


def test_frequent_misspellings_are_spelt_out(normaliser: Normaliser) -> None:
    """An abbreviation of the data becomes the words it stands for."""
    assert first(normaliser, "gonna kms") == "gonna kill myself"


@pytest.mark.parametrize("word", ["mysefl", "mysself", "mysel"])
def test_one_wrong_letter_is_forgiven(normaliser: Normaliser, word: str) -> None:
    """A long word of the fuzzy list is recognised with one letter wrong, missing, added or swapped."""
    assert first(normaliser, f"kill {word}") == "kill myself"


def test_known_words_are_never_changed() -> None:
    """A word that the rules know is not corrected into its neighbour."""
    assert first(Normaliser(["mys", "myself", "himself"], fuzzy=["himself", "myself"]), "mys himself") == "mys himself"


def test_censored_words_are_filled_in() -> None:
    """A word with stars in it is read as the word of the fuzzy list that fits."""
    assert first(Normaliser(["suicide"], fuzzy=["suicide"]), "su*c*de") == "suicide"


def test_a_beginning_swallows_no_neighbour(normaliser: Normaliser) -> None:
    """A word known by its beginning is not joined with the unknown words after it."""
    assert first(normaliser, "suicides xqz bkw") == "suicides xqz bkw"
    assert first(normaliser, "sui cide") == "suicide"


def test_sentences_stay_apart(normaliser: Normaliser) -> None:
    """A full stop separates, so that what is said in one sentence does not touch another."""
    assert normaliser.views("I am fine. I want to die.")[0] == ("i am fine ", "i want to die ")


def test_line_breaks_are_read_both_ways(normaliser: Normaliser) -> None:
    """A line break may end a sentence or stand in its middle, so both readings are given."""
    views = normaliser.views("i want\n\nto die")
    assert ("i want ", "to die ") in views
    assert ("i want to die ",) in views


def test_plain_removes_marks_and_case() -> None:
    """The plain form has neither accents nor capitals nor apostrophes."""
    assert plain("J’AI PLUS ÉTÉ — Dø") == "jai plus ete — do"


@pytest.mark.parametrize("message", ["", " ", "\n\n", "…", "😀😀", "?", "\u200b"])
def test_wordless_messages_have_no_words(normaliser: Normaliser, message: str) -> None:
    """A message without words breaks nothing."""
    assert not any(word.isalpha() for view in normaliser.views(message) for word in view)


def test_long_runs_stay_bounded(normaliser: Normaliser) -> None:
    """A wall of letters without a space comes back without being taken apart."""
    assert first(normaliser, "x" * 3 + "yz" * 1500)
