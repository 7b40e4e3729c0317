"""Feedback events: the allow-list by construction."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.feedback.events import DECISIONS, FeedbackEvent
from adapters.weeks import first_day, week_of
from engine.exceptions import EventRefused
from engine.types import Decision
from tests.feedback import SOURCES, allow_list, event

ALLOWED = allow_list()
REFUSALS = {f"A feedback event names a {one.name} that is not on its allow-list." for one in fields(event())}
KNOWN = {
    *ALLOWED.platforms,
    *ALLOWED.options,
    *(option for options in ALLOWED.options.values() for option in options),
    *SOURCES,
    *(id for ids in SOURCES.values() for id in ids),
    *DECISIONS,
}
WORDS = st.text(max_size=12) | st.sampled_from(sorted(KNOWN))


def mostly(*fitting: str) -> st.SearchStrategy[str]:
    """Values that fit three times out of four, so that events are made, and anything else."""
    fits = st.sampled_from(fitting)
    return st.one_of(fits, fits, fits, WORDS)


@given(
    week=mostly("2026-W47", "2026-W53", "2026-W54", "2026-W00", "2025-W53"),
    platform=mostly("telegram", "web"),
    assistant=mostly("schizophrenia", "sleep"),
    question=mostly("helpful", "found_what_i_needed", "trust"),
    option=mostly("yes", "no", "partly"),
    sources=st.lists(mostly("causes", "voices"), max_size=2).map(tuple),
    decision=mostly("ACCEPT", "none"),
)
def test_no_string_outside_the_allow_list_survives(
    week: str, platform: str, assistant: str, question: str, option: str, sources: tuple[str, ...], decision: str
) -> None:
    """Whatever values are tried, an event holds none but a week and configured words, and a refusal repeats none."""
    try:
        made = FeedbackEvent(
            allowed=ALLOWED,
            week=week,
            platform=platform,
            assistant=assistant,
            question=question,
            option=option,
            sources=sources,
            decision=decision,
        )
    except EventRefused as error:
        assert str(error) in REFUSALS
        return
    document = made.as_document()
    assert week_of(first_day(str(document.pop("week")))) == week
    flat = [*(document.pop("sources")), *document.values()]  # type: ignore[misc]
    assert set(flat) <= KNOWN
    assert made.option in ALLOWED.options[made.question]
    assert set(made.sources) <= set(SOURCES[made.assistant])


@pytest.mark.parametrize(
    "changes",
    [
        {"question": "usefulness"},  # `yes` is no option of it
        {"assistant": "sleep"},  # its sources are others
        {"platform": "telegram "},
        {"week": "2026-W54"},
        {"week": "2026-W47\n"},
        {"week": "٢٠٢٦-W47"},
        {"decision": "accept"},
        {"sources": ("causes", "my name is Kim")},
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, object]) -> None:
    """Known words in the wrong place, and weeks that do not exist, are refused."""
    with pytest.raises(EventRefused):
        event(**changes)


def test_an_event_has_no_place_for_a_person_and_cannot_be_changed() -> None:
    """An event has seven fields, none for a chat, a text or a time, and stays as it was made."""
    made = event(sources=("voices", "causes", "voices"), decision=Decision.WARNING)
    assert [one.name for one in fields(made)] == [
        "week",
        "platform",
        "assistant",
        "question",
        "option",
        "sources",
        "decision",
    ]
    assert made.sources == ("causes", "voices")
    assert json.loads(json.dumps(made.as_document()))["decision"] == "WARNING"
    with pytest.raises(FrozenInstanceError):
        made.option = "Kim"  # type: ignore[misc]


@given(st.dates(min_value=date(2000, 1, 3), max_value=date(2099, 12, 27)))
def test_weeks_are_those_of_the_calendar(day: date) -> None:
    """A day lies in the week that begins at most six days before it, also around New Year."""
    assert 0 <= (day - first_day(week_of(day))).days <= 6
