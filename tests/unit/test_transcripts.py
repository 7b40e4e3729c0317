"""Transcripts: written line by line, read back whole, and clear about what is wrong with them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.types import Decision, Draft, Outcome, Review, Stage, StageRecord, Tier, Usage, Verdict
from evaluation.transcripts import Response, Spent, TranscriptWriter, read_transcripts, verdicts_of

VERDICT = Verdict(decision=Decision.WARNING, judge="role_and_tone", tier=Tier.SMALL, sentences=("I am here.",))
REVIEW = Review(
    outcome=Outcome.WARNED,
    stages=(StageRecord(stage=Stage.PRELIMINARY, draft=Draft(reply="I am here."), verdicts=(VERDICT,)),),
)
RESPONSE = Response(
    response_id="a-diet-on-1-1",
    run="a",
    role="diet",
    conversation=1,
    query=1,
    arm="on",
    user_message="What should I eat?",
    reply="I am here.",
    citations=("diet",),
    sources_text={"diet": "Eat what you like."},
    decision=Decision.WARNING,
    review=verdicts_of(REVIEW),
    usage=Spent.of(Usage(llm_calls=3, prompt_tokens=100)),
    seconds=1.5,
)


def write(path: Path, *responses: Response) -> Path:
    """A transcript file with these responses."""
    with TranscriptWriter(path) as writer:
        for one in responses:
            writer.append(one)
    return path


def problem(place: Path) -> ConfigurationError:
    """What reading a place complains of."""
    with pytest.raises(ConfigurationError) as caught:
        read_transcripts(place)
    return caught.value


@given(st.text(), st.text(), st.lists(st.text()))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, said: str, reply: str, ids: list[str]
) -> None:
    """Whatever people and models wrote, line breaks and odd characters included, comes back as it was."""
    wanted = replace(RESPONSE, user_message=said, reply=reply, citations=tuple(ids))
    path = write(tmp_path_factory.mktemp("t") / "a.transcript.jsonl", wanted)
    assert read_transcripts(path) == [wanted]


def test_responses_come_in_the_order_of_their_conversations(tmp_path: Path) -> None:
    """Several files are read as one, sorted by run, role, arm, conversation and query; other files are left alone."""
    later = replace(RESPONSE, response_id="x", query=2)
    write(tmp_path / "b.transcript.jsonl", RESPONSE)
    write(tmp_path / "a.transcript.jsonl", later)
    (tmp_path / "run.jsonl").write_text("nothing of ours\n", encoding="utf-8")
    assert read_transcripts(tmp_path) == [RESPONSE, later]


def test_a_torn_end_is_no_response(tmp_path: Path) -> None:
    """The half line of a killed writer is not read, and the next writer goes on as if it had never been."""
    path = write(tmp_path / "a.transcript.jsonl", RESPONSE)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert read_transcripts(path) == [RESPONSE]
    second = replace(RESPONSE, response_id="x", query=2)
    write(path, second)
    assert read_transcripts(path) == [RESPONSE, second]
    assert path.read_bytes().startswith(whole)


def test_a_missing_last_line_break_costs_no_response(tmp_path: Path) -> None:
    """A whole last line without its line break is read, and kept by the next writer."""
    path = write(tmp_path / "a.transcript.jsonl", RESPONSE)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    second = replace(RESPONSE, response_id="x", query=2)
    write(path, second)
    assert read_transcripts(path) == [RESPONSE, second]


def changed(path: Path, **changes: object) -> Path:
    """The response's file with some keys changed; None takes a key away."""
    value = json.loads(write(path, RESPONSE).read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps({key: one for key, one in value.items() if one is not None}) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 0}, "older version"),
        ({"version": None}, "older version"),
        ({"version": 2}, "newer version"),
        ({"reply": None}, "reply"),
        ({"query": 0}, "query"),
        ({"colour": "red"}, "colour"),
        ({"decision": "PERHAPS"}, "decision"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    """A line of another version, with a key missing, unknown or out of range is an error with file and line."""
    found = problem(changed(tmp_path / "a.transcript.jsonl", **changes))
    assert (found.line, words in str(found)) == (1, True)
    assert "What should I eat?" not in str(found)


def test_a_response_stands_only_once(tmp_path: Path) -> None:
    """The same response in two files is an error that names both places."""
    write(tmp_path / "a.transcript.jsonl", RESPONSE)
    write(tmp_path / "b.transcript.jsonl", RESPONSE)
    assert "a.transcript.jsonl:1" in str(problem(tmp_path))
    assert "b.transcript.jsonl:1" in str(problem(tmp_path))


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    """An empty folder, a missing file and a line that is no JSON say so."""
    assert "no responses" in str(problem(tmp_path))
    assert "no such file" in str(problem(tmp_path / "gone.transcript.jsonl"))
    (tmp_path / "a.transcript.jsonl").write_text("{oops\n", encoding="utf-8")
    assert problem(tmp_path).line == 1


def test_a_transcript_has_its_ending(tmp_path: Path) -> None:
    """A file that the reader would not find is never written."""
    with pytest.raises(ConfigurationError, match=r"\.transcript\.jsonl"):
        TranscriptWriter(tmp_path / "a.jsonl")
