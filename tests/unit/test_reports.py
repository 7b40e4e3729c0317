"""Reports that an answer worried or harmed somebody: what a chat gives, what alarms, and what may be told."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation.state import ChatState
from adapters.conversation.turns import Turns
from adapters.feedback.corrections import Correction, correction_faults, read_corrections
from adapters.feedback.events import AllowList
from adapters.feedback.figures import figures
from adapters.feedback.report_desk import ReportDesk
from adapters.feedback.report_figures import ReportedPart, ReportWatch, alarming, reports_before
from adapters.feedback.sinks import DatabaseSink, Forwarding
from adapters.feedback.tallies import Selection, Tally, all_tallies
from adapters.weeks import week_of
from bots.feedback_page import feedback_page
from bots.feedback_table import as_csv
from engine.knowledge.base import KnowledgeBase
from tests.chats import begun, chat_over, last
from tests.feedback import database, shipped, tally
from tests.team import knowledge_folder, scripted

TODAY = date(2026, 11, 25)
TIRED = "why am I so tired?"
PARTS = ("sleep#lead", "voices")
SOURCES = {"schizophrenia": PARTS, "sleep": ()}


def report(count: int = 1, *, week: str = "2026-W47", part: str = "sleep#lead", option: str = "wrong") -> Tally:
    """So many reports on a part of a text."""
    usual = tally(count, week=week)
    return replace(usual, question="worried", option=option, sources=(part,) if part else ())


def corrected(day: date, source: str = "sleep", section: str = "lead") -> Correction:
    return Correction(assistant="schizophrenia", source=source, section=section, date=day, what={"en": "It was wrong."})


async def test_one_chat_reports_one_part_once(tmp_path: Path) -> None:
    """The same part a second time is thanked for and not counted, whichever answer it is about; an older button finds its own."""
    kept = database(tmp_path)
    chat = chat_over(tmp_path / "kb", scripted({}))
    knowledge = chat.engine.assistants["schizophrenia"].knowledge
    allowed = AllowList.of(shipped(), {"schizophrenia": [*knowledge.sources, "sleep#lead"]})
    desk = ReportDesk(questions=shipped(), allowed=allowed, forwarding=Forwarding(sinks=(DatabaseSink(database=kept),)))
    turns: Turns = replace(chat.turns, reports=desk)
    chat = replace(chat, turns=turns)
    _, state = await last(chat, begun(chat), TIRED)
    first = state.answered
    shown, state = await last(chat, state, "wrong", "report", about=first)
    assert "Only a count is kept" in shown.text
    _, state = await last(chat, state, TIRED)
    for about in (first, state.answered, None):
        shown, state = await last(chat, state, "frightened", "report", about=about)
        assert "it is counted" in shown.text and "112" in shown.text
    shown, _ = await last(chat, ChatState.from_json(state.to_json()), "frightened", "report")
    assert "it is counted" in shown.text
    shown, _ = await last(chat, begun(chat), "", "report")
    assert "no answer here any more" in shown.text and "112" in shown.text
    found = [(one.option, one.sources, one.count) for one in kept.run_now(all_tallies)]
    assert found == [("wrong", ("sleep#lead",), 1)]
    kept.close()


def test_alarms_come_in_steps_of_five_and_end_with_a_correction() -> None:
    """Four reports are silent, five to nine are five; older than four weeks or before a correction they do not count."""
    assert alarming([report(4)], (), TODAY, 5) == []
    for count in (5, 9):
        assert alarming([report(count)], (), TODAY, 5) == [
            ReportedPart(assistant="schizophrenia", part="sleep#lead", at_least=5)
        ]
    assert alarming([report(9)], (), TODAY, 10) == []
    assert alarming([report(20, week="2026-W44")], (), TODAY, 5) == []
    assert alarming([report(3), report(3, part="voices")], (), TODAY, 5) == []
    assert [one.part for one in alarming([report(5, part="")], (), TODAY, 5)] == ["none"]
    assert alarming([report(5)], [corrected(TODAY - timedelta(days=5))], TODAY, 5) == []
    assert alarming([report(5)], [corrected(TODAY - timedelta(days=5), section="")], TODAY, 5) == []
    assert alarming([report(5)], [corrected(TODAY - timedelta(days=12))], TODAY, 5) != []
    assert alarming([tally(50, option="no")], (), TODAY, 5) == []


def test_in_public_no_small_number_is_told_and_no_running_week() -> None:
    """Nothing under five, not even whether there was anything; nothing of a week that runs or comes after the correction."""
    entry = corrected(date(2026, 11, 18))
    assert reports_before([], entry, TODAY) is reports_before([report(4)], entry, TODAY) is None
    assert reports_before([report(13)], entry, TODAY) == 10
    assert reports_before([report(13)], corrected(date(2026, 11, 11)), TODAY) is None
    running = report(50, week=week_of(TODAY))
    assert reports_before([running], corrected(TODAY), TODAY) is None


WEEKS = tuple(week_of(TODAY - timedelta(weeks=back)) for back in range(6))


def some(*weeks: str) -> st.SearchStrategy[list[Tally]]:
    """Reports of some weeks, few at a time."""
    one = st.builds(
        report,
        st.integers(1, 4),
        week=st.sampled_from(weeks),
        part=st.sampled_from((*PARTS, "")),
        option=st.sampled_from(("frightened", "wrong", "unwell", "other")),
    )
    return st.lists(one, max_size=20)


def exported(tallies: list[Tally], day: date) -> tuple[int, dict[tuple[str, ...], int]]:
    """How many reports an export tells of, and how many in each block of weeks."""
    found = figures(tallies, shipped(), Selection.of(day, weeks=None, platform=None)).questions
    for one in found:
        rows = (*one.options, *one.weeks, *one.decisions, *one.platforms, *one.sources)
        assert all(row.answers >= 5 and (not row.chosen or row.chosen >= 5) for row in rows)
    return sum(one.answers for one in found), {row.names: row.answers for one in found for row in one.weeks}


@settings(deadline=None)
@given(some(*WEEKS), some(WEEKS[0], week_of(TODAY + timedelta(weeks=1))))
def test_two_exports_cannot_be_subtracted(before: list[Tally], more: list[Tally]) -> None:
    """Made one after the other, exports, alarms and public pages differ by nothing or by whole blocks of five and more."""
    day, after = TODAY + timedelta(weeks=2), [*before, *more]
    (count, blocks), (count_after, blocks_after) = exported(before, TODAY), exported(after, day)
    assert count_after == count or count_after - count >= 5
    assert blocks.items() <= blocks_after.items()
    for tallies, now in ((before, TODAY), (after, TODAY), (after, day)):
        assert all(one.at_least % 5 == 0 for one in alarming(tallies, (), now, 5))
        assert (reports_before(tallies, corrected(TODAY), now) or 5) % 5 == 0
    assert reports_before(before, corrected(TODAY), TODAY) == reports_before(after, corrected(TODAY), TODAY)


def test_reports_stand_in_the_exports_of_feedback(tmp_path: Path) -> None:
    """By week, section, decision and reason, small numbers held back; where no answer is favourable there is no share of such."""
    tallies = [report(6), report(5, option="unwell"), report(2, option="other", part="voices")]
    found = figures(tallies, shipped(), Selection.of(TODAY, weeks=None, platform=None))
    rows = [line.split(",")[:5] for line in as_csv(found).splitlines()]
    assert ["worried", "options", "wrong", "13", "6"] in rows and [
        "worried",
        "options",
        "unwell+other",
        "13",
        "7",
    ] in rows
    assert ["worried", "weeks", "2026-W47/2026-W47", "13", ""] in rows
    assert not any("voices" in " ".join(row) for row in rows)
    page = feedback_page(found)
    assert "What was it about this answer?" in page and "held back" in page


async def test_the_operator_sees_no_more_by_looking_more_often(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is told is as old as an hour; the log names part and number, once."""
    kept, now = database(tmp_path), [1_763_600_400.0]
    desk = ReportDesk(
        questions=shipped(),
        allowed=AllowList.of(shipped(), SOURCES),
        forwarding=Forwarding(sinks=(DatabaseSink(database=kept),)),
        today=lambda: date(2025, 11, 20),
    )
    watch = ReportWatch(database=kept, now=lambda: now[0])
    chat = chat_over(tmp_path / "kb", scripted({}))
    _, state = await last(chat, begun(chat), TIRED)
    about = replace(state.answers[-1], sources=("sleep#lead",))
    assert await watch.alarms() == ()
    for _ in range(5):
        assert await desk.report(about, "telegram", "wrong")
    assert not await desk.report(about, "telegram", "i am Anna") and not await desk.report(about, "fax", "wrong")
    with caplog.at_level(logging.WARNING, "cafi.reports"):
        assert await watch.alarms() == ()
        now[0] += 3600
        for _ in range(2):
            await watch.look()
    assert await watch.alarms() == (ReportedPart(assistant="schizophrenia", part="sleep#lead", at_least=5),)
    assert [one.getMessage() for one in caplog.records if one.name == "cafi.reports"] == [
        "at least 5 reports on sleep#lead of schizophrenia"
    ]
    await kept.aclose()


def test_corrections_of_what_is_not_there_are_named_with_their_line(tmp_path: Path) -> None:
    """An unknown assistant, source, section, and a day to come: each with file and line; without a file there is nothing."""
    bases = {"schizophrenia": KnowledgeBase.load(knowledge_folder(tmp_path / "kb"))}
    path = tmp_path / "corrections.yaml"
    assert read_corrections(tmp_path) == () and not list(correction_faults(path, bases, TODAY))
    path.write_text(
        "corrections:\n"
        "  - {assistant: schizophrenia, source: sleep, date: 2026-11-01, what: {en: Fine.}}\n"
        "  - {assistant: dreams, source: sleep, date: 2026-11-02, what: {en: No such assistant.}}\n"
        "  - {assistant: schizophrenia, source: gone, date: 2026-11-03, what: {en: No such source.}}\n"
        "  - {assistant: schizophrenia, source: sleep, section: gone, date: 2026-12-04, what: {en: No such section.}}\n",
        encoding="utf-8",
    )
    found = [(one.line, one.key) for one in correction_faults(path, bases, TODAY)]
    assert found == [
        (3, "corrections.1.assistant"),
        (4, "corrections.2.source"),
        (5, "corrections.3.section"),
        (5, "corrections.3.date"),
    ]
    assert [one.date.day for one in read_corrections(tmp_path)] == [4, 3, 2, 1]
