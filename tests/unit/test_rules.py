"""Rules as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.exceptions import RuleError
from engine.judges.choice import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS
from engine.rules import RuleBook

FOLDER = Path(__file__).resolve().parents[2] / "config" / "rules"
RULE = "- id: kind\n  statement: The reply is kind to its reader.\n  severity: REJECT\n  checked_by: [role_and_tone]\n"


def load(tmp_path: Path, **files: str) -> RuleBook:
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    return RuleBook.load(tmp_path, files)


def test_rules_keep_their_order_over_files(tmp_path: Path) -> None:
    """Rules stand in the order of their files and within them."""
    book = load(tmp_path, one=RULE + RULE.replace("kind", "calm", 1), two=RULE.replace("kind", "short", 1))
    assert [rule.id for rule in book.rules] == ["kind", "calm", "short"]


def test_a_judge_gets_its_own_rules_only(tmp_path: Path) -> None:
    """`checked_by` decides which judge sees a rule."""
    other = RULE.replace("kind", "sourced", 1).replace("[role_and_tone]", "[source_fidelity, code]")
    book = load(tmp_path, one=RULE + other)
    assert [rule.id for rule in book.checked_by(ROLE_AND_TONE)] == ["kind"]
    assert [rule.id for rule in book.checked_by(SOURCE_FIDELITY)] == ["sourced"]
    assert book.checked_by("nobody") == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (RULE.replace("severity: REJECT", "severity: fatal"), 3),
        (RULE.replace("[role_and_tone]", "[the_judge]"), 4),
        (RULE + "  colour: red\n", 5),
        (RULE.replace("id: kind", "id: Be Kind"), 1),
        (RULE.replace("[role_and_tone]", "[]"), 4),
        ("- id: [\n", 2),
        ("", 1),
    ],
)
def test_a_faulty_rule_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    """A wrong severity, judge, key or id is a RuleError with the line."""
    with pytest.raises(RuleError) as caught:
        load(tmp_path, one=text)
    assert (caught.value.file, caught.value.line) == (tmp_path / "one.yaml", line)


def test_a_rule_stands_once(tmp_path: Path) -> None:
    """The same id twice, even in two files, is an error that names it."""
    with pytest.raises(RuleError, match="'kind' stands twice"):
        load(tmp_path, one=RULE, two=RULE)


def test_a_missing_rule_file_points_to_the_assistant(tmp_path: Path) -> None:
    """The remedy for a missing rule file is the assistant that names it."""
    with pytest.raises(RuleError, match="Check `rules` in the assistant"):
        RuleBook.load(tmp_path, ["none"])


@pytest.mark.parametrize("judge", [SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, ROLE_AND_TONE, "code"])
def test_every_judge_has_shipped_rules(judge: str) -> None:
    """The shipped rules leave no judge without work."""
    assert RuleBook.load(FOLDER, sorted(path.stem for path in FOLDER.glob("*.yaml"))).checked_by(judge)


def test_the_four_criteria_are_known_to_both_judges_of_claims() -> None:
    """The judge of cited replies knows the same exception as the judge of uncited ones."""
    book = RuleBook.load(FOLDER, ["conduct", "evidence"])
    for judge in (SOURCE_FIDELITY, UNSUPPORTED_CLAIMS):
        statement = next(rule.statement for rule in book.checked_by(judge) if rule.id == "permitted_exception")
        safe, relevant = "nothing of high stakes", "of the person's life"
        honest, responsible = "admits that its sources lack it", "urges to ask somebody qualified"
        assert all(words in statement for words in (safe, relevant, honest, responsible))
