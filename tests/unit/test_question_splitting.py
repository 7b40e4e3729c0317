"""A message into its parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.retrieval.questions import LONG_STORY, MOST_PARTS, split, told_and_asked


def texts(message: str) -> list[str]:
    return [part.text for part in split(message)]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("What causes it and can I drink on my meds?", ["What causes it", "can I drink on my meds"]),
        (
            "how do I sleep better?? also can my brother recover",
            ["how do I sleep better", "can my brother recover"],
        ),
        ("Does clozapine help? Is there a therapy?", ["Does clozapine help", "Is there a therapy"]),
        ("1) side effects\n2) driving licence", ["side effects", "driving licence"]),
        ("tell me about sleep, alcohol and driving", ["sleep", "alcohol", "driving"]),
        ("is it genetic, can it be cured", ["is it genetic", "can it be cured"]),
    ],
)
def test_several_questions_are_several_parts(message: str, parts: list[str]) -> None:
    """A message with several questions is cut where the next one begins."""
    assert [one.rstrip("?.") for one in texts(message)] == parts


@pytest.mark.parametrize(
    "message",
    [
        "what is the difference between voices and thoughts",
        "I take tablets and gain weight",
        "friends and family",
        "can my mother and father visit the hospital",
        "what is schizophrenia",
    ],
)
def test_one_question_stays_whole(message: str) -> None:
    """A message that asks one thing stays whole, whatever it joins with "and"."""
    assert texts(message) == [message]


def test_a_question_without_subject_joins_what_it_is_about() -> None:
    """A question that names no subject belongs to the sentence before it."""
    assert texts("I cannot sleep. What can I do?") == ["I cannot sleep. What can I do"]


def test_a_question_that_points_back_takes_its_context_along() -> None:
    """A short question about "it" is searched together with the sentence before it."""
    parts = split("My doctor gave me clozapine. Is it addictive?")
    assert parts[1].context == "My doctor gave me clozapine."


def test_greetings_are_no_part() -> None:
    """A greeting before a question is left out."""
    assert texts("Hello there! What is psychosis?") == ["What is psychosis"]


def test_questions_and_statements_are_told_apart() -> None:
    """A part knows whether it asks."""
    assert [part.asks for part in split("My son hears voices. Will he recover?")] == [False, True]


def test_no_words_no_parts() -> None:
    """A message without words has no parts."""
    assert split("?! …") == ()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_splits(text: str) -> None:
    """Any text splits into a few parts that are not empty, and the words of each come from the text."""
    parts = split(text)
    assert len(parts) <= MOST_PARTS
    assert all(part.text.strip() for part in parts)


@given(st.text(max_size=600))
def test_what_is_told_and_what_is_asked_are_the_whole_message(message: str) -> None:
    """Of a long story the last sentences are what is asked, and nothing of it is lost; a shorter message is asked whole."""
    told, asked = told_and_asked(message)
    if len(message.split()) <= LONG_STORY:
        assert (told, asked) == ("", message)
    assert "".join(f"{told} {asked}".split()) == "".join(message.split())


def test_a_long_story_ends_in_what_is_asked() -> None:
    """The question at the end of a long story is read by itself, with the story before it."""
    story = "He was a quiet boy who liked sums and the sea. " * 8
    assert told_and_asked(f"{story}Then he came home. Can he learn a trade later?") == (
        f"{story}".strip(),
        "Then he came home. Can he learn a trade later?",
    )
