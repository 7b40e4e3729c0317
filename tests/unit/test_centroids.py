"""Labels by what their texts have in common."""

from __future__ import annotations

import pytest

from engine.language.centroids import LONGEST, Centroids, LabelledText

TEXTS = (
    (0, "does the tablet make you tired"),
    (0, "does the tablet make you feel better"),
    (0, "what does the tablet make you do"),
    (1, "fat from tablets"),
    (1, "how to lose the fat again"),
)


def centroids() -> Centroids:
    return Centroids.build([LabelledText(label=label, text=text) for label, text in TEXTS], 3)


def test_a_telling_word_that_is_missing_says_more_than_common_ones_that_are_there() -> None:
    """The label with the common words of a message may be more alike; the one that has its telling word covers it."""
    like = centroids().likeness("does the tablet make you fat")
    assert like[0] > like[1]
    by_chance, about_fat, without_texts = centroids().covered("does the tablet make you fat?")
    assert 0 < by_chance < 1 and 0 < about_fat < 1 and without_texts == 0
    rare, common = centroids().covered("fat"), centroids().covered("the")
    assert rare.tolist() == [0, 1, 0] and common.tolist() == pytest.approx([1, 1, 0])


def test_words_that_nobody_used_are_covered_by_nothing() -> None:
    """An unknown word weighs as much as the rarest known one; no word at all is nothing."""
    half = centroids().covered("fat zzzz")
    assert half[0] == 0 and 0.3 < half[1] <= 0.5
    assert centroids().covered("?").tolist() == [0, 0, 0]


def test_labels_are_alike_whatever_the_order_of_their_texts() -> None:
    """Texts are put in order by label, so that whoever hands them over need not."""
    mixed = [LabelledText(label=label, text=text) for label, text in (*TEXTS[3:], *TEXTS[:3])]
    asked = "fat from the tablet"
    assert Centroids.build(mixed, 3).likeness(asked).tolist() == centroids().likeness(asked).tolist()


def test_neighbours_count_beside_words() -> None:
    """The same words in the order of a label's texts are more like it than in another one; no neighbours, no difference."""
    in_order = centroids().likeness("lose the fat")
    mixed = centroids().likeness("fat the lose")
    assert in_order[1] > mixed[1] > 0
    assert Centroids.build([LabelledText(label=0, text="fat")], 1).likeness("fat fat").tolist() == pytest.approx([1])


def test_words_beyond_those_that_are_read_are_unknown() -> None:
    """What stands further down in a long text than is read weighs as if nobody had used it."""
    long = Centroids.build([LabelledText(label=0, text="fat " * LONGEST + "tired")], 1)
    assert long.words.terms.numbers(["tir"])[0] == -1 and long.covered("tired").tolist() == [0]
