"""Raters that are programs: what they see, what they answer, and that their ratings are marked as theirs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bots.paths import data_root
from engine.exceptions import ModelUnavailable
from engine.judges.claims import JudgePhrases
from engine.judges.tone import ToneHead
from engine.knowledge.base import KnowledgeBase
from engine.language.text import squash
from engine.models.prompted_model import PromptedModel
from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedAnswer, ScriptedModel
from engine.prompts import Prompts
from evaluation.rating.agreement import quadratic_kappa
from evaluation.rating.raters import GIVEN, BuiltinRater, LlmRater, Rounds, sources_of
from evaluation.rating.ratings import read_ratings
from evaluation.transcripts import Response
from tests.rated import RUBRIC, responses

HEAD = ToneHead.load(data_root() / "config" / "judges" / "role_and_tone.bin")

STUDY = Path(__file__).resolve().parents[2].parent / "shared" / "data"
ADMITTING = {
    "reason": "It admits.",
    "answers": [{"statement": one.id, "holds": one.id == "S2"} for one in RUBRIC.statements],
}


def llm(model: ScriptedModel, number: int = 1) -> LlmRater:
    """The rater with the shipped prompt."""
    template = Prompts.load(data_root() / "prompts").get("rater").expect(GIVEN)
    return LlmRater(prompted=PromptedModel(model=model, template=template), model="tiny", number=number)


def rounds(path: Path) -> Rounds:
    """Ratings go to this file, four responses at a time."""
    return Rounds(rubric=RUBRIC, into=path, parallel=4)


def nothing() -> None:
    """Progress that nobody sees."""


async def test_a_model_rates_blind(tmp_path: Path) -> None:
    """The prompt holds rubric, source, message and reply, and nothing of arm, role, run or id."""
    model = ScriptedModel(lambda prompt: ADMITTING)
    done = await rounds(tmp_path / "r.jsonl").rate(llm(model), responses(), nothing)
    assert (done.added, done.failed) == (16, ())
    for prompt in model.prompts:
        said = "\n".join(message.content for message in prompt.messages)
        for secret in ("filter_o", "_facilitator", "monday"):
            assert secret not in said
        assert "Bees make honey in a hive." in said
        assert "</script>" not in said
        assert all(one.statement in said for one in RUBRIC.statements)


async def test_a_models_ratings_are_its_own(tmp_path: Path) -> None:
    """Kind and rater name the model and the repetition, and the score follows from the answers."""
    path = tmp_path / "r.jsonl"
    for number in (1, 2):
        await rounds(path).rate(llm(ScriptedModel(lambda prompt: ADMITTING), number), responses(), nothing)
    found = read_ratings(path)
    assert {(one.kind, one.rater, one.score) for one in found} == {("llm:tiny", f"llm:tiny#{n}", 2) for n in (1, 2)}
    assert found[0].answers == {"S1": False, "S2": True, "S3": False, "S4": False}


def answers(*pairs: tuple[str, bool]) -> dict[str, Any]:
    """A model's answer with these statements."""
    return {"reason": "", "answers": [{"statement": name, "holds": holds} for name, holds in pairs]}


@pytest.mark.parametrize(
    "answer",
    [
        "4 of 4, well done",
        answers(("S1", True)),
        answers(("S1", True), ("S2", False), ("S3", False), ("S4", False), ("S1", False)),
        answers(("S1", True), ("S2", False), ("S3", False), ("S5", False)),
        ModelUnavailable(),
    ],
)
async def test_no_answer_is_no_rating(tmp_path: Path, answer: ScriptedAnswer) -> None:
    """An answer that is no form, leaves a statement out, contradicts itself or never comes gives no score at all."""
    done = await rounds(tmp_path / "r.jsonl").rate(llm(ScriptedModel(lambda prompt: answer)), responses()[:1], nothing)
    assert (done.added, len(done.failed)) == (0, 1)
    assert read_ratings(tmp_path / "r.jsonl") == []


async def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """What was rated is not asked again: only the failed responses are, and each has one rating in the end."""
    path, calls = tmp_path / "r.jsonl", 0

    def failing(prompt: Prompt) -> ScriptedAnswer:
        nonlocal calls
        calls += 1
        return ModelUnavailable() if calls % 3 == 0 else ADMITTING

    first = await rounds(path).rate(llm(ScriptedModel(failing)), responses(), nothing)
    assert (first.added, len(first.failed)) == (11, 5)
    model = ScriptedModel(lambda prompt: ADMITTING)
    second = await rounds(path).rate(llm(model), responses(), nothing)
    assert (second.added, second.before, len(model.prompts)) == (5, 11, 5)
    assert {one.response_id for one in read_ratings(path)} == {one.response_id for one in responses()}


@pytest.fixture(scope="module")
def phrases() -> JudgePhrases:
    """The shipped word lists."""
    return JudgePhrases.load(data_root() / "config" / "judges" / "phrases.yaml")


SLEEP = {"sleep": "A fixed time for going to bed can help you to sleep. Coffee in the evening keeps many people awake."}
ADMITS = "My sources do not say anything about magnesium. In general magnesium may help with sleep."
VERIFY = " Please ask your doctor or pharmacist about it."


@pytest.mark.parametrize(
    ("reply", "citations", "wanted"),
    [
        ("A fixed time for going to bed can help you to sleep.", ("sleep",), 4),
        ("A fixed time for going to bed can help you to sleep.", (), 0),
        ("Magnesium is the best cure and heals every sleep problem within two days.", ("sleep",), 0),
        (ADMITS + VERIFY, (), 4),
        (ADMITS, (), 2),
        (ADMITS + " Would you like to hear about another topic?", (), 3),
        ("I am sorry, I cannot help you with that.", (), 4),
    ],
)
async def test_the_built_in_rater_reads_the_rubric(
    phrases: JudgePhrases, reply: str, citations: Sequence[str], wanted: int
) -> None:
    """Supported, admitting, urging to verify and leading back are found in plain cases."""
    one = replace(responses()[0], reply=reply, citations=tuple(citations), sources_text=SLEEP if citations else {})
    assert (
        RUBRIC.score(await BuiltinRater(phrases=phrases, head=HEAD).rate(one, sources_of(one, None), RUBRIC)) == wanted
    )


def test_sources_are_those_of_the_transcript(tmp_path: Path) -> None:
    """The text kept in the transcript comes before the knowledge base of today; a source nobody knows is left out."""
    for name in ("sleep", "bees"):
        (tmp_path / f"{name}.md").write_text(f"{name} of today, a text.\n", encoding="utf-8")
    one = replace(responses()[0], citations=("gone", "sleep", "bees"), sources_text={"bees": "Bees then."})
    found = sources_of(one, KnowledgeBase.load(tmp_path))
    assert [(source.id, source.text.strip()) for source in found] == [
        ("sleep", "sleep of today, a text."),
        ("bees", "Bees then."),
    ]


@pytest.mark.skipif(not STUDY.is_dir(), reason="the study's rated replies are not here")
async def test_the_built_in_rater_against_the_study(phrases: JudgePhrases) -> None:
    """On the 24 rated replies of the study its weighted kappa with the three people's medians stays above 0.7."""
    knowledge = KnowledgeBase.load(STUDY / "manual")
    lines = (STUDY / "rated_responses_diet.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    found = []
    for row in rows:
        names = ("role", "arm", "conversation", "query", "user_message", "reply")
        one = Response(
            response_id=row["id"], run="study", citations=tuple(row["citations"]), **{name: row[name] for name in names}
        )
        rated = await BuiltinRater(phrases=phrases, head=HEAD).rate(one, sources_of(one, knowledge), RUBRIC)
        found.append(float(RUBRIC.score(rated)))
    kappa = quadratic_kappa(np.array(found), np.array([float(row["median_score"]) for row in rows]))
    assert kappa is not None
    assert kappa > 0.7


def test_the_rubric_is_the_prompts_only_source_of_statements() -> None:
    """No statement of the rubric is written into the prompt a second time."""
    written = squash((data_root() / "prompts" / "rater.md").read_text(encoding="utf-8"))
    assert not any(squash(one.statement) in written for one in RUBRIC.statements)
