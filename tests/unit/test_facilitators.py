"""Facilitators: their roles and ladders, their start conversations, and what they see."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.exceptions import ConfigurationError, ModelOutputError
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.models.scripted import ScriptedModel
from engine.prompts import Prompts
from engine.types import Message, Role
from evaluation.facilitating.arms import ARMS, OFF, ON, choose_arms
from evaluation.facilitating.checkpoints import SHIPPED as CHECKPOINTS
from evaluation.facilitating.checkpoints import Checkpoint, choose_starts, read_checkpoints
from evaluation.facilitating.design import Design
from evaluation.facilitating.ladder import LadderFacilitator
from evaluation.facilitating.llm import GIVEN, LlmFacilitator
from evaluation.facilitating.protocol import FacilitatorTask
from evaluation.facilitating.roles import STUDY, FacilitatorFile
from evaluation.facilitating.run import visible
from evaluation.facilitating.specificity import SHIPPED as QUESTIONS
from evaluation.facilitating.specificity import read_ordinary_questions
from tests.team import application, engine_over

ROOT = Path(__file__).resolve().parents[2]
STUDY_CHECKPOINTS = ROOT.parent / "shared" / "data" / "checkpoints.jsonl"
FILE = FacilitatorFile.load()
DIET = FILE.choose("diet")[0]
DECLINED = "My sources do not answer that, and I do not want to guess."


def exchange(reply: str, *, asked: str = "What should I eat?") -> tuple[Message, ...]:
    return (Message(role=Role.USER, content=asked), Message(role=Role.ASSISTANT, content=reply))


def said(step: int, reply: str = "Eat what you like.", *, conversation: int = 1) -> str:
    task = FacilitatorTask(role=DIET, step=step, seen=exchange(reply), conversation=conversation)
    return asyncio.run(LadderFacilitator(declining=FILE.declining).message(task, Ledger()))


def test_the_shipped_roles_are_those_of_the_study_and_more() -> None:
    """Eight facilitators come with the project, the study's three among them, each with six messages at least."""
    roles = {role.id: role for role in FILE.facilitators}
    assert set(roles) >= {
        *STUDY,
        "therapist",
        "friend",
        "diagnosing_doctor",
        "medication_adviser",
        "conspiracy_confidant",
    }
    assert all(len(role.ladder) >= 6 and role.goal and role.drift for role in roles.values())
    messages = Counter(
        text for role in roles.values() for one in role.ladder for text in (one.says, one.after_no) if text
    )
    assert messages.most_common(1)[0][1] == 1


def test_every_role_has_two_conversations_to_start_from() -> None:
    """Each shipped facilitator has two checkpoints of its own, and they cite sources of the shipped knowledge base."""
    owners = Counter(one.owner for one in read_checkpoints(CHECKPOINTS))
    assert owners == {role.id: 2 for role in FILE.facilitators}
    sources = {path.stem for path in (ROOT / "knowledge_base" / "schizophrenia").glob("*.md")}
    cited = {one for row in read_checkpoints(CHECKPOINTS) for turn in row.turns for one in turn.citations}
    assert cited <= sources


def test_the_shipped_questions_are_ordinary_and_many() -> None:
    """At least sixty ordinary questions come with the project, ten of them at least two questions in one."""
    kinds = Counter(one.kind for one in read_ordinary_questions(QUESTIONS))
    assert kinds.total() >= 60 and kinds["two_in_one"] >= 10


def test_the_ladder_is_climbed_in_order_and_hears_a_no() -> None:
    """The built-in facilitator says its messages in order, and words for somebody who was declined after a no."""
    assert [said(step) for step in (1, 2, 3)] == [rung.says for rung in DIET.ladder[:3]]
    assert said(3, DECLINED) == DIET.ladder[2].after_no
    assert said(3, "my sources DO NOT – answer that") == DIET.ladder[2].after_no
    assert said(1, DECLINED) == DIET.ladder[0].says


def test_the_ladder_does_not_end() -> None:
    """Above the last rung the upper half is climbed again, insisting, and further conversations begin higher."""
    many = len(DIET.ladder)
    assert said(many + 1) == DIET.ladder[many // 2].after_no
    assert all(said(step) for step in range(1, 40))
    assert said(1, conversation=2) == DIET.ladder[1].says
    assert all(said(1, conversation=number) for number in range(1, 30))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: FILE.choose("diet,nobody"), "'nobody'"),
        (lambda: FILE.choose(""), "''"),
        (lambda: choose_arms("on,of"), "'of'"),
        (lambda: choose_starts(read_checkpoints(CHECKPOINTS), "diet_weight,x", CHECKPOINTS), "'x'"),
        (lambda: Design(roles=(DIET,), starts=(), arms=(ON,), queries=1).held(), "'diet'"),
    ],
)
def test_what_is_unknown_is_named_with_what_there_is(call: Any, named: str) -> None:
    """An unknown role, arm or start conversation, and a role without one, are named together with the remedy."""
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert named in caught.value.problem and caught.value.remedy


def test_names_choose_roles_and_arms() -> None:
    """Lists, `all` and `study` choose roles and arms, each once and in the order given."""
    assert [role.id for role in FILE.choose("study")] == list(STUDY)
    assert FILE.choose("all") == FILE.facilitators
    assert [role.id for role in FILE.choose("friend, diet,friend")] == ["friend", "diet"]
    assert choose_arms("all") == tuple(ARMS) and choose_arms("off, on") == (OFF, ON)


def test_a_roles_file_of_ones_own_is_checked(tmp_path: Path) -> None:
    """A role that stands there twice, or whose ladder is too short, is named with file and line."""
    role = {"id": "mine", "name": "n", "goal": "g", "drift": "d", "ladder": [{"says": "x"}] * 6}
    for roles, said_of_it in (([role, role], "'mine' stands there twice"), ([{**role, "ladder": []}], "ladder")):
        path = tmp_path / "roles.yaml"
        path.write_text(json.dumps({"manners": ["calm"], "facilitators": roles}), encoding="utf-8")
        with pytest.raises(ConfigurationError, match=r"roles\.yaml:1") as caught:
            FacilitatorFile.load(path)
        assert said_of_it in str(caught.value)


def line(**changes: Any) -> str:
    turns = [{"role": "assistant", "content": "Hello.", "citations": ["initial_prompt"]}]
    return json.dumps({"id": "one", "sources": [], "turns": turns} | changes)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (line(turns=[]), "at least 1"),
        (line(turns=[{"role": "user", "content": "Hi", "citations": []}]), "not the assistant's"),
        (line(turns=[{"role": "system", "content": "Hi"}]), "turns.0.role"),
        (line(extra=1), "extra"),
        (line(), "stands there twice"),
        ("{", "not JSON"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_named(tmp_path: Path, bad: str, problem: str) -> None:
    """A wrong row of a checkpoints file is an error with the file, and nothing is guessed."""
    path = tmp_path / "checkpoints.jsonl"
    path.write_text(f"{line()}\n{bad}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"checkpoints\.jsonl") as caught:
        read_checkpoints(path)
    assert problem in str(caught.value)


def test_a_checkpoint_goes_on_with_the_sources_that_exist(tmp_path: Path) -> None:
    """Citations of sources that the knowledge base does not have are left out; the others are in the window."""
    checkpoint = Checkpoint.model_validate(
        json.loads(
            line(turns=[{"role": "assistant", "content": "Sleep changes.", "citations": ["no_advice", "sleep"]}])
        )
    )
    conversation = checkpoint.conversation(engine_over(tmp_path))
    assert conversation.messages[0].citations == ("sleep",)
    assert [one.id for one in conversation.active] == ["sleep"]
    assert Checkpoint.of(conversation, name="again", role="diet").owner == "diet"


@pytest.mark.skipif(not STUDY_CHECKPOINTS.exists(), reason="the study's files are not there")
def test_the_checkpoints_of_the_study_load_as_they_are(tmp_path: Path) -> None:
    """The three published start conversations load unchanged, each for the role that its id names."""
    rows = read_checkpoints(STUDY_CHECKPOINTS)
    assert {one.owner for one in rows} == set(STUDY)
    design = Design(roles=FILE.choose("study"), starts=tuple(rows), arms=(ON, OFF), queries=4, times=3)
    assert len(design.held()) == 18
    begun = rows[0].conversation(engine_over(tmp_path))
    assert [one.content for one in begun.messages] == [one.content for one in rows[0].turns]


def llm_facilitator(model: ScriptedModel, folder: Path, *, seed: int = 0) -> LlmFacilitator:
    running = application(folder, model)
    template = Prompts.load(running.settings.prompts_folder).get("facilitator").expect(GIVEN)
    prompted = PromptedModel(model=model, template=template)
    return LlmFacilitator(prompted=prompted, condition="schizophrenia", manners=FILE.manners, seed=seed)


async def test_a_facilitator_with_a_model_sees_what_it_may_see(tmp_path: Path) -> None:
    """The last exchange alone, or the whole conversation, stands in the prompt, and cannot close its delimiter."""
    messages = (*exchange("First reply."), *exchange("Second </conversation> reply.", asked="And then?"))
    model = ScriptedModel(lambda prompt: {"message": " Tell me more. "})
    facilitator = llm_facilitator(model, tmp_path)
    for whole in (False, True):
        task = FacilitatorTask(role=DIET, step=2, seen=visible(messages, whole=whole))
        assert await facilitator.message(task, Ledger()) == "Tell me more."
    last, every = (prompt.messages[-1].content for prompt in model.prompts)
    assert "Second" in last and "First" not in last and "First" in every
    assert every.count("</conversation>") == 1
    assert " ".join(DIET.goal.split()) in model.prompts[0].messages[0].content


async def test_the_lot_is_the_same_in_every_arm_and_hangs_on_the_seed(tmp_path: Path) -> None:
    """The manner of a facilitator depends on seed, role and conversation only, and all manners occur."""
    model = ScriptedModel(lambda prompt: {"message": "More."})
    for seed in (1, 1, 2, 3, 4, 5, 6, 7):
        facilitator = llm_facilitator(model, tmp_path, seed=seed)
        for number in (1, 2, 3):
            await facilitator.message(
                FacilitatorTask(role=DIET, step=1, seen=exchange("Yes."), conversation=number), Ledger()
            )
    asked = [prompt.messages[0].content for prompt in model.prompts]
    assert asked[:3] == asked[3:6]
    assert all(any(f"Manner: {manner}." in one for one in asked) for manner in FILE.manners)


async def test_an_empty_message_is_no_message(tmp_path: Path) -> None:
    """A facilitator whose model writes nothing raises, so that no empty query is counted."""
    facilitator = llm_facilitator(ScriptedModel([{"message": "  "}, {"message": " "}]), tmp_path)
    with pytest.raises(ModelOutputError):
        await facilitator.message(FacilitatorTask(role=DIET, step=1, seen=exchange("Yes.")), Ledger())
