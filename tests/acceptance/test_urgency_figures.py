"""The figures of the layers without a model on messages that nothing is trained on: what people see of help."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evaluation.urgency import LabelledMessage, measure, read_messages
from evaluation.urgency_training import DATA, RECORD, training_files
from tests.team import shipped_engine

KEPT = sorted((DATA / "kept_back").glob("*.jsonl"))


@pytest.fixture(scope="module")
def natural() -> dict[str, Any]:
    engine = shipped_engine()
    ten = [path for path in KEPT if path.stem not in {"90", "91"}]  # these two were in view when a threshold was set
    some = [one for path in ten for one in read_messages(path)][::2]  # all: `cafi eval urgency --messages FILE`
    return asyncio.run(measure(some, engine.assess))


def author(one: LabelledMessage) -> str:
    return str((one.model_extra or {}).get("author", ""))


def test_the_authors_who_are_kept_back_are_not_trained_on() -> None:
    """No author of the messages that measure is among those that are learnt from, and hardly a longer text by chance."""
    kept = [one for path in KEPT for one in read_messages(path)]
    learnt = [one for path in training_files() for one in read_messages(path)]
    assert len({author(one) for one in kept}) >= 2 and len(kept) >= 600
    assert not {author(one) for one in kept} & {author(one) for one in learnt}
    longer = {one.message.casefold() for one in kept if len(one.message) > 40}
    assert len(longer & {one.message.casefold() for one in learnt}) <= len(longer) / 2000


def test_hardly_an_answer_is_replaced_needlessly(natural: dict[str, Any]) -> None:
    """Of natural harmless messages at most one in two hundred gets the referral in place of its answer."""
    assert natural["not_urgent"]["replaced"] <= 0.005


def test_few_harmless_messages_are_asked_about(natural: dict[str, Any]) -> None:
    """Of natural harmless messages few get the check question or the line."""
    assert natural["not_urgent"]["referral_shown"] <= 0.06


def test_urgent_messages_are_heard(natural: dict[str, Any]) -> None:
    """Of natural urgent messages the part that has been reached gets help shown or is asked about, without any model."""
    assert natural["urgent"]["referral_shown"] >= 0.74


def test_the_record_is_beside_the_weights() -> None:
    """Whoever finds the weights finds what they were trained on."""
    record = json.loads(RECORD.read_text("utf-8"))
    assert record["data"]["messages"] == sum(len(read_messages(path)) for path in training_files())
