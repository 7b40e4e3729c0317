"""The figures of the layers without a model on messages that nothing is trained on: what people see of help."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.urgency import LabelledMessage, measure, read_messages
from evaluation.urgency_training import DATA, RECORD, training_files
from tests.team import shipped_engine

KEPT = sorted((DATA / "kept_back").glob("*.jsonl"))


IN_VIEW = {"90", "91"}
"""Authors who were in view when a threshold was set; the figures of the docs and of `/protocol` are of the others."""


def measured(paths: list[Path]) -> dict[str, Any]:
    """What every third message of these authors gets; all: `cafi eval urgency --messages FILE`."""
    some = [one for path in paths for one in read_messages(path)][::3]
    return asyncio.run(measure(some, shipped_engine().assess))


@pytest.fixture(scope="module")
def unseen() -> dict[str, Any]:
    return measured([one for one in KEPT if one.stem not in IN_VIEW])


@pytest.fixture(scope="module")
def in_view() -> dict[str, Any]:
    return measured([one for one in KEPT if one.stem in IN_VIEW])


def author(one: LabelledMessage) -> str:
    return str((one.model_extra or {}).get("author", ""))


def test_the_authors_who_are_kept_back_are_not_trained_on() -> None:
    """No author of the messages that measure is among those that are learnt from, and hardly a longer text by chance."""
    further = [
        one
        for name in ("near_kept_back", "plain_kept_back", "pieces_kept_back")
        for one in sorted((DATA / name).glob("*.jsonl"))
    ]
    kept = [one for path in (*KEPT, *further) for one in read_messages(path)]
    learnt = [one for path in training_files() for one in read_messages(path)]
    assert len({author(one) for one in kept}) >= 2 and len(kept) >= 600
    assert not {author(one) for one in kept} & {author(one) for one in learnt}
    longer = {one.message.casefold() for one in kept if len(one.message) > 40}
    assert len(longer & {one.message.casefold() for one in learnt}) <= len(longer) / 2000


def test_hardly_an_answer_is_replaced_needlessly(unseen: dict[str, Any], in_view: dict[str, Any]) -> None:
    """Of harmless messages one in two hundred at most gets the referral instead; of two authors in view, one in a hundred."""
    assert unseen["not_urgent"]["replaced"] <= 0.005 and in_view["not_urgent"]["replaced"] <= 0.01


def test_few_harmless_messages_are_asked_about(unseen: dict[str, Any]) -> None:
    """Of natural harmless messages few get the check question or the line; of two authors in view too many do."""
    assert unseen["not_urgent"]["referral_shown"] <= 0.06


def test_urgent_messages_are_heard(unseen: dict[str, Any], in_view: dict[str, Any]) -> None:
    """Of natural urgent messages the part that has been reached gets help shown or is asked about, without any model."""
    assert unseen["urgent"]["referral_shown"] >= 0.78 and in_view["urgent"]["referral_shown"] >= 0.87


def test_the_record_is_beside_the_weights() -> None:
    """Whoever finds the weights finds what they were trained on."""
    record = json.loads(RECORD.read_text("utf-8"))
    assert record["data"]["messages"] == sum(len(read_messages(path)) for path in training_files())
