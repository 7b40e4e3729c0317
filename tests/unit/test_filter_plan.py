"""The filter with parts switched off, as it is measured; the default is the whole filter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.models.scripted import ScriptedModel
from engine.turn.filter import FilterPlan
from engine.types import Conversation, Decision, Outcome, Reminder, Turn
from tests.team import ACCEPT, CITED, DOUBT, REFINED, engine_over, rejection, scripted

SLEEPLESS = "I cannot sleep, what helps?"
UNCHECKED = {**CITED, "citations": ["nowhere"], "reply": "See https://example.org for tips."}
OBJECTING = {"preliminary": DOUBT, "source_fidelity_chief": rejection()}
NO_JUDGES = {"preliminary": False, "chief": False}


async def one_turn(folder: Path, model: ScriptedModel, plan: FilterPlan, *reminders: Reminder) -> Turn:
    engine = replace(engine_over(folder, model), plan=plan)
    begun: Conversation = replace(engine.start(), reminders=reminders)
    return await engine.respond(begun, SLEEPLESS)


def roles(model: ScriptedModel) -> set[str]:
    return {prompt.role for prompt in model.prompts} - {"agent", "urgency"}


def test_the_default_plan_is_the_whole_filter(tmp_path: Path) -> None:
    """An engine that nobody has told otherwise runs every part of the filter."""
    assert engine_over(tmp_path).plan == FilterPlan()
    assert FilterPlan() == FilterPlan(checks=True, preliminary=True, chief=True, refiner=True, reminders=True)


async def test_with_everything_off_the_draft_is_shown_and_nobody_is_asked(tmp_path: Path) -> None:
    """With the filter off a draft that code checks and judges would stop is shown, and marked as unjudged."""
    model = scripted({**OBJECTING, "agent": UNCHECKED})
    turn = await one_turn(tmp_path, model, FilterPlan(checks=False, refiner=False, reminders=False, **NO_JUDGES))
    assert turn.reply.text == UNCHECKED["reply"]
    assert turn.review.outcome is Outcome.UNJUDGED and turn.review.verdicts == ()
    assert roles(model) == set()


async def test_an_empty_draft_is_never_shown(tmp_path: Path) -> None:
    """Even with the filter off an empty draft goes back to the agent, and the second one is shown."""
    model = scripted({"agent": [{**CITED, "reply": " "}, CITED]})
    turn = await one_turn(tmp_path, model, FilterPlan(checks=False, **NO_JUDGES))
    assert turn.reply.text == CITED["reply"]


async def test_urgent_messages_are_answered_by_the_house_without_the_filter(tmp_path: Path) -> None:
    """The filter's plan does not touch the urgency layers."""
    engine = replace(engine_over(tmp_path), plan=FilterPlan(checks=False, **NO_JUDGES))
    turn = await engine.respond(engine.start(), "I am going to kill myself tonight.")
    assert turn.review.outcome is Outcome.FIXED and "emergency number" in turn.reply.text


async def test_code_checks_alone_stop_what_they_find(tmp_path: Path) -> None:
    """With code checks only, a link is sent back twice and ends in the fallback, though no judge is asked."""
    model = scripted({**OBJECTING, "agent": UNCHECKED})
    turn = await one_turn(tmp_path, model, FilterPlan(**NO_JUDGES))
    assert turn.review.outcome is Outcome.FALLBACK and turn.review.failed_checks and roles(model) == set()


async def test_without_preliminary_judges_the_chiefs_are_asked_at_once(tmp_path: Path) -> None:
    """Without the preliminary tier both chief judges judge every draft."""
    model = scripted({})
    turn = await one_turn(tmp_path, model, FilterPlan(preliminary=False))
    assert roles(model) == {"source_fidelity_chief", "role_and_tone_chief"}
    assert turn.review.outcome is Outcome.ACCEPTED


async def test_without_chief_judges_the_preliminary_ones_decide(tmp_path: Path) -> None:
    """Without the chief tier a preliminary rejection calls the refiner."""
    model = scripted({"preliminary": [DOUBT, ACCEPT]})
    turn = await one_turn(tmp_path, model, FilterPlan(chief=False))
    assert "refiner" in roles(model) and not any(one.endswith("chief") for one in roles(model))
    assert turn.review.outcome is Outcome.REFINED and turn.reply.text == REFINED["reply"]


async def test_without_the_refiner_a_rejection_ends_in_the_fallback(tmp_path: Path) -> None:
    """Without the refiner a rejected draft is not repaired."""
    model = scripted(OBJECTING)
    turn = await one_turn(tmp_path, model, FilterPlan(refiner=False))
    assert "refiner" not in roles(model)
    assert (turn.review.outcome, turn.review.decision) == (Outcome.FALLBACK, Decision.REJECT)


@pytest.mark.parametrize("reminders", [True, False])
async def test_without_reminders_the_agent_hears_nothing_of_earlier_verdicts(tmp_path: Path, reminders: bool) -> None:
    """A reminder reaches the agent's prompt only where the plan has reminders."""
    model = scripted({})
    told = Reminder(judge="role_and_tone", text="Do not plan anybody's day.")
    await one_turn(tmp_path, model, FilterPlan(reminders=reminders), told)
    sent: Any = next(prompt for prompt in model.prompts if prompt.role == "agent")
    assert (told.text in sent.messages[-1].content) is reminders
