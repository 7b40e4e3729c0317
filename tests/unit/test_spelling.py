"""Correcting misspelt words, and leaving ordinary ones alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.language.spelling import Spelling, sound
from engine.language.synonyms import Synonyms

ORDINARY = """
    meditation mediation violets vices height weigh affects slip sheep collision dilution hospitable
    therapist diabetes lasagne insurance python election stem stroke symphony cat side hygienist
    employed voice medics
"""
SYNONYMS = Synonyms.load(Path(__file__).parents[2] / "config" / "synonyms" / "en.yaml")
SPELLING = Spelling(
    Counter(("medication", "side", "effects", "voices", "sleep", "weight", "hygiene", "employer", "alcohol")),
    {word for word in SYNONYMS.clinical if word.isalpha()},
    SYNONYMS.vocabulary | SYNONYMS.elsewhere,
)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("skizofrenia", "schizophrenia"),
        ("shizophrenia", "schizophrenia"),
        ("halucinations", "hallucinations"),
        ("medicaton", "medication"),
        ("psyciatrist", "psychiatrist"),
        ("olanzipine", "olanzapine"),
        ("rispiridone", "risperidone"),
        ("clozopine", "clozapine"),
        ("diagnossis", "diagnosis"),
        ("alchohol", "alcohol"),
        ("hygeine", "hygiene"),
        ("wieght", "weight"),
        ("antipsycotic", "antipsychotic"),
        ("delushions", "delusions"),
        ("paranoya", "paranoia"),
        ("simptoms", "symptoms"),
    ],
)
def test_misspelt_words_are_corrected(misspelt: str, meant: str) -> None:
    """A plainly misspelt symptom, drug or knowledge base word becomes the right one."""
    assert SPELLING.correct(misspelt) == meant


@pytest.mark.parametrize(
    "word",
    ORDINARY.split(),
)
def test_ordinary_words_are_left_alone(word: str) -> None:
    """An everyday word is never turned into a clinical one."""
    assert SPELLING.correct(word) == word


@pytest.mark.parametrize("word", ["slp", "med", "xyz", "q", "", "123456", "c3po", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"])
def test_short_and_strange_words_are_left_alone(word: str) -> None:
    """Words that are too short, too long or no words stay as they are."""
    assert SPELLING.correct(word) == word


def test_sound_ignores_spelling_variants() -> None:
    """Spellings that sound alike have one sound."""
    assert sound("skizofrenia") == sound("schizophrenia")


@given(st.text(max_size=40))
def test_any_word_can_be_asked_for(word: str) -> None:
    """No text makes the correction fail, and a corrected word is right."""
    corrected = SPELLING.correct(word)
    assert corrected == word or SPELLING.is_right(corrected)
