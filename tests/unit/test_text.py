"""Cleaning, folding and splitting text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.language.letters import LATIN
from engine.language.text import clean, estimate_tokens, fold, grade, sentences, squash, stems, words

ANY_TEXT = st.text(max_size=400)
INVISIBLE = [
    "\u200b",
    "\u200d",
    "\ufeff",
    "\u202e",
    "\u2066",
    "\u00ad",
    "\u115f",
    "\u2800",
    "\ufe0f",
    "\U000e0041",
    "\x07",
]


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("ﬁnd", "find"),
        ("e\u0301", "é"),
        ("a\r\nb\rc\td", "a\nb\nc d"),
        ("one\n\n\n\n\ntwo", "one\n\ntwo"),
        ("a \u00a0 \u2003 b", "a b"),
        ("line\u2028end", "line end"),
        ("I don\u00b4t know", "I don't know"),
        ("  \n ", ""),
        ("\x00\x07bell\x1b[31m", "bell[31m"),
    ],
)
def test_clean_makes_one_form_of_many(raw: str, wanted: str) -> None:
    """Compatible characters, line ends, blanks and control codes come out in one plain form."""
    assert clean(raw).text == wanted


@pytest.mark.parametrize("char", INVISIBLE)
def test_clean_removes_what_cannot_be_seen(char: str) -> None:
    """An invisible or direction-changing character inside a word leaves no trace."""
    assert clean(f"sui{char}cide").text == "suicide"
    assert fold(f"sui{char}cide") == "suicide"


def test_an_invisible_character_does_not_part_a_letter_from_its_accent() -> None:
    """The text is normalised again after invisible characters have gone."""
    assert clean("cafe\u200d\u0301").text == "café"


@given(st.text(max_size=400) | st.text(alphabet=st.characters(categories=["Cf", "Cc", "Co", "Cs", "Mn", "Zs", "Lu"])))
def test_clean_never_raises_and_leaves_nothing_invisible(raw: str) -> None:
    """Whatever comes in, what comes out is normalised, visible and encodable."""
    text = clean(raw).text
    assert unicodedata.is_normalized("NFKC", text)
    assert not [char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs", "Cn"}]
    assert not set(text) & set("\u115f\u1160\u3164\uffa0\u2800\u034f\ufe0e\ufe0f")
    assert text == text.strip()
    text.encode("utf-8")


@given(ANY_TEXT)
def test_clean_twice_is_clean_once(raw: str) -> None:
    """Cleaning a clean message changes nothing."""
    once = clean(raw).text
    assert clean(once).text == once


@given(st.text(max_size=900), st.integers(min_value=10, max_value=200))
def test_clean_keeps_to_its_cap(raw: str, limit: int) -> None:
    """No message is longer than the cap, and none is called truncated that was short enough."""
    cleaned = clean(raw, limit=limit)
    assert len(cleaned.text) <= limit
    if len(unicodedata.normalize("NFKC", raw)) <= limit and len(raw) <= limit:
        assert not cleaned.truncated


def test_a_long_message_is_cut_between_words_and_says_so() -> None:
    """A message over the cap is cut at a word border and marked as truncated."""
    cleaned = clean("word " * 50_000, limit=4000)
    assert cleaned.truncated
    assert 3600 <= len(cleaned.text) <= 4000
    assert cleaned.text.endswith("word")


def test_characters_that_normalise_to_many_do_not_break_the_cap() -> None:
    """One character that normalises to eighteen is capped after it has grown."""
    assert len(clean("\ufdfa" * 5000, limit=4000).text) <= 4000


@pytest.mark.parametrize("raw", ["😀😀😀", "?!…", "---", "\u200b\u200b", "", "❤\ufe0f"])
def test_a_message_without_words_is_wordless(raw: str) -> None:
    """Emoji, punctuation and invisible characters alone are no words."""
    assert clean(raw).wordless


@pytest.mark.parametrize("raw", ["ok", "7", "да", "助けて", "help 😀"])
def test_words_of_any_script_are_words(raw: str) -> None:
    """One letter or digit of any script makes a message one with words."""
    assert not clean(raw).wordless


@pytest.mark.parametrize(
    "raw",
    ["don't", "don\u2019t", "DON\u2018T", "don\u00b4t", "don`t", "d\u043en't", "do\u200bn't", "dön't", "ｄｏｎ＇ｔ"],
)
def test_spellings_of_one_word_fold_to_the_same(raw: str) -> None:
    """Quotes, case, accents, widths, invisible and look-alike letters make no difference after folding."""
    assert fold(raw) == "don't"


@given(ANY_TEXT)
def test_folding_and_splitting_never_raise(raw: str) -> None:
    """Every function on text takes any text."""
    fold(raw), squash(raw), sentences(raw), words(raw), stems(raw), grade(raw)
    assert estimate_tokens(raw) * 4 >= len(raw)


def test_squash_keeps_letters_and_digits_only() -> None:
    """A quotation is found whatever its punctuation, case and line ends."""
    assert squash("“It's,\n  a STRESS–test!”") == squash("its a stress test")
    assert squash("it is not") != squash("it is")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three? Four…", ("One.", "Two!", "Three?", "Four…")),
        ("Ask Dr. Lee, e.g. today. Then rest.", ("Ask Dr. Lee, e.g. today.", "Then rest.")),
        ("It takes 2.5 weeks.", ("It takes 2.5 weeks.",)),
        (
            "Signs are:\n- poor sleep\n- fear\n1. first\n2) second",
            ("Signs are:", "poor sleep", "fear", "first", "second"),
        ),
        ('He said "no." She left.', ('He said "no."', "She left.")),
        ("A line\nthat goes on.\n\nAnother", ("A line that goes on.", "Another")),
        ("- \n•\n3.\n", ()),
        ("Two steps: 1. Rest. 2. Ask.", ("Two steps: 1. Rest.", "2. Ask.")),
        ("She has had it since she was 9. He has not.", ("She has had it since she was 9.", "He has not.")),
        ("", ()),
    ],
)
def test_sentences_are_split_where_they_end(text: str, wanted: tuple[str, ...]) -> None:
    """Sentences end at their marks, list items are sentences, abbreviations and numbers do not end one."""
    assert sentences(text) == wanted


@given(ANY_TEXT)
def test_no_sentence_is_empty_or_runs_over_a_line(raw: str) -> None:
    """Every sentence has a visible character and stands on one line, so that numbering them is unambiguous."""
    for sentence in sentences(clean(raw).text):
        assert sentence.strip() == sentence != ""
        assert "\n" not in sentence


def test_stems_make_forms_of_a_word_equal() -> None:
    """Plurals and tenses share a stem and stop words have none."""
    assert stems("The voices were frightening") == stems("voice frightens")


def test_grade_is_higher_for_harder_text() -> None:
    """Long words and sentences raise the reading grade, and no words at all have grade zero."""
    easy = "The cat sat. It was glad. It ate."
    hard = "Pharmacological intervention necessitates multidisciplinary consideration of individual circumstances."
    assert grade(easy) < 3 < 12 < grade(hard)
    assert grade("…") == 0.0


@given(
    st.text(alphabet=st.sampled_from("ab Z0`'._\n\t\r\x00\x7f\u00b4\u00e9\u200b-"), max_size=30) | st.text(max_size=60)
)
def test_the_quick_look_at_plain_texts_changes_nothing(text: str) -> None:
    """What is cleaned, folded and split in one look comes out as it does the long way."""
    quick = clean(text, limit=40), fold.__wrapped__(text), words(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.language.text._is_plain", lambda text: False)
        assert (clean(text, limit=40), fold.__wrapped__(text), words(text)) == quick


def test_what_passes_for_a_latin_letter_is_folded_to_it() -> None:
    """Every small letter that the urgency layers read as a Latin one is folded to a Latin one too, and signs stay signs."""
    letters = [chr(code) for code in LATIN if chr(code).isalpha() and chr(code) == chr(code).casefold()]
    assert len(letters) > 150 and all(fold(one).isascii() for one in letters)
    assert fold("2 × 3 | 4 §") == "2 × 3 | 4 §"
