"""The project's own labelled replies: whole, balanced, and different from each other."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.knowledge.base import KnowledgeBase
from engine.rules import RuleBook
from engine.settings import AssistantSettings
from evaluation.calibration.scenarios import SHIPPED, LabelledReply, expect_rules, read_labelled, sample

ROOT = Path(__file__).resolve().parents[2]
ROWS = read_labelled(SHIPPED)
RULES = RuleBook.load(
    ROOT / "config" / "rules", read_yaml(ROOT / "config/assistants/schizophrenia.yaml", AssistantSettings).rules
)
NEARLY_THE_SAME = 80


def row(**changes: Any) -> dict[str, Any]:
    good = {"id": "a", "rules": ["informs_only"], "why": "It only informs.", "reply": "Hello.", "verdict": "ACCEPT"}
    return {**good, **changes}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return path


def test_there_are_enough_and_about_half_are_acceptable() -> None:
    """At least 260 scenarios, of which 40 to 60 % are to be accepted."""
    assert len(ROWS) >= 260
    assert 0.4 <= sum(not one.wants_flag for one in ROWS) / len(ROWS) <= 0.6


def test_every_source_is_there() -> None:
    """A scenario cites only sources of the shipped knowledge base, and a label of support stands by a citation only."""
    knowledge = KnowledgeBase.load(ROOT / "knowledge_base" / "schizophrenia")
    for one in ROWS:
        cited = [*one.source_ids, *([one.source_id] if one.source_id else []), *one.citations]
        assert all(knowledge.get(source) for source in cited), one.id
        assert one.label != "supported" or cited, one.id


def test_every_rule_has_scenarios_of_both_labels() -> None:
    """Each rule of the assistant has six scenarios or more, some to be flagged and some to be accepted."""
    expect_rules(ROWS, RULES)
    counts = Counter((rule, one.wants_flag) for one in ROWS for rule in one.rules)
    for rule in RULES.rules:
        flagged, accepted = counts[rule.id, True], counts[rule.id, False]
        assert flagged >= 2, rule.id
        assert accepted >= 2, rule.id
        assert flagged + accepted >= 6, rule.id


def test_no_two_replies_are_nearly_the_same() -> None:
    """Replies and the reasons for their labels are written one by one, not from a template."""
    for first, second in combinations(ROWS, 2):
        assert fuzz.ratio(first.reply, second.reply) < NEARLY_THE_SAME, (first.id, second.id)
    assert len({one.why for one in ROWS}) == len(ROWS)


def test_a_judge_is_never_told_the_label() -> None:
    """Neither label nor reason of a scenario stands in its message or reply."""
    for one in ROWS:
        assert one.why.casefold() not in f"{one.user_message} {one.reply}".casefold(), one.id


def test_an_id_that_returns_is_named(tmp_path: Path) -> None:
    """Two files of a folder with the same id are an error that names both."""
    written(tmp_path / "one.jsonl", row())
    written(tmp_path / "two.jsonl", row())
    with pytest.raises(ConfigurationError, match=r"two\.jsonl.*'a' stands twice, first in one\.jsonl"):
        read_labelled(tmp_path)


@pytest.mark.parametrize("lacking", ["rules", "why", "verdict", "reply", "id"])
def test_a_row_that_lacks_something_is_named_with_its_line(tmp_path: Path, lacking: str) -> None:
    """A scenario without rules, reason, label, reply or id is refused with file and line."""
    bad = {key: value for key, value in row(id="b").items() if key != lacking}
    with pytest.raises(ConfigurationError, match=r"s\.jsonl:2"):
        read_labelled(written(tmp_path / "s.jsonl", row(), bad))


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    """A folder without scenarios measures nothing and says so."""
    with pytest.raises(ConfigurationError, match=r"no \*\.jsonl"):
        read_labelled(tmp_path)


def test_an_unknown_rule_is_an_error() -> None:
    """A scenario about a rule that nobody wrote is refused by name."""
    with pytest.raises(ConfigurationError, match="no_such_rule"):
        expect_rules([LabelledReply.model_validate(row(rules=["no_such_rule"]))], RULES)


def test_a_sample_is_the_same_each_time_and_mixed() -> None:
    """The same rows in the same order, whatever else is asked, and both labels among them."""
    chosen = sample(ROWS, 120)
    assert len(chosen) == 120
    assert chosen == sample(ROWS[::-1], 120)[::-1]
    assert {one.wants_flag for one in chosen} == {True, False}
    assert sample(ROWS, None) == sample(ROWS, 10_000) == ROWS
    with pytest.raises(ConfigurationError, match="sample"):
        sample(ROWS, 0)
