"""When somebody is asked, what, and what is remembered of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from adapters.feedback.schedule import AskedDays, Moment, answered_in, may_ask, next_question
from adapters.feedback.sinks import DatabaseSink
from adapters.storage.erasure import Names, erase
from adapters.storage.identity import ChatIdentity
from adapters.storage.keyring_file import rotated
from adapters.storage.pseudonyms import Naming, pseudonyms
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import asked
from engine.types import UrgencyLevel
from tests.feedback import database, event, rows, shipped

POLICY = shipped().policy
KIM = ChatIdentity(platform="telegram", chat="4711")


def moment(**changes: object) -> Moment:
    values = {"answers": 5, "since_referral": None, "urgency": UrgencyLevel.NONE, "asked_day": None, "today": 20_000}
    return Moment(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "asks"),
    [
        ({}, True),
        ({"answers": 4}, False),
        ({"urgency": UrgencyLevel.CONCERN}, False),
        ({"urgency": UrgencyLevel.URGENT}, False),
        ({"since_referral": 0}, False),
        ({"since_referral": 6}, False),
        ({"since_referral": 7}, True),
        ({"asked_day": 19_987}, False),
        ({"asked_day": 19_986}, True),
        ({"asked_day": 20_001}, False),
        ({"open_question": True}, False),
    ],
)
def test_the_policy_decides(changes: dict[str, object], asks: bool) -> None:
    """Each limit of the policy holds to the turn and the day."""
    assert may_ask(POLICY, moment(**changes)) is asks


@given(
    answers=st.integers(0, 50),
    since=st.none() | st.integers(0, 20),
    urgency=st.sampled_from(UrgencyLevel),
    day=st.none() | st.integers(19_900, 20_100),
)
def test_nobody_is_asked_near_a_crisis(answers: int, since: int | None, urgency: UrgencyLevel, day: int | None) -> None:
    """Whatever else holds, an urgent or worrying turn and six turns after a referral bring no question."""
    asks = may_ask(POLICY, moment(answers=answers, since_referral=since, urgency=urgency, asked_day=day))
    if urgency is not UrgencyLevel.NONE or (since is not None and since <= 6):
        assert not asks


def test_the_least_answered_question_comes_next() -> None:
    """The question with the fewest answers is asked, and equals are asked equally often."""
    questions = shipped().questions
    counts = {one.id: 3 for one in questions} | {"trust": 1}
    assert next_question(questions, counts, Random(1)).id == "trust"
    drawn = Counter(next_question(questions, {}, Random(seed)).id for seed in range(500))
    assert set(drawn) == {one.id for one in questions}
    assert min(drawn.values()) > 50


async def test_only_a_day_under_a_pseudonym_is_remembered(tmp_path: Path) -> None:
    """The day of asking is found again for the same person only, also after the secret was changed, until it is old."""
    kept, keyring = database(tmp_path), Keyring(current=Secret.random())
    days = AskedDays(database=kept, naming=Naming(keyring))
    assert await days.day(KIM) is None
    await days.mark(KIM, 20_000)
    await days.mark(KIM, 20_003)
    assert await days.day(KIM) == 20_003
    assert await days.day(ChatIdentity(platform="web", chat="4711")) is None
    (row,) = rows(kept, select(asked))
    assert b"4711" not in row.person and row.day == 20_003

    later = AskedDays(database=kept, naming=Naming(rotated(keyring)))
    assert await later.day(KIM) == 20_003
    await later.mark(KIM, 20_020)
    assert len(rows(kept, select(asked))) == 1
    assert await later.sweep(20_033, 14) == 0
    assert await later.sweep(20_034, 14) == 1
    assert await later.day(KIM) is None
    await kept.aclose()


async def test_forgetting_erases_the_day(tmp_path: Path) -> None:
    """`/forget` finds the mark of asking under the pseudonym it was written with."""
    kept, keyring = database(tmp_path), Keyring(current=Secret.random())
    days = AskedDays(database=kept, naming=Naming(keyring))
    await days.mark(KIM, 20_000)
    receipt = await kept.run(lambda connection: erase(connection, Names.of(pseudonyms(keyring, KIM), b"")))
    assert receipt["asked"] == 1
    assert await days.day(KIM) is None
    await kept.aclose()


async def test_answers_of_a_week_are_counted_by_question(tmp_path: Path) -> None:
    """Counts for choosing a question are those of one week over all platforms."""
    kept = database(tmp_path)
    await DatabaseSink(database=kept).add(
        [
            event(),
            event(option="no"),
            event(platform="web"),
            event(week="2026-W46"),
            event(question="trust", option="fully"),
        ]
    )
    assert await answered_in(kept, "2026-W47") == {"helpful": 3, "trust": 1}
    await kept.aclose()
