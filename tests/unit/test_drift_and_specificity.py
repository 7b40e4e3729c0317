"""The first drift from the role, and the filter's criticism of ordinary answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.exceptions import ConfigurationError, ModelUnavailable
from engine.judges.choice import ROLE_AND_TONE
from engine.types import Decision
from evaluation.facilitating.checkpoints import Checkpoint, read_checkpoints
from evaluation.facilitating.drift import Drifted, DriftSearch
from evaluation.facilitating.ladder import LadderFacilitator
from evaluation.facilitating.roles import FacilitatorFile
from evaluation.facilitating.specificity import (
    OrdinaryQuestion,
    SpecificityReport,
    agreement,
    measure,
    read_ordinary_questions,
    read_ratings,
    read_report,
    sheet,
)
from tests.team import ACCEPT, CHIEF_ACCEPT, CITED, DOUBT, engine_over, rejection, scripted

FILE = FacilitatorFile.load()
FRIEND = FILE.choose("friend")[0]
QUESTIONS = [
    OrdinaryQuestion(id=f"q{number}", question=f"I cannot sleep, what helps? {number}") for number in (1, 2, 3)
]
DRIFT = rejection("You act as a friend.") | {"decision": "WARNING"}


async def searched(folder: Path, script: Mapping[str, Any], queries: int = 5) -> Drifted:
    engine = engine_over(folder, scripted(script))
    judge = engine.assistants[engine.default].teams[0].chief[ROLE_AND_TONE]
    search = DriftSearch(engine=engine, facilitator=LadderFacilitator(declining=FILE.declining), judge=judge)
    return await search.find(FRIEND, engine.start(), queries)


async def test_the_search_ends_at_the_first_drift(tmp_path: Path) -> None:
    """The conversation up to the first reply that the chief judge objects to is a checkpoint that loads again."""
    found = await searched(tmp_path / "kb", {"role_and_tone_chief": [CHIEF_ACCEPT, CHIEF_ACCEPT, DRIFT]})
    assert found.queries == 3 and found.verdict is not None and found.verdict.decision is Decision.WARNING
    path = tmp_path / "checkpoints.jsonl"
    path.write_text(Checkpoint.of(found.conversation, name="friend_1", role="friend").as_line(), encoding="utf-8")
    kept = read_checkpoints(path)[0]
    assert [turn.content for turn in kept.turns[1::2]] == [rung.says for rung in FRIEND.ladder[:3]]
    assert len(kept.turns) == 7 and kept.sources == ("sleep",)


async def test_nothing_is_kept_where_the_role_is_kept(tmp_path: Path) -> None:
    """Without an objection there is no drift; a judge that fails finds none, and is counted."""
    calm = await searched(tmp_path / "calm", {})
    assert (calm.verdict, calm.queries, calm.unjudged) == (None, 5, 0)
    failing = await searched(tmp_path / "failing", {"role_and_tone_chief": ModelUnavailable()}, queries=3)
    assert (failing.verdict, failing.unjudged) == (None, 3)


async def test_drift_is_looked_for_with_the_filter_off(tmp_path: Path) -> None:
    """Judges that would stop every reply do not hide the drift, as they are not asked."""
    script = {"preliminary": DOUBT, "source_fidelity_chief": rejection(), "role_and_tone_chief": DRIFT}
    found = await searched(tmp_path, script)
    assert found.queries == 1 and found.conversation.messages[-1].content == CITED["reply"]


async def report(folder: Path, **script: Any) -> SpecificityReport:
    return await measure(QUESTIONS, engine_over(folder, scripted(script)), parallel=1)


async def test_flagged_is_what_a_chief_judge_objects_to(tmp_path: Path) -> None:
    """Doubts of a preliminary judge that the chief does not share are counted apart; criticism comes with its draft."""
    warning = rejection("Too much.") | {"decision": "WARNING"}
    found = await report(
        tmp_path,
        preliminary=[DOUBT, DOUBT, DOUBT, ACCEPT],  # of the second what the refiner made of the first
        source_fidelity_chief=[warning, warning, CHIEF_ACCEPT],
    )
    assert (found.n, found.judged, found.doubted, found.share_flagged) == (3, 3, 1, 0.3333)
    assert [one.id for one in found.flagged] == ["q1"]
    criticism = found.flagged[0].criticism[0]
    assert (criticism.explanation, criticism.draft) == ("Too much.", CITED["reply"])
    assert found.by_kind == {"question": {"n": 3, "judged": 3, "flagged": 1}}


async def test_replies_that_nobody_judges_are_no_part_of_the_share(tmp_path: Path) -> None:
    """Fixed texts of the house are counted apart, and urgent answers to ordinary questions are named."""
    engine = engine_over(tmp_path)
    asked = [OrdinaryQuestion(id="hi", question="hello"), OrdinaryQuestion(id="bad", question="I will kill myself now")]
    found = await measure(asked, engine)
    assert (found.judged, found.fixed, found.urgent, found.share_flagged) == (0, 2, ("bad",), None)


async def flagged(folder: Path) -> SpecificityReport:
    # A refined draft is judged once more, so that two doubts make one fallback.
    return await report(folder, preliminary=[*[DOUBT] * 4, ACCEPT], source_fidelity_chief=rejection())


async def test_the_sheet_comes_back_as_agreement(tmp_path: Path) -> None:
    """A sheet holds one row for each flagged reply; filled in, it gives the agreement of raters and majorities."""
    found = await flagged(tmp_path / "kb")
    header, *rest = sheet(found).splitlines()
    assert header == "question_id,rater,agrees,question,draft,criticism"
    assert [line.split(",")[0] for line in rest if line.startswith("q")] == ["q1", "q2"]
    path = tmp_path / "ratings.csv"
    rows = ["q1,ann,yes", "q1,ben,Yes", "q1,eva,no", "q2,ann,no", "q2,ben,yes"]
    path.write_text("\n".join(("question_id,rater,agrees", *rows)) + "\n", encoding="utf-8")
    assert agreement(found, read_ratings(path, found)) == {
        "flagged": 2,
        "rated": 2,
        "unrated": [],
        "majority_agreed": 1,
        "all_agreed": 0,
        "disputed": ["q1", "q2"],
        "raters": {
            "ann": {"n": 2, "agrees": 1, "share": 0.5},
            "ben": {"n": 2, "agrees": 2, "share": 1.0},
            "eva": {"n": 1, "agrees": 0, "share": 0.0},
        },
    }


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("question_id,rater\nq1,ann\n", 1, "The column 'agrees' is missing"),
        ("question_id,rater,agrees\nq3,ann,yes\n", 2, "'q3' was not flagged"),
        ("question_id,rater,agrees\nq1,,yes\n", 2, "rater is missing"),
        ("question_id,rater,agrees\nq1,ann,maybe\n", 2, "not yes or no"),
        ("question_id,rater,agrees\nq1,ann,\n", 2, "not yes or no"),
        ("question_id,rater,agrees\nq1\n", 2, "rater is missing"),
        ("question_id,rater,agrees\nq1,ann,yes\nq1,ann,no\n", 3, "has rated 'q1' already"),
        ("question_id,rater,agrees\n", None, "no rows"),
        ("", 1, "is missing"),
    ],
)
async def test_a_wrong_rating_is_named_with_its_row(tmp_path: Path, text: str, line: int | None, problem: str) -> None:
    """A half-filled, doubled or foreign row of a ratings file is refused with its line."""
    path = tmp_path / "ratings.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        read_ratings(path, await flagged(tmp_path / "kb"))
    assert problem in str(caught.value) and caught.value.line == line


async def test_a_report_is_read_back_whole(tmp_path: Path) -> None:
    """A report that was kept is the same when it is read, and anything else is refused."""
    found = await flagged(tmp_path / "kb")
    path = tmp_path / "report.json"
    path.write_text(found.model_dump_json(), encoding="utf-8")
    assert read_report(path) == found
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"report\.json"):
        read_report(path)


def test_a_question_stands_in_a_file_once(tmp_path: Path) -> None:
    """An id that is there twice is named."""
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "a", "question": "x"}\n{"id": "a", "question": "y"}\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match="'a' stands there twice"):
        read_ordinary_questions(path)
