"""The classifier layer: what it reads, how it uses earlier turns, and how its file fails."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.types import LayerResult, Message, Role, UrgencyLevel
from engine.urgency.classifier import UrgencyClassifier, readings, words
from evaluation.urgency_training import DATA, RECORD, WEIGHTS

LAYER = UrgencyClassifier.load(WEIGHTS)
TEST = [json.loads(line) for line in (DATA / "test.jsonl").read_text("utf-8").splitlines()]
TEXTS = [row["text"] for row in TEST if row["label"] == "urgent" and "text" in row and row["text"].isascii()]
FOUND = [text for text in TEXTS if LAYER.assess_now(text).level is not UrgencyLevel.NONE]
HOMOGLYPHS = str.maketrans("aceiopsxyk", "асеіорѕхук")


def level(text: str, *earlier: str) -> UrgencyLevel:
    said = tuple(Message(role=Role.USER, content=one) for one in earlier)
    return LAYER.assess_now(text, said).level


@pytest.mark.parametrize(
    "text", ["I want to die", "jeg vil ikke leve lenger", "ich bringe mich um", "me quiero matar", "je vais me tuer"]
)
def test_plain_danger_shows_the_contacts(text: str) -> None:
    """Plain statements of danger lead to the contacts in every language."""
    assert level(text) is not UrgencyLevel.NONE


@pytest.mark.parametrize(
    "text",
    [
        "How can my family help me?",
        "Help me write a speech for my sister's wedding",
        "what is schizophrenia",
        "hva er schizofreni",
        "was ist schizophrenie",
        "qué es la esquizofrenia",
        "c'est quoi la schizophrénie",
        "thank you, that helped",
    ],
)
def test_plain_questions_show_nothing(text: str) -> None:
    """Ordinary questions and requests for help are answered without contacts."""
    assert level(text) is UrgencyLevel.NONE


def test_danger_in_the_middle_of_ordinary_text() -> None:
    """A sentence of danger is not averaged away by the ordinary sentences around it."""
    around = "The bus was late again. I had soup for lunch. My sister sends her love."
    assert level(f"{around} I want to kill myself tonight. {around}") is not UrgencyLevel.NONE


def test_a_short_message_is_read_with_what_was_said_before() -> None:
    """Two words count as the end of what the person said before them."""
    assert level("i did it", "I am going to kill myself") is not UrgencyLevel.NONE
    assert level("i did it", "I have to hang up the laundry today") is UrgencyLevel.NONE


def test_what_the_assistant_said_does_not_count() -> None:
    """Only the person's own words say whether the person is in danger."""
    said = (Message(role=Role.ASSISTANT, content="Some people say: I want to kill myself tonight."),)
    assert LAYER.assess_now("i did it", said) == LAYER.assess_now("i did it")


def test_nothing_but_the_level_leaves_the_layer() -> None:
    """Neither a score nor words of the message are in the result, only the level and whether it is a doubt."""
    for message in ("I want to die", "I feel so low and alone", "what are symptoms"):
        found = level(message)
        unsure = found is UrgencyLevel.CONCERN
        assert LAYER.assess_now(message) == LayerResult(layer="classifier", level=found, unsure=unsure)


@pytest.mark.parametrize(
    ("plain", "disguised"),
    [
        ("I don't want to live", "i DON’T want to live"),
        ("kill myself", "k1ll   mys3lf"),
        ("so tired", "soooo tired"),
        ("jeg vil dø", "JEG VIL DO"),
    ],
)
def test_disguises_are_read_as_the_same_words(plain: str, disguised: str) -> None:
    """Case, apostrophes, digits for letters, accents and repeated letters change nothing."""
    assert words(plain) == words(disguised)


@st.composite
def disguises(draw: st.DrawFn) -> tuple[str, str]:
    """A detected message and the same message in disguise."""
    text = draw(st.sampled_from(FOUND))
    case = draw(st.sampled_from([str.lower, str.upper, str.title, str.swapcase]))
    apostrophe = draw(st.sampled_from(["'", "’", "ʼ", "´", "`", ""]))
    blank = draw(st.sampled_from([" ", "  ", "\t", "\u00a0", "\u3000", " \u200b "]))
    unseen = draw(st.sampled_from(["", "\u200b", "\u200d", "\u00ad", "\ufeff"]))
    changed = case(text).replace("'", apostrophe).replace(" ", blank)
    if draw(st.booleans()):
        changed = changed.lower().translate(HOMOGLYPHS)
    dice = random.Random(draw(st.integers()))
    return text, "".join(char + (unseen if char.isalpha() and dice.random() < 0.3 else "") for char in changed)


@settings(max_examples=200, deadline=None)
@given(disguises())
def test_no_disguise_goes_undetected(pair: tuple[str, str]) -> None:
    """No change of apostrophes, case, blanks, invisible characters or homoglyphs hides a detected message."""
    text, changed = pair
    assert words(text) == words(changed)
    assert level(changed) is not UrgencyLevel.NONE


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=500))
def test_any_text_is_assessed(text: str) -> None:
    """No text whatever makes the layer fail."""
    assert LAYER.assess_now(text).layer == "classifier"


@pytest.mark.parametrize("unit", ["a", "i want to die. ", "! ", "die\n", "?"])
def test_hostile_repetition_is_fast(unit: str) -> None:
    """Only the beginning of an endless message is read."""
    begun = time.perf_counter()
    LAYER.assess_now(unit * (100_000 // len(unit)))
    assert time.perf_counter() - begun < 0.5


def test_it_is_fast() -> None:
    """A message takes below 2 ms in the middle, loading below 60 ms, each with room for a slow machine."""
    begun = time.perf_counter()
    layer = UrgencyClassifier.load(WEIGHTS)
    assert time.perf_counter() - begun < 0.3
    begun = time.perf_counter()
    for text in TEXTS[:100]:
        layer.assess_now(text)
    assert (time.perf_counter() - begun) / 100 < 0.01


def test_readings_are_the_whole_and_its_sentences() -> None:
    """A message of one sentence is read once, a longer one also sentence by sentence."""
    assert len(readings("One sentence only")) == 1
    assert readings("It rains. I stay in.")[1:] == [words("It rains."), words("I stay in.")]


def test_the_weights_are_small_and_belong_to_their_record() -> None:
    """The file is below 2 MB, and the record beside it names the same thresholds and data."""
    record = json.loads(RECORD.read_text("utf-8"))
    assert WEIGHTS.stat().st_size < 2_000_000
    assert record["thresholds"] == {"concern": LAYER.head.concern, "urgent": LAYER.head.urgent}
    assert LAYER.head.data in record["data"].values()


@pytest.mark.parametrize("content", [b"", b"{}\n", b"no json\n\0\0", b"\xff\xfe", WEIGHTS.read_bytes()[:-2]])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    """Weights that are broken or cut off are a fault of the configuration that names the file."""
    path = tmp_path / "classifier.bin"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"classifier\.bin"):
        UrgencyClassifier.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """Missing weights are a fault of the configuration that names the file."""
    with pytest.raises(ConfigurationError, match=r"classifier\.bin"):
        UrgencyClassifier.load(tmp_path / "classifier.bin")
