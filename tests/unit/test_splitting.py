"""Texts in pieces, and what buttons carry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation.outgoing import BUTTON_BYTES, Button
from adapters.conversation.topics import topic_code
from adapters.delivery.text_parts import split_text, utf16_units

texts = st.text(st.sampled_from("ab. !?\n\t,😀é–”") | st.characters(exclude_categories=("Cs",)), max_size=400)


@given(texts, st.integers(2, 60))
def test_nothing_but_white_space_is_lost_and_every_piece_fits(text: str, limit: int) -> None:
    """The words of all pieces are those of the text, in order; no piece is empty or longer than allowed."""
    pieces = split_text(text, limit, utf16_units)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(0 < utf16_units(one) <= limit and one == one.strip() for one in pieces)


@given(texts)
def test_a_text_that_fits_stays_whole(text: str) -> None:
    """One piece, or none where there is nothing but white space."""
    assert split_text(text, 1_000, utf16_units) == ([text.strip()] if text.strip() else [])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One two.\n\nThree four. Five.", ["One two.", "Three four. Five."]),
        ("One two. Three four five.", ["One two.", "Three four five."]),
        ("He said “no.” Then he went", ["He said “no.”", "Then he went"]),
        ("😀😀😀😀. 😀😀😀😀😀😀. 😀", ["😀😀😀😀.", "😀😀😀😀😀😀. 😀"]),
        ("aaaaaaaaaaaaaaaaaaaaaaaaa", ["aaaaaaaaaaaaaaaaaa", "aaaaaaa"]),
    ],
)
def test_cuts_are_where_a_reader_pauses(text: str, pieces: list[str]) -> None:
    """Paragraphs first, then sentences, then words, and inside a word only where there is no other place."""
    assert split_text(text, 18, utf16_units) == pieces


@given(
    st.text(st.characters(categories=("Ll", "Lu")), min_size=1, max_size=12),
    st.none() | st.integers(0, 999_999_999),
    st.text(max_size=30),
)
def test_a_button_reads_what_it_wrote(command: str, about: int | None, argument: str) -> None:
    """Command, number and argument come back, colons in the argument included."""
    assert Button.read(Button(label="x", command=command, argument=argument, about=about).code()) == (
        command,
        about,
        argument,
    )


@given(st.text(max_size=80))
def test_any_code_is_read_or_is_none_of_ours(code: str) -> None:
    """A code that somebody made up raises nothing."""
    found = Button.read(code)
    assert found is None or (found[0].isalpha() and isinstance(found[2], str))


@given(st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}\Z"), st.from_regex(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,120}\Z"))
def test_every_source_id_fits_a_button_and_keeps_apart(one: str, other: str) -> None:
    """However long an id is, its button carries it, and no two share a code."""
    codes = [Button(label="", command="topic", argument=topic_code(each)).code() for each in (one, other)]
    assert all(len(code.encode()) <= BUTTON_BYTES for code in codes)
    assert (codes[0] == codes[1]) == (one == other)
