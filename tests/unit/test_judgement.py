"""Drafts and replies outside a turn: what checks and judges say of them, and a draft about one source."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.exceptions import ModelUnavailable
from engine.types import Basis, Decision, Draft, Message, Role, Stage
from tests.team import ACCEPT, DOUBT, REFINED, engine_over, rejection, scripted

QUESTION = "I cannot sleep, what helps?"
GOOD = Draft(reply="A fixed time for going to bed can help.", citations=("sleep",), basis=Basis.SOURCE)
OBJECTING = {"preliminary": DOUBT, "source_fidelity_chief": rejection()}


async def test_a_good_draft_is_accepted_by_the_first_tier(tmp_path: Path) -> None:
    """A draft that every judge of the first tier accepts is accepted without a chief."""
    found = await engine_over(tmp_path, scripted({})).judge(GOOD, QUESTION)
    assert found.decision is Decision.ACCEPT and found.failed_checks == ()
    assert [one.stage for one in found.stages] == [Stage.PRELIMINARY]


async def test_an_objection_of_the_chief_decides_and_nothing_is_refined(tmp_path: Path) -> None:
    """What a chief judge rejects is rejected as it stands, and no refiner is asked."""
    model = scripted(OBJECTING)
    found = await engine_over(tmp_path, model).judge(GOOD, QUESTION)
    assert found.decision is Decision.REJECT and found.stages[-1].draft == GOOD
    assert [one.stage for one in found.stages] == [Stage.PRELIMINARY, Stage.CHIEF]
    assert not any(prompt.role == "refiner" for prompt in model.prompts)


async def test_a_reply_that_fails_a_check_reaches_no_judge(tmp_path: Path) -> None:
    """A reply given as text that holds a link is rejected by code, and no model is asked."""
    model = scripted({})
    found = await engine_over(tmp_path, model).judge("See https://example.org for tips.", QUESTION)
    assert found.decision is Decision.REJECT and len(found.failed_checks) == 1
    assert model.prompts == [] and found.verdicts == ()


async def test_a_source_nobody_was_shown_cannot_be_cited(tmp_path: Path) -> None:
    """What was in context counts where it is given; else the cited sources are taken for known."""
    engine = engine_over(tmp_path, scripted({}))
    assert (await engine.judge(GOOD, QUESTION, in_context=("voices",))).failed_checks
    assert not (await engine.judge(GOOD, QUESTION, in_context=("sleep",))).failed_checks


async def test_where_the_judges_cannot_work_the_built_in_ones_decide(tmp_path: Path) -> None:
    """An unreachable model leaves the decision to the next team, never to nobody."""
    down = dict.fromkeys(("source_fidelity", "role_and_tone"), ModelUnavailable())
    found = await engine_over(tmp_path, scripted(down)).judge(GOOD, QUESTION)
    assert found.decision is Decision.ACCEPT and not found.stages[-1].broken


async def test_judges_see_the_turns_before_and_the_framing(tmp_path: Path) -> None:
    """A case holds whatever is known of the conversation, and the assistant's own names."""
    engine = engine_over(tmp_path)
    before = (Message(role=Role.USER, content="They read my thoughts."),)
    case = engine.filter().case(GOOD, "Do voices harm?", earlier=before, delusional_framing=True)
    settings = engine.assistants[engine.default].settings
    assert case.earlier == before and case.delusional_framing
    assert (case.assistant_name, case.audience) == (settings.name, settings.audience)
    assert [one.id for one in case.sources] == ["sleep"]


async def test_an_assistant_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Nothing is judged under the rules of another assistant than the one named."""
    with pytest.raises(KeyError):
        await engine_over(tmp_path).judge(GOOD, QUESTION, assistant="nobody")


async def test_a_draft_about_a_source_cites_that_source_alone(tmp_path: Path) -> None:
    """A draft that cites another source than the one asked about is none."""
    engine = engine_over(tmp_path, scripted({}))
    knowledge = engine.assistants[engine.default].knowledge
    assert await engine.draft_about(knowledge.sources["sleep"], QUESTION) == GOOD
    assert await engine.draft_about(knowledge.sources["voices"], "What are voices?") is None


async def test_a_draft_about_a_source_passes_the_filter(tmp_path: Path) -> None:
    """A rejected draft about a source comes back refined, or not at all."""
    refined = {**OBJECTING, "preliminary": [DOUBT, ACCEPT]}
    engine = engine_over(tmp_path, scripted(refined))
    source = engine.assistants[engine.default].knowledge.sources["sleep"]
    draft = await engine.draft_about(source, QUESTION)
    assert draft is not None and draft.reply == REFINED["reply"]
    objecting = engine_over(tmp_path, scripted(OBJECTING))
    assert await objecting.draft_about(source, QUESTION) is None


async def test_built_in_agents_draft_about_no_source(tmp_path: Path) -> None:
    """Without a language model there is no draft about a source, and neither is there where the model fails."""
    engine = engine_over(tmp_path)
    source = engine.assistants[engine.default].knowledge.sources["sleep"]
    assert await engine.draft_about(source, QUESTION) is None
    failing = engine_over(tmp_path, scripted({"agent": ModelUnavailable()}))
    assert await failing.draft_about(source, QUESTION) is None
