"""The rule layer: what it finds, what guards lower, and how its files fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError, RuleError
from engine.types import LayerResult, Message, Role, UrgencyLevel
from engine.urgency.rules import Category, UrgencyRules

ROOT = Path(__file__).parents[2]
RULES = UrgencyRules.load(ROOT / "config" / "urgency")
MESSAGES = ROOT / "tests" / "data" / "urgency_messages.jsonl"
ROWS = [json.loads(line) for line in MESSAGES.read_text("utf-8").splitlines()]
URGENT = [row for row in ROWS if row["label"] == "urgent"]
BENIGN = [row for row in ROWS if row["label"] == "not_urgent"]
DETECTED = [row["text"] for row in URGENT if RULES.assess_now(row["text"]).level is UrgencyLevel.URGENT]
APOSTROPHES = ["'", "’", "‘", "ʼ", "´", "`", "＇", "\u2032", ""]
INVISIBLE = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f"]
SPACES = [" ", "  ", "\t", "\u00a0", "\u2003", "\u3000", " \u200b "]
HOMOGLYPHS = {
    "a": "аɑ",
    "c": "сϲ",
    "e": "еҽ",
    "i": "іɪ",
    "o": "оο",
    "p": "рρ",
    "s": "ѕꜱ",
    "x": "хⅹ",
    "y": "уү",
    "k": "кκ",
}


def level(text: str, *earlier: str) -> UrgencyLevel:
    said = tuple(Message(role=Role.USER, content=one) for one in earlier)
    return RULES.assess_now(text, said).level


def share(rows: list[dict[str, str]], wanted: UrgencyLevel) -> float:
    return sum(level(row["text"]).order >= wanted.order for row in rows) / len(rows)


@pytest.mark.parametrize("category", sorted({row["category"] for row in URGENT}))
def test_every_category_is_detected(category: str) -> None:
    """Of each kind of danger at least 0.85 of the own messages lead to the contacts."""
    assert share([row for row in URGENT if row["category"] == category], UrgencyLevel.CONCERN) >= 0.85


@pytest.mark.parametrize("lang", ["en", "nb", "de", "es", "fr"])
def test_every_language_is_detected(lang: str) -> None:
    """Of each language at least 0.85 of the own messages lead to the contacts."""
    assert share([row for row in URGENT if row["lang"] == lang], UrgencyLevel.CONCERN) >= 0.85


def test_few_harmless_messages_are_replaced() -> None:
    """Of the harmless own messages at most 0.05 lose their answer and at most 0.25 show the contacts."""
    assert share(BENIGN, UrgencyLevel.URGENT) <= 0.05
    assert share(BENIGN, UrgencyLevel.CONCERN) <= 0.25


@pytest.mark.parametrize("text", [row["text"] for row in BENIGN if row["category"] == "question"])
def test_information_questions_are_answered(text: str) -> None:
    """Who asks about danger gets an answer, not the contacts."""
    assert level(text) is UrgencyLevel.NONE


@pytest.mark.parametrize(
    ("danger", "harmless"),
    [
        ("I am suicidal", "I am not suicidal"),
        ("I want to die", "I don't want to die"),
        ("jeg vil dø", "jeg vil ikke dø"),
        ("ich will sterben", "ich will nicht sterben"),
        ("quiero morir", "no quiero morir"),
        ("je veux mourir", "je ne veux pas mourir"),
    ],
)
def test_negation_lowers(danger: str, harmless: str) -> None:
    """A negated phrase is no danger, while the same phrase without the negation is."""
    assert level(danger) is UrgencyLevel.URGENT
    assert level(harmless) is UrgencyLevel.NONE


@pytest.mark.parametrize(
    "text",
    [
        "I don't want to live",
        "I don't want to wake up tomorrow",
        "jeg vil ikke leve lenger",
        "ich will nicht mehr leben",
        "no quiero vivir",
        "je ne veux plus vivre",
    ],
)
def test_not_wanting_to_live_is_no_negation(text: str) -> None:
    """Who does not want to live is in danger, although the sentence contains a negation."""
    assert level(text) is UrgencyLevel.URGENT


def test_a_guard_never_silences_another_sentence() -> None:
    """A film in one sentence does not excuse what the next one says."""
    assert level("I watched a film about suicide. I want to die tonight.") is UrgencyLevel.URGENT
    assert level("I'm not suicidal. My brother took all his pills.") is UrgencyLevel.URGENT


def test_follow_up_needs_an_earlier_hit() -> None:
    """An answer like "I did it" counts only after one of the last messages was a hit."""
    assert level("I did it") is UrgencyLevel.NONE
    assert level("I did it", "I want to kill myself") is UrgencyLevel.URGENT
    assert level("I did it", "I should finish my homework") is UrgencyLevel.NONE


def test_delusional_framing_is_a_flag_of_its_own() -> None:
    """A belief sets the flag and shows no contacts."""
    found = RULES.assess_now("they put a chip in my tooth")
    assert found.delusional_framing
    assert found.level is UrgencyLevel.NONE


def test_signals_are_rule_ids() -> None:
    """What is reported are ids of rules, never words of the message."""
    found = RULES.assess_now("I want to kill myself")
    assert found.signals
    assert set(found.signals) <= {rule.id for rule in RULES.rules}


def test_every_category_has_rules() -> None:
    """No category is without rules, and each language covers what must be detected."""
    assert {rule.category for rule in RULES.rules} == set(Category)
    needed = set(Category) - {Category.DISTRESS, Category.DELUSION}
    for lang in ("en", "nb", "de", "es", "fr"):
        assert {rule.category for rule in RULES.rules if rule.lang == lang} >= needed


@st.composite
def disguised(draw: st.DrawFn) -> tuple[str, str]:
    """A detected message and the same message in disguise."""
    text = draw(st.sampled_from(DETECTED))
    apostrophe, space = draw(st.sampled_from(APOSTROPHES)), draw(st.sampled_from(SPACES))
    case = draw(st.sampled_from([str.lower, str.upper, str.title, str.swapcase]))
    rate = draw(st.integers(min_value=0, max_value=4))
    random = draw(st.randoms(use_true_random=False))
    changed = case(text).replace("'", apostrophe).replace("’", apostrophe).replace(" ", space)
    return text, "".join(_changed(char, rate, random) for char in changed)


def _changed(char: str, rate: int, random: st.random.Random) -> str:
    glyphs = HOMOGLYPHS.get(char, char)
    glyph = random.choice(glyphs) if random.randrange(5) < rate else char
    return glyph + (random.choice(INVISIBLE) if random.randrange(5) < rate else "")


@settings(max_examples=300, deadline=None)
@given(disguised())
def test_no_disguise_goes_undetected(pair: tuple[str, str]) -> None:
    """No transformation of apostrophes, case, spacing, invisible characters or homoglyphs hides a message."""
    text, changed = pair
    assert RULES.assess_now(changed).level is RULES.assess_now(text).level


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_assessed(text: str) -> None:
    """No text whatever makes the layer fail."""
    assert isinstance(RULES.assess_now(text), LayerResult)


@pytest.mark.parametrize(
    "unit", ["i want to ", "not ", "want die ", "a", "?", "!?.", "my his her their ", "nicht mehr "]
)
def test_hostile_repetition_is_harmless(unit: str) -> None:
    """Repeating words up to and beyond the limit ends, because patterns repeat only within bounds."""
    assert RULES.assess_now(unit * (6000 // len(unit))).layer == "rules"


def write(folder: Path, text: str, name: str = "en.yaml") -> Path:
    folder.joinpath(name).write_text(text, encoding="utf-8")
    return folder


RULE = "rules:\n  - {id: en.one, category: suicide, lang: en, level: urgent, patterns: [%s]}\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (RULE % "want (die", "en.one"),
        (RULE % "'want {nothing}'", "en.one"),
        (RULE % "'~2'", "en.one"),
        (RULE % "'die)'", "en.one"),
        ("classes: {loop: ['{loop}']}\n" + RULE % "die", "classes.loop"),
        ("classes: {gap: ['(die | )']}\n" + RULE % "die", "classes.gap"),
        (RULE.replace("suicide", "sadness") % "die", "rules.0.category"),
        (RULE.replace("urgent", "high") % "die", "rules.0.level"),
        (RULE % "", "rules.0.patterns"),
        ("rule: []\n", "rule"),
    ],
)
def test_faults_name_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    """A fault in a file is reported with the file and the key where it is."""
    with pytest.raises(RuleError) as caught:
        UrgencyRules.load(write(tmp_path, text))
    assert "en.yaml" in str(caught.value)
    assert key in str(caught.value)


def test_an_id_may_occur_once(tmp_path: Path) -> None:
    """The same id in two files is a fault that names both."""
    write(tmp_path, RULE % "die")
    write(tmp_path, RULE % "die", "nb.yaml")
    with pytest.raises(RuleError, match=r"(?s)en\.yaml.*nb\.yaml|nb\.yaml.*en\.yaml"):
        UrgencyRules.load(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """Without rules there is no layer, and that is said at start-up."""
    with pytest.raises(ConfigurationError):
        UrgencyRules.load(tmp_path)


def test_invalid_yaml_names_the_line(tmp_path: Path) -> None:
    """Broken YAML is reported with its line."""
    with pytest.raises(RuleError) as caught:
        UrgencyRules.load(write(tmp_path, "rules:\n  - {id: en.one\n"))
    assert caught.value.line


def test_classes_serve_all_files(tmp_path: Path) -> None:
    """Files of a folder act as one: a class of one file serves the rules of another."""
    write(tmp_path, "classes:\n  end: die | vanish\n", "a.yaml")
    write(tmp_path, RULE % "'want to {end}'")
    assert UrgencyRules.load(tmp_path).assess_now("I want to vanish").level is UrgencyLevel.URGENT
