"""The encoder: what it makes of texts, what it knows already, and how its files fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.language.encoder import HEADS, LONGEST, MOST, WINDOW, TextEncoder
from engine.language.letters import legible
from evaluation.encoder_lines import distinct_lines

SHIPPED = Path(__file__).parents[2] / "config" / "encoder"
ENCODER = TextEncoder.load(SHIPPED)


def alike(one: str, other: str) -> float:
    return float(ENCODER.read(one).meaning @ ENCODER.read(other).meaning)


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("i keep hearing someone talk when im alone", "Are voices always a sign of illness?", "How can I lose weight?"),
        ("ich hör ständig jemanden reden", "Are voices always a sign of illness?", "How can I lose weight?"),
        ("engordé mucho con la pastilla", "How can I lose weight?", "Are voices always a sign of illness?"),
        ("je n'arrive pas à dormir", "What helps me to sleep?", "May I drive a car?"),
        ("får jeg lov å kjøre bil", "May I drive a car?", "What helps me to sleep?"),
    ],
)
def test_texts_that_mean_the_same_are_alike_in_any_language(asked: str, near: str, far: str) -> None:
    """A message is nearer to what it is about than to something else, whatever words and language it is in."""
    assert alike(asked, near) > alike(asked, far)


def test_a_meaning_has_length_one_and_every_head_a_sum() -> None:
    """Whatever is read has a vector of length one, and a number for each head."""
    read = ENCODER.read("how are you")
    assert np.linalg.norm(read.meaning) == pytest.approx(1.0, abs=1e-4)
    assert tuple(read.sums) == HEADS and all(np.isfinite(value) for value in read.sums.values())


def test_our_own_lines_need_not_be_read_at_a_start() -> None:
    """The encoder knows the lines of the shipped texts; after they have changed: `python -m evaluation.encoder_lines`."""
    lines = distinct_lines()
    assert len(ENCODER.known.of(lines)[1]) < len(lines) / 1000


def test_known_lines_are_what_reading_them_would_give() -> None:
    """Lines that came with the model have almost the vector that reading them gives; others are read."""
    line = "What is schizophrenia?"
    ((_, (known, unknown)),) = ENCODER.meanings([line, "zebras in the rain, a line that nobody has written"]).blocks()
    assert float(known @ ENCODER.read(line).meaning) > 0.99
    assert np.linalg.norm(unknown) == pytest.approx(1.0, abs=1e-4)


def test_of_our_own_lines_hardly_any_is_read_at_a_start() -> None:
    """Nineteen of twenty of our own lines came with the model; after many new ones they are written anew."""
    lines = distinct_lines()
    _, unknown = ENCODER.known.of(lines)
    assert len(lines) > 50_000 and len(unknown) < len(lines) / 20, "python -m evaluation.encoder_lines"


def test_a_long_text_is_read_in_windows() -> None:
    """What stands far down is read too, up to a bound."""
    one = "we went to the shop and bought bread. "
    assert len(ENCODER.windows("short")) == 1
    several = ENCODER.windows(one * 40)
    assert len(several) > 3
    assert len(ENCODER.windows(one * 400)) == len(ENCODER.windows((one * 400)[:LONGEST]))
    assert len(ENCODER.windows("?!;" * LONGEST)) <= MOST
    assert ENCODER.read(one * 40).meaning @ several[0].meaning > 0.8


def test_what_was_said_before_changes_what_is_read() -> None:
    """The same words mean something else after other words; long talk before is cut, not refused."""
    alone, after = ENCODER.read("and with alcohol"), ENCODER.read("and with alcohol", ("i take clozapine",))
    assert not np.allclose(alone.meaning, after.meaning)
    assert ENCODER.read("and with alcohol", ("i take clozapine " * 5000,)).sums


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=600))
def test_any_text_is_read(text: str) -> None:
    """No text whatever makes the encoder fail, and none gives anything but numbers."""
    for window in ENCODER.windows(text, (text,)):
        assert np.isfinite(window.meaning).all() and all(map(np.isfinite, window.sums.values()))


@given(st.text(max_size=300))
def test_what_is_legible_stays_as_it_is(text: str) -> None:
    """Reading twice changes nothing more than reading once, save what normalising brings to light."""
    once = legible(text)
    assert once == once.lower() or not once.isascii()


def test_a_window_has_so_many_pieces() -> None:
    """A text of as many pieces as a window holds is read at once, one of a piece more in two."""
    word = "bread "
    held = next(count for count in range(1, 2 * WINDOW) if len(ENCODER.windows(word * count)) > 1)
    assert WINDOW / 3 < held <= WINDOW + 1


@pytest.mark.parametrize(
    "name", ["encoder.json", "encoder.onnx", "pieces.model", "rows.npy", "scales.npy", "lines.npy"]
)
def test_a_file_that_is_missing_or_broken_is_a_fault_of_the_configuration(tmp_path: Path, name: str) -> None:
    """Whoever lacks a file, or has half of one, is told which folder and what to do."""
    folder = tmp_path / "encoder"
    shutil.copytree(SHIPPED, folder)
    (folder / name).write_bytes((SHIPPED / name).read_bytes()[:7])
    with pytest.raises(ConfigurationError, match="encoder"):
        TextEncoder.load(folder)
    (folder / name).unlink()
    with pytest.raises(ConfigurationError, match="encoder"):
        TextEncoder.load(folder)


def test_a_model_of_another_version_is_refused_at_the_start(tmp_path: Path) -> None:
    """A model that gives something else than this version reads is named before anybody writes."""
    folder = tmp_path / "encoder"
    shutil.copytree(SHIPPED, folder)
    model = folder / "encoder.onnx"
    model.write_bytes(model.read_bytes().replace(b"whole", b"other"))
    with pytest.raises(ConfigurationError, match="encoder"):
        TextEncoder.load(folder)
