"""Self-reflective retrieval: off unless configured, counted, and never a way around the judges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.exceptions import BudgetExceeded, ConfigurationError, ModelOutputError, ModelUnavailable
from engine.models.ledger import Ledger
from engine.models.scripted import ScriptedModel
from engine.settings import AssistantSettings, Budget
from engine.turn.engine import Engine
from engine.types import Outcome, Turn
from evaluation.reflection_arms import ARMS, choose_arms, engine_of, measure
from evaluation.retrieval import LabelledQuestion
from tests.team import CITED, DOUBT, engine_over, rejection, scripted

BOTH = "Why am I so tired? What are the voices?"
ALL = {"fitting": ["sleep", "voices"], "reworded": ""}
CALM_REFLECTIONS: dict[str, Any] = {
    "reflection_needed": {"search": True},
    "reflection_relevant": ALL,
    "reflection_complete": {"missing": []},
}


def engine(
    folder: Path, arm: str, script: dict[str, Any] | None = None, **settings: Any
) -> tuple[Engine, ScriptedModel]:
    """The engine with a model by script, and one arm of reflection."""
    model = scripted({**CALM_REFLECTIONS, **(script or {})})
    return engine_of(arm, engine_over(folder, model, **settings)), model


async def turn_of(one: Engine, message: str = BOTH) -> Turn:
    return await one.respond(one.start(), message)


def roles(model: ScriptedModel) -> list[str]:
    return [prompt.role for prompt in model.prompts]


def last_prompt(model: ScriptedModel, role: str) -> str:
    return next(prompt.messages[-1].content for prompt in reversed(model.prompts) if prompt.role == role)


async def test_nothing_is_reflected_on_unless_configured(tmp_path: Path) -> None:
    """The shipped assistants ask no reflection, in calls as in the review."""
    one, model = engine(tmp_path, "configured")
    turn = await turn_of(one)
    assert not [role for role in roles(model) if role.startswith("reflection")]
    assert turn.review.reflected == () and one.assistants[one.default].settings.reflection == ()


async def test_each_reflection_is_one_call_on_the_turns_account(tmp_path: Path) -> None:
    """With all three on, three more calls are made, counted, and noted in the review."""
    plain, model = engine(tmp_path / "plain", "none")
    before = await turn_of(plain)
    one, model = engine(tmp_path / "all", "all", budget=Budget(calls=20))
    turn = await turn_of(one)
    assert turn.usage.llm_calls == before.usage.llm_calls + 3 == len(model.prompts)
    assert turn.usage.prompt_tokens > before.usage.prompt_tokens
    assert turn.review.reflected == ("needed:yes", "relevant:all", "complete:yes")
    assert turn.reply == before.reply


async def test_a_message_that_needs_no_search_gets_no_candidates(tmp_path: Path) -> None:
    """Where no search is needed, the agent's prompt has the index alone, and the reply is judged as ever."""
    one, model = engine(
        tmp_path,
        "needed",
        {"reflection_needed": {"search": False}, "agent": CITED | {"citations": [], "basis": "none"}},
    )
    turn = await turn_of(one, "You are useless, I hate the way you talk about sleep")
    assert turn.review.reflected == ("needed:no",)
    assert "No source is in context." in last_prompt(model, "agent")
    assert "preliminary" in roles(model)


async def test_small_talk_is_recognised_without_a_call(tmp_path: Path) -> None:
    """Exact phrases need no model to say that no search is needed."""
    one, model = engine(tmp_path, "needed")
    turn = await turn_of(one, "thanks")
    assert turn.review.reflected == ("needed:no",) and "reflection_needed" not in roles(model)


async def test_candidates_that_do_not_fit_are_dropped(tmp_path: Path) -> None:
    """Only the graded ones come into context; ids that the model invents count for nothing."""
    one, model = engine(
        tmp_path, "relevant", {"reflection_relevant": {"fitting": ["sleep", "invented"], "reworded": "x"}}
    )
    turn = await turn_of(one)
    assert turn.sources_in_context == ("sleep",) and turn.review.reflected == ("relevant:some",)
    assert '<candidate id="voices">' in last_prompt(model, "reflection_relevant")


async def test_a_second_search_in_other_words_happens_once(tmp_path: Path) -> None:
    """Where nothing fits, the reworded question is searched and graded, and then it ends."""
    none = {"fitting": [], "reworded": "what are the voices I hear"}
    one, model = engine(
        tmp_path, "relevant", {"reflection_relevant": [none, {"fitting": ["voices"], "reworded": "again"}]}
    )
    turn = await turn_of(one, "I cannot sleep, what helps?")
    assert roles(model).count("reflection_relevant") == 2 and turn.review.reflected == ("relevant:again",)
    assert turn.sources_in_context[:1] == ("voices",)


async def test_a_second_search_that_finds_nothing_new_leaves_no_candidates(tmp_path: Path) -> None:
    """A reworded question that finds the same candidates is not graded again."""
    none = {"fitting": [], "reworded": "I cannot sleep"}
    one, model = engine(tmp_path, "relevant", {"reflection_relevant": none})
    turn = await turn_of(one, "I cannot sleep, what helps?")
    assert roles(model).count("reflection_relevant") == 1 and turn.review.reflected == ("relevant:again",)


async def test_an_incomplete_draft_is_written_once_more_before_the_judges(tmp_path: Path) -> None:
    """What is missing goes to the agent with its source in full, and the second draft is the one that is judged."""
    second = CITED | {"citations": ["sleep", "voices"], "reply": "A fixed time can help. Voices are sounds."}
    script = {"reflection_complete": {"missing": ["What are the voices?"]}, "agent": [CITED, second]}
    one, model = engine(tmp_path, "complete", script)
    turn = await turn_of(one)
    asked = roles(model)
    assert asked.count("agent") == 2 and asked.count("reflection_complete") == 1
    assert asked.index("preliminary") > len(asked) - 1 - asked[::-1].index("agent")
    assert "What are the voices?" in last_prompt(model, "agent")
    assert turn.reply.text == second["reply"] and turn.reply.citations == ("sleep", "voices")
    assert turn.review.reflected == ("complete:no",) and turn.review.stages[0].draft.reply == second["reply"]


OTHER = CITED | {"reply": "I can only tell you about sleep, not about voices."}
WORSE = (ModelUnavailable(), OTHER | {"citations": ["invented"]}, OTHER | {"citations": [], "basis": "none"})


@pytest.mark.parametrize("second", WORSE, ids=["unavailable", "fails a check", "without a source"])
async def test_a_second_draft_that_is_worse_leaves_the_first(tmp_path: Path, second: Any) -> None:
    """A second draft that fails, breaks a check or has lost its source does not replace the first one."""
    script = {"reflection_complete": {"missing": ["What are the voices?"]}, "agent": [CITED, second]}
    one, _ = engine(tmp_path, "complete", script)
    turn = await turn_of(one)
    assert (turn.reply.text, turn.reply.citations) == (CITED["reply"], ("sleep",))
    assert turn.review.outcome is Outcome.ACCEPTED and turn.review.outage is None


BROKEN = (ModelUnavailable(), ModelOutputError(), "no json", {"fitting": 1, "missing": {}})


@pytest.mark.parametrize("broken", BROKEN, ids=["unavailable", "bad output", "no JSON", "another form"])
@pytest.mark.parametrize("name", ["needed", "relevant", "complete"])
async def test_a_failing_reflection_changes_nothing(tmp_path: Path, name: str, broken: Any) -> None:
    """Out of reach or not in its form, a reflection leaves reply, sources and judgements as they are without it."""
    plain, quiet = engine(tmp_path / "plain", "none")
    before = await turn_of(plain)
    one, model = engine(tmp_path / "broken", name, {f"reflection_{name}": broken})
    turn = await turn_of(one)
    assert turn.review.reflected == (f"{name}:failed",)
    assert (turn.reply, turn.sources_in_context) == (before.reply, before.sources_in_context)
    assert turn.review.verdicts == before.review.verdicts
    assert [role for role in roles(model) if not role.startswith("reflection")] == roles(quiet)


@pytest.mark.parametrize("arm", ARMS)
async def test_a_rejected_draft_stays_rejected_in_every_arm(tmp_path: Path, arm: str) -> None:
    """No reflection lets a draft pass that the judges reject."""
    script = {"preliminary": DOUBT, "source_fidelity_chief": rejection()}
    one, _ = engine(tmp_path, arm, script, budget=Budget(calls=20))
    turn = await turn_of(one)
    assert turn.review.outcome is Outcome.FALLBACK and turn.reply.text != CITED["reply"]


async def test_a_reflection_leaves_the_turn_its_calls(tmp_path: Path) -> None:
    """With a small budget the reflections are left out, not the judges."""
    one, model = engine(tmp_path, "all", budget=Budget(calls=8))
    turn = await turn_of(one)
    assert turn.review.reflected == ("needed:failed", "relevant:failed", "complete:failed")
    assert turn.review.outcome is Outcome.ACCEPTED and not turn.review.built_in
    assert not [role for role in roles(model) if role.startswith("reflection")]


def test_a_ledger_keeps_calls_back() -> None:
    """`leave` raises where one more call would leave fewer than are wanted."""
    ledger = Ledger(budget=Budget(calls=3))
    ledger.leave(2)
    with pytest.raises(BudgetExceeded):
        ledger.leave(3)


async def test_one_run_gives_the_figures_of_every_arm(tmp_path: Path) -> None:
    """Hits, declined, calls and tokens stand beside each other for each arm, and so does what came of it."""
    rows = [
        LabelledQuestion(id="a", question=BOTH, relevant=("sleep", "voices"), kind="two_part"),
        LabelledQuestion(id="b", question="which wine goes with salmon", relevant=(), kind="out_of_scope"),
    ]
    one, _ = engine(tmp_path, "configured", budget=Budget(calls=20))
    found = await measure(rows, one, choose_arms("none,all"))
    assert list(found["arms"]) == ["none", "all"] and found["n"] == 2
    none, everything = found["arms"]["none"], found["arms"]["all"]
    assert none["reflected"] == {} and everything["reflected"]["needed:yes"] == 2
    assert everything["llm_calls"] > none["llm_calls"] > 0 and everything["tokens"] > none["tokens"]
    assert none["hit_at_3"] == 1.0 and none["by_kind"]["two_part"]["all_at_3"] == 0.0


def test_unknown_reflections_are_refused() -> None:
    """A wrong name in an option or in an assistant's file is an error that says so."""
    with pytest.raises(ConfigurationError, match="some of configured, none"):
        choose_arms("some")
    given = {
        "id": "a",
        "name": "n",
        "audience": "a",
        "condition": "c",
        "knowledge_base": "k",
        "rules": [],
        "welcome": "w",
    }
    assert AssistantSettings.model_validate(given | {"reflection": ["relevant"]}).reflection == ("relevant",)
    with pytest.raises(ValidationError):
        AssistantSettings.model_validate(given | {"reflection": ["perfect"]})


def test_an_arm_leaves_the_engine_as_it_was(tmp_path: Path) -> None:
    """An arm changes the reflection of each assistant and nothing else, and not that of the engine it came from."""
    one = engine_over(tmp_path)
    other = engine_of("all", one)
    for name, assistant in other.assistants.items():
        same = replace(assistant, settings=assistant.settings.model_copy(update={"reflection": ()}))
        assert same == one.assistants[name] and assistant.settings.reflection == ARMS["all"]
