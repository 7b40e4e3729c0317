"""The real `cafi eval facilitators`, `drift` and `specificity`: a whole run, killed and gone on with."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from evaluation.transcripts import read_transcripts
from tests.acceptance.test_cli import cafi, document, looked_at, together
from tests.command import COMMAND, environment
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer

RUN = ("eval", "facilitators", "--roles", "all", "--queries", "3", "--arms", "on,off", "--agents", "builtin")
RESPONSES = 8 * 2 * 3 * 2
KILLS = 2


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A whole run over the shipped knowledge base: what it printed, and its folder."""
    folder = tmp_path_factory.mktemp("facilitators") / "run"
    return document(*RUN, "--out", str(folder)), folder


def killed(folder: Path, after: int) -> bool:
    """Start the command and kill it as soon as it has written so many more responses; False where it was quicker."""
    journal = folder / "journal.jsonl"
    before = journal.read_bytes().count(b"\n") if journal.exists() else 0
    command = [*COMMAND, *RUN, "--out", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), cwd="/")
    try:
        ends = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < ends:
            if journal.exists() and journal.read_bytes().count(b"\n") >= before + after:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        _, errors = process.communicate()
    assert process.returncode in {-signal.SIGKILL, 0}, errors.decode()
    return process.returncode != 0


def test_a_whole_run_keeps_every_response_with_its_verdicts(finished: tuple[dict[str, Any], Path]) -> None:
    """Eight facilitators, two conversations each, three queries, filter on and off: all there, judged where it is on."""
    result, folder = finished
    assert result["complete"] and result["responses"] == result["wanted"] == RESPONSES
    assert {name: counts["responses"] for name, counts in result["arms"].items()} == {"on": 48, "off": 48}
    rows = read_transcripts(folder)
    assert len(rows) == RESPONSES and all(one.reply.strip() and one.user_message.strip() for one in rows)
    assert all(bool(one.review) is (one.arm == "on") for one in rows if "fixed" not in one.marks)
    assert all(set(one.sources_text) == set(one.citations) for one in rows)


def test_a_run_that_is_killed_goes_on_to_the_same_result(finished: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    """Killed with SIGKILL at random places, the command goes on each time, and the files are the same to the byte."""
    result, folder = finished
    again, lot = tmp_path / "run", random.Random()
    there = [killed(again, lot.randint(1, RESPONSES // (2 * KILLS))) for _ in range(KILLS)]
    assert there == sorted(there) and there[0] > 0 and there[-1] < RESPONSES, there
    ended = document(*RUN, "--out", str(again))
    assert ended | {"transcripts": ""} == result | {"transcripts": ""}, there
    assert contents(again) == contents(folder), there


def test_another_run_is_kept_out_of_the_folder(finished: tuple[dict[str, Any], Path]) -> None:
    """Other options, another knowledge base: refused with what differs, and nothing in the folder changes."""
    _, folder = finished
    before = contents(folder)
    for options, named in (
        (("--queries", "5", "--seed", "3"), "seed was null, now 3; queries was 3, now 5"),
        (
            ("--kb", str(Path(__file__).resolve().parents[2] / "knowledge_base" / "sleep")),
            "knowledge_base was schizophrenia",
        ),
    ):
        done = cafi(*RUN, *options, "--out", str(folder))
        assert done.returncode == 1 and named in done.stderr and done.stdout == ""
    assert contents(folder) == before


WRONG = {
    ("--roles", "nobody"): "There is no facilitator 'nobody'",
    ("--arms", "half"): "There is no arm 'half'",
    ("--conversations", "/nowhere.jsonl"): "There is no such file",
    ("--sees", "all"): "--sees is 'all'",
    ("--played-by", "llm", "--agents", "builtin"): "needs a language model",
    ("--agent-prompt", "week", "--agents", "builtin"): "--agent-prompt is 'week'",
    ("--agent-prompt", "weak", "--agents", "builtin"): "A prompt leads language models only",
}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Any, Any]]:
    """What the command says to each wrong option; several at a time."""
    run = tmp_path_factory.mktemp("refused") / "run"
    return run, together(lambda options: cafi("eval", "facilitators", "--out", str(run), *options), WRONG)


@pytest.mark.parametrize("options", WRONG)
def test_what_cannot_be_run_is_said_in_one_line(refused: tuple[Path, dict[Any, Any]], options: tuple[str, ...]) -> None:
    """A wrong option ends with one line that names it, and makes no folder."""
    run, results = refused
    done = looked_at(results, options)
    assert done.returncode == 1 and WRONG[options] in done.stderr and done.stderr.count("\n") == 1
    assert not run.exists()


def test_a_cost_limit_without_a_price_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    """With language models and no price, --budget-cost names the price table."""
    done = cafi(
        *("eval", "facilitators", "--out", str(tmp_path / "run"), "--agents", "llm", "--budget-cost", "1"),
        CAFI_MODELS__BASE_URL="http://127.0.0.1:9/v1",
    )
    assert done.returncode == 1 and "prices.yaml" in done.stderr and not (tmp_path / "run").exists()


ANSWERS: dict[str, Any] = {
    "facilitated": {"message": "And what else helps?"},
    "draft": {
        "requested_sources": [],
        "citations": [],
        "basis": "none",
        "reply": "My sources do not cover that. Please ask your doctor.",
        "media": [],
        "handoff": None,
    },
    "verdict": {"objections": [], "decision": "ACCEPT"},
    "urgency": {"delusional_framing": False, "level": "none"},
}


async def answering(received: fake.Received) -> web.StreamResponse:
    return await fake.answer(ANSWERS[received.body["response_format"]["json_schema"]["name"]])(received)


async def test_a_run_with_language_models_is_seeded_and_keeps_to_its_budget(tmp_path: Path) -> None:
    """The model plays facilitators, the weak prompt leads the agent, each request has the seed, the budget ends the run."""
    run = tmp_path / "run"
    async with OpenAIServer([answering]) as server:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("eval", "facilitators", "--roles", "diet", "--queries", "2", "--out", str(run), "--agents", "llm"),
            *("--seed", "5", "--budget-tokens", "1500", "--parallel", "1", "--json", "--agent-prompt", "weak"),
            env=environment(CAFI_MODELS__BASE_URL=server.url),
            cwd="/",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert out, err.decode()
    found = json.loads(out)
    assert process.returncode == 1 and "the tokens are used up" in err.decode()
    assert not found["complete"] and set(found["stopped"]) == {"tokens"}
    assert {body["seed"] for body in server.bodies} == {5}
    drafts = [body for body in server.bodies if body["response_format"]["json_schema"]["name"] == "draft"]
    assert drafts and all("wants to please" in body["messages"][0]["content"] for body in drafts)
    assert json.loads((run / "run.json").read_text())["agent_prompt"] == "agent_weak"
    assert found["spent"]["llm_calls"] == len(server.bodies)
    rows = read_transcripts(run)
    assert 0 < len(rows) < found["wanted"] == 8
    assert {one.user_message for one in rows} == {"And what else helps?"}
    assert all(one.seconds > 0 and one.usage.llm_calls for one in rows)


def test_drift_says_that_there_is_none(tmp_path: Path) -> None:
    """The built-in agent only quotes, so that no checkpoint is found and no file is made."""
    out = tmp_path / "new.jsonl"
    found = document("eval", "drift", "--role", "friend", "--queries", "2", "--out", str(out), "--agents", "builtin")
    assert (found["drifted"], found["queries"], found["checkpoint"]) == (False, 2, None)
    assert not out.exists()


def test_specificity_keeps_its_report_and_takes_ratings(tmp_path: Path) -> None:
    """All shipped questions are asked; the report is read back for ratings without asking again."""
    kept, sheet, ratings = tmp_path / "report.json", tmp_path / "sheet.csv", tmp_path / "ratings.csv"
    found = document("eval", "specificity", "--agents", "builtin", "--out", str(kept), "--sheet", str(sheet))
    assert found["n"] >= 60 and found["urgent"] == [] and json.loads(kept.read_text()) == found
    ids = [one["id"] for one in found["flagged"]]
    ratings.write_text("question_id,rater,agrees\nnobody,ann,yes\n")
    done = cafi("eval", "specificity", "--from", str(kept), "--ratings", str(ratings))
    assert done.returncode == 1 and f"{ratings}:2" in done.stderr
    if ids:
        ratings.write_text("question_id,rater,agrees\n" + "".join(f"{one},ann,no\n" for one in ids))
        again = document("eval", "specificity", "--from", str(kept), "--ratings", str(ratings))
        assert again["agreement"]["rated"] == len(ids) and again["agreement"]["majority_agreed"] == 0


@pytest.mark.parametrize("command", ["eval facilitators", "eval drift", "eval specificity"])
def test_help_shows_an_example(command: str) -> None:
    """The help of each command has an example that begins with that command."""
    assert f"Example: cafi {command}" in " ".join(cafi(*command.split(), "--help").stdout.split())
