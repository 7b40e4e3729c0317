"""High-stakes topics."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.stakes import Stakes

SHIPPED = Stakes.load(Path(__file__).resolve().parents[2] / "config" / "stakes.yaml")


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Can I stop my medication?", "medicines"),
        ("MEDICINES!", "medicines"),
        ("what are the side\neffects", "medicines"),
        ("is over\u200bdose dangerous", "medicines"),
        ("i want to kill  myself", "self_harm"),
        ("I could self\u2010harm", "self_harm"),
        ("am I pregnant", "pregnancy"),
        ("a médicament", "medicines"),
        ("can i come off zyprexa", "medicines"),
        ("Kann ich Abilify absetzen?", "medicines"),
        ("missed my invega shot", "medicines"),
        ("cannabis", "substances"),
        ("he attacked me", "violence"),
        ("I was sectioned", "legal_capacity"),
        ("may I go on driving", "driving"),
    ],
)
def test_a_high_stakes_word_is_found(text: str, topic: str) -> None:
    """Topics are found whatever case, form, line end, dash or invisible character the words have."""
    assert topic in SHIPPED.topics(text)


@pytest.mark.parametrize(
    "text", ["What is stigma?", "I like weekends", "the depotism of it", "I sleep badly", "", "😀"]
)
def test_ordinary_words_are_not_high_stakes(text: str) -> None:
    """A word that only contains a high-stakes word does not count."""
    assert SHIPPED.topics(text) == ()


def test_every_text_counts() -> None:
    """Message and reply are read together, and a phrase is not put together across them."""
    assert SHIPPED.topics("What helps?", "Take your pills.") == ("medicines",)
    assert SHIPPED.topics("side", "note") == ()


def test_pointing_to_a_professional_is_no_statement_about_the_topic() -> None:
    """A sentence of the reply that only sends the person to a doctor makes no topic, a message that does so does."""
    assert SHIPPED.topics("What helps?", "Please ask your doctor about your medicines.") == ()
    assert SHIPPED.topics("Should I ask my doctor about my medicines?") == ("medicines",)
    assert SHIPPED.topics("What helps?", "Ask your doctor. Clozapine is the best medicine.") == ("medicines",)


@pytest.mark.parametrize("words", ["[]", "['']", "['*']", "word"])
def test_a_topic_that_would_match_everything_is_refused(tmp_path: Path, words: str) -> None:
    """An empty list, an empty term and a bare star are configuration errors."""
    path = tmp_path / "stakes.yaml"
    path.write_text(f"topics:\n  topic: {words}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        Stakes.load(path)
    assert caught.value.line == 2


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at(text: str) -> None:
    """No text makes the search for topics fail."""
    assert set(SHIPPED.topics(text)) <= set(SHIPPED.patterns)
