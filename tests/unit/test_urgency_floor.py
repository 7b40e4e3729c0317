"""The floor: what its phrases may be, what they match, and that no language is offered without one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.types import Kind, UrgencyLevel
from engine.urgency.floor import MOST, Floor, FloorFile
from tests.team import shipped

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "config" / "urgency" / "floor"
LANGUAGES = ("de", "en", "es", "fr", "nb")
FLOOR = Floor.load(FOLDER, LANGUAGES)
URGENT = UrgencyLevel.URGENT


def floor(*phrases: str, kind: Kind = Kind.DYING) -> Floor:
    return Floor.of([FloorFile(phrases={kind: phrases})])


def level(message: str, layer: Floor = FLOOR) -> UrgencyLevel:
    return layer.assess_now(message).level


@pytest.mark.parametrize(
    "message",
    [
        "I want to die",
        "ok. I WANT TO DIE tonight",
        "i w\u200bant to d\u00adie",
        "i want to d1e",
        "i  w a n t  t o  d i e",
        "jeg vil dø",
        "ich will nicht mehr leben",
        "quiero morirme",
        "j’ai envie de mourir",
        "i took all of my pills",
    ],
)
def test_explicit_danger_is_heard_in_every_language_and_disguise(message: str) -> None:
    """Plain words of present danger are `urgent`, however they are spelt."""
    assert level(message) is URGENT


@pytest.mark.parametrize(
    "message",
    [
        "I don't want to die",
        "my brother killed himself in 2012",
        "what is the risk of suicide?",
        "this homework kills me",
        "ich will nicht sterben",
        "jeg vil ikke dø",
        "je ne veux pas mourir",
        "i took all of the washing in",
    ],
)
def test_what_is_not_said_of_now_is_left_to_the_other_layers(message: str) -> None:
    """A denial, the past, a subject or a figure of speech does not match a phrase."""
    assert level(message) is UrgencyLevel.NONE


def test_a_gap_holds_up_to_three_words_and_a_star_the_rest_of_a_word() -> None:
    """`...` stands for no more than three words, `*` for whatever follows."""
    layer = floor("took all ... pill*")
    assert level("took all pills", layer) is URGENT
    assert level("took all of my little pills", layer) is URGENT
    assert level("took all of the many little pills", layer) is UrgencyLevel.NONE
    assert level("took all plates", layer) is UrgencyLevel.NONE


def test_the_kind_of_a_phrase_comes_with_the_finding() -> None:
    """What the phrase is about chooses the words of the referral."""
    assert floor("is not breathing", kind=Kind.MEDICAL).assess_now("he is not breathing").kind is Kind.MEDICAL


@pytest.mark.parametrize(
    "phrase",
    ["die", "*", "a* die", "... die", "die ...", "a ... b ... c", "(a|b) die", "d*e now", "a. die", "{x} die", ""],
)
def test_a_phrase_is_nothing_but_words(tmp_path: Path, phrase: str) -> None:
    """A pattern that nobody could read aloud is refused with its file."""
    (tmp_path / "en.yaml").write_text(yaml.safe_dump({"phrases": {"dying": [phrase]}}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"en\.yaml"):
        Floor.load(tmp_path, ["en"])


def test_no_more_than_sixty_phrases_a_language(tmp_path: Path) -> None:
    """A list that is too long to be read aloud is refused."""
    many = [f"word w{chr(97 + at // 26)}{chr(97 + at % 26)}x" for at in range(MOST + 1)]
    (tmp_path / "en.yaml").write_text(yaml.safe_dump({"phrases": {"dying": many}}), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="61 phrases"):
        Floor.load(tmp_path, ["en"])


def test_a_language_without_a_floor_is_named() -> None:
    """A bot that offers a language without explicit phrases does not start, and says which."""
    with pytest.raises(ConfigurationError, match=r"it\.yaml.*'it'"):
        Floor.load(FOLDER, ["en", "it"])


def test_every_language_with_crisis_texts_has_a_floor() -> None:
    """The shipped bot has phrases for each language that it offers, at most sixty, none claimed to be reviewed."""
    offered = set(shipped().referrals.texts)
    assert offered == set(LANGUAGES)
    for language in offered:
        read = yaml.safe_load((FOLDER / f"{language}.yaml").read_text("utf-8"))
        assert sum(map(len, read["phrases"].values())) <= MOST and read["reviewed"] is None


def test_the_phrases_are_small() -> None:
    """All that is kept by hand for urgency, beside weights and their record, is below 60 kB."""
    weights = {".bin", ".npy", ".json"}
    kept = [path for path in FOLDER.parent.rglob("*") if path.is_file() and path.suffix not in weights]
    assert sum(path.stat().st_size for path in kept) < 60_000


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    """No text whatever makes the layer fail."""
    assert FLOOR.assess_now(text).layer == "floor"
