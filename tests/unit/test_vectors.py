"""Word vectors: reading them, summing them and comparing texts by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.exceptions import ConfigurationError
from engine.language.elsewhere import load_elsewhere
from engine.language.vectors import WordVectors, load_vectors, write_vectors

SHIPPED = Path(__file__).parents[2] / "config" / "vectors"

MADE = WordVectors.of(
    ("wash", "shower", "money", "relapse"),
    np.array([[1.0, 0.1, 0.0], [0.9, 0.2, 0.0], [0.0, 0.1, 1.0], [0.0, 1.0, 0.0]], dtype=np.float32),
)


@pytest.fixture(scope="module")
def shipped() -> WordVectors:
    return load_vectors(SHIPPED / "en.npz")


def cosine(vectors: WordVectors, one: str, other: str) -> float:
    first, second = vectors.texts([one.split(), other.split()])
    return float(first @ second)


def test_texts_have_length_one() -> None:
    """The vector of a text has length one, and a text of unknown words has none."""
    known, unknown, empty = MADE.texts([["wash", "money", "wash"], ["xyzzy"], []])
    assert np.linalg.norm(known) == pytest.approx(1.0, abs=1e-5)
    assert not unknown.any()
    assert not empty.any()


def test_no_texts() -> None:
    """Nothing to read gives no rows."""
    assert MADE.texts([]).shape == (0, 3)


def test_likeness_needs_no_common_word() -> None:
    """Texts without a common word are alike where their words are."""
    assert cosine(MADE, "wash", "shower") > 0.9
    assert cosine(MADE, "wash", "money") < 0.2


def test_unknown_words_do_not_change_a_text() -> None:
    """A word without a vector neither helps nor harms."""
    assert cosine(MADE, "wash xyzzy", "wash") == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("word", "place"), [("wash", 0), ("washed", 0), ("relapsing", 3), ("blue", None)])
def test_other_endings_of_a_word(word: str, place: int | None) -> None:
    """A word without a vector has that of another form of it, where there is one."""
    assert MADE.place(word) == place


def test_many_texts_are_read_as_one(shipped: WordVectors) -> None:
    """Many texts at once give what each gives by itself."""
    texts = [["voices", "at", "night"][: 1 + number % 3] + ["tablets"] * (number % 5) for number in range(700)]
    together = shipped.texts(texts)
    for number in (0, 255, 256, 699):
        assert np.allclose(together[number], shipped.texts([texts[number]])[0], atol=1e-5)


def test_written_vectors_are_read_back(tmp_path: Path) -> None:
    """What is written is read back, a byte's rounding apart."""
    write_vectors(MADE, tmp_path / "made.npz")
    read = load_vectors(tmp_path / "made.npz")
    assert read.words == MADE.words
    assert np.allclose(read.texts([["wash"]]), MADE.texts([["wash"]]), atol=0.01)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut off"])
def test_a_faulty_file_is_named(tmp_path: Path, content: bytes) -> None:
    """A file that holds no vectors is an error that names it."""
    file = tmp_path / "broken.npz"
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"broken\.npz"):
        load_vectors(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is an error that names it."""
    with pytest.raises(ConfigurationError, match=r"gone\.npz"):
        load_vectors(tmp_path / "gone.npz")


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    """Vectors that are not as many as their words are refused."""
    file = tmp_path / "odd.npz"
    np.savez(
        file, words=np.frombuffer(b"a\nb", dtype=np.uint8), values=np.zeros((3, 2), dtype=np.int8), scale=np.ones(3)
    )
    with pytest.raises(ConfigurationError, match=r"odd\.npz"):
        load_vectors(file)


def test_lines_about_other_subjects_have_headings(tmp_path: Path) -> None:
    """Of a file of lines about other subjects, headings and empty lines are none."""
    (tmp_path / "en.txt").write_text("# food\nboil an egg\n\nbake bread\n# cars\nchange a tyre\n", encoding="utf-8")
    assert load_elsewhere(tmp_path) == {"en": ("boil an egg", "bake bread", "change a tyre")}


def test_shipped_file_is_small(shipped: WordVectors) -> None:
    """The shipped file keeps to two megabytes."""
    assert (SHIPPED / "en.npz").stat().st_size <= 2_000_000
    assert len(shipped.words) == len(set(shipped.words))


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("I haven't changed my shirt for two weeks", "washing and clean clothes", "money and benefits"),
        ("the telly talks about me", "strange beliefs, paranoia", "side effects of medicine"),
        ("can I have a beer", "alcohol and medicine", "smoking and quitting"),
        ("nothing gives me joy any more", "feeling low and depression", "driving a car"),
    ],
)
def test_shipped_vectors_know_everyday_words(shipped: WordVectors, question: str, near: str, far: str) -> None:
    """An everyday sentence is more like its subject than like another, though they share no word."""
    assert cosine(shipped, question, near) > cosine(shipped, question, far)
