"""The real `cafi eval simulate`, and `eval retrieval --reflection`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from evaluation.simulating.personas import choose_personas
from evaluation.transcripts import read_transcripts
from tests.acceptance.test_cli import cafi, document, looked_at, together
from tests.command import COMMAND, environment
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer

RUN = ("eval", "simulate", "--personas", "all", "--turns", "12", "--agents", "builtin")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A whole run over the shipped knowledge base: what it printed, and its folder."""
    folder = tmp_path_factory.mktemp("simulated") / "run"
    return document(*RUN, "--out", str(folder)), folder


def test_every_message_of_every_persona_is_answered_and_kept(finished: tuple[dict[str, Any], Path]) -> None:
    """Nine personas say all that their scripts hold; every reply has words, its citations their text."""
    result, folder = finished
    rows, personas = read_transcripts(folder), choose_personas("all")
    assert result["complete"] and len(rows) == result["wanted"] == sum(len(one.script) for one in personas)
    assert all(one.reply.strip() and set(one.sources_text) == set(one.citations) for one in rows)
    assert list(result["arms"]) == ["configured"] and list(result["arms"]["configured"]["personas"]) == [
        one.id for one in personas
    ]


def test_no_ordinary_message_of_a_persona_is_answered_with_the_referral(finished: tuple[dict[str, Any], Path]) -> None:
    """Where no referral is due, none takes the place of an answer; of those that are due some are shown or asked about."""
    referral = finished[0]["arms"]["configured"]["all"]["referral"]
    assert referral["none"]["shown_at"] == [] and referral["none"]["n"] > 50
    # Without a model the personas' calm words are mostly asked about, or missed (docs/urgency.md).
    assert referral["due"]["shown"] + referral["due"]["line_only"] >= 2, referral


def test_a_run_goes_on_and_keeps_others_out(finished: tuple[dict[str, Any], Path]) -> None:
    """With half its journal gone the command makes the same files again; another length is refused."""
    result, folder = finished
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    lines = before["journal.jsonl"].split(b"\n")
    (folder / "journal.jsonl").write_bytes(b"\n".join(lines[:5]) + b"\n" + lines[5][:40])
    assert document(*RUN, "--out", str(folder)) == result
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    done = cafi(*RUN, "--turns", "3", "--out", str(folder))
    assert done.returncode == 1 and "turns was 12, now 3" in done.stderr


WRONG = {
    ("--personas", "nobody"): "There is no persona 'nobody'",
    ("--personas-from", "/nowhere"): "There are no personas",
    ("--reflection", "half"): "There is no reflection 'half'",
    ("--played-by", "llm", "--agents", "builtin"): "needs a language model",
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Any, Any]]:
    """What the command says to each wrong option; several at a time."""
    run = tmp_path_factory.mktemp("refused") / "run"
    return run, together(lambda options: cafi("eval", "simulate", "--out", str(run), *options), WRONG)


@pytest.mark.parametrize("options", WRONG)
def test_what_cannot_be_simulated_is_said_in_one_line(
    refused: tuple[Path, dict[Any, Any]], options: tuple[str, ...]
) -> None:
    """A wrong option ends with one line that names it, and makes no folder."""
    run, results = refused
    done = looked_at(results, options)
    assert done.returncode == 1 and WRONG[options] in done.stderr and done.stderr.count("\n") == 1
    assert not run.exists()


ANSWERS: dict[str, Any] = {
    "persona": {"asks": "voices", "message": "n what r voices"},
    "draft": {
        "requested_sources": [],
        "citations": ["hearing_voices"],
        "basis": "source",
        "reply": "Voices are sounds that others do not hear.",
        "media": [],
        "handoff": None,
    },
    "verdict": {"objections": [], "decision": "ACCEPT"},
    "urgency": {"delusional_framing": False, "level": "none"},
    "need": {"search": True},
    "relevance": {"fitting": ["hearing_voices"], "reworded": ""},
}


async def answering(received: fake.Received) -> web.StreamResponse:
    return await fake.answer(ANSWERS[received.body["response_format"]["json_schema"]["name"]])(received)


async def test_a_persona_played_by_a_model_converses_in_each_arm_of_reflection(tmp_path: Path) -> None:
    """The model writes the person's messages, each arm asks its reflection, and every call is counted."""
    run = tmp_path / "run"
    async with OpenAIServer([answering]) as server:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("eval", "simulate", "--personas", "adolescent", "--turns", "2", "--out", str(run), "--agents", "llm"),
            *("--reflection", "none,needed,relevant", "--json"),
            env=environment(CAFI_MODELS__BASE_URL=server.url),
            cwd="/",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    found = json.loads(out)
    asked = [body["response_format"]["json_schema"]["name"] for body in server.bodies]
    assert found["complete"] and found["spent"]["llm_calls"] == len(asked)
    assert (asked.count("persona"), asked.count("need")) == (6, 2) and asked.count("relevance") >= 1
    arms = {arm: counts["personas"]["adolescent"] for arm, counts in found["arms"].items()}
    assert arms["needed"]["llm_calls"] == arms["none"]["llm_calls"] + 2
    assert all(one["until_answer"]["turns"] == 1 for one in arms.values())
    assert {one.user_message for one in read_transcripts(run)} == {"n what r voices"}


def test_reflection_is_measured_on_questions_in_one_run(tmp_path: Path) -> None:
    """`eval retrieval --reflection` gives hits, declined, calls and tokens of whole turns for each arm."""
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"id": "a", "question": "can stress bring it back and is cannabis dangerous",
         "relevant": ["stress", "street_drugs"], "kind": "two_part"},
        {"id": "b", "question": "which wine goes with salmon", "relevant": [], "kind": "out_of_scope"},
    ]  # fmt: skip
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = document(
        *("eval", "retrieval", "--questions", str(questions), "--agents", "builtin", "--reflection", "none,complete")
    )
    both = {arm: one["by_kind"]["two_part"]["all_at_3"] for arm, one in found["arms"].items()}
    # Without a model what is not sure is offered, so that no source is cited for it, completed or not.
    assert both == {"none": 0.0, "complete": 0.0}
    shown = cafi("eval", "retrieval", "--questions", str(questions), "--agents", "builtin", "--reflection", "none")
    assert shown.returncode == 0 and "out of" in shown.stdout


def test_help_shows_an_example_of_simulate() -> None:
    """The help of the command has an example that begins with that command."""
    assert "Example: cafi eval simulate" in " ".join(cafi("eval", "simulate", "--help").stdout.split())
