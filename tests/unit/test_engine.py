"""One turn of conversation, with a scripted language model and with the built-in agents."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.exceptions import ModelDeclined, ModelMisconfigured, ModelOutputError, ModelUnavailable
from engine.language.text import sentences
from engine.models.protocol import Completion, Finish
from engine.models.scripted import ScriptedModel
from engine.types import (
    ActiveSource,
    Basis,
    Conversation,
    Decision,
    HandoffOffer,
    Help,
    Kind,
    Message,
    Outcome,
    Reminder,
    Role,
    Stage,
    Turn,
    Wish,
)
from tests.team import (
    ACCEPT,
    CALM,
    CITED,
    DOUBT,
    REFINED,
    application,
    engine_over,
    rejection,
    scripted,
    shipped_engine,
    shipped_parts,
)


def roles(model: ScriptedModel) -> list[str]:
    return sorted(prompt.role for prompt in model.prompts)


async def test_an_accepted_turn_makes_one_draft_one_judgement_and_one_urgency_check(tmp_path: Path) -> None:
    """An accepted cited answer costs three model calls and carries its citation."""
    model = scripted({})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert roles(model) == ["agent", "preliminary", "urgency"]
    assert turn.reply.text == CITED["reply"] and turn.reply.citations == ("sleep",)
    assert turn.review.outcome is Outcome.ACCEPTED and turn.review.decision is Decision.ACCEPT
    assert turn.usage.llm_calls == 3 and turn.usage.prompt_tokens > 0


async def test_chief_judges_are_asked_only_on_doubt_and_can_overrule_it(tmp_path: Path) -> None:
    """A preliminary objection calls both chief judges, and their acceptance lets the draft pass unchanged."""
    model = scripted({"preliminary": DOUBT})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert {"source_fidelity_chief", "role_and_tone_chief"} <= set(roles(model)) and "refiner" not in roles(model)
    assert turn.review.outcome is Outcome.ACCEPTED and turn.reply.text == CITED["reply"]


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ({"preliminary": [DOUBT, ACCEPT, ACCEPT]}, Outcome.REFINED),
        ({"preliminary": [DOUBT, DOUBT, ACCEPT]}, Outcome.WARNED),
        ({"preliminary": [DOUBT, ACCEPT], "refiner": ModelUnavailable()}, Outcome.WARNED),
    ],
    ids=["refined", "refined no better", "no refiner"],
)
async def test_a_warning_is_refined_or_shown_and_becomes_a_reminder(
    tmp_path: Path, script: dict[str, Any], outcome: Outcome
) -> None:
    """What a chief judge warns about is repaired, and stands where that is no better; why is in the agent's next prompt."""
    warning = rejection("Say less about beds.") | {"decision": "WARNING"}
    model = scripted({"source_fidelity_chief": warning, **script})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.review.outcome is outcome
    assert turn.reply.text == (REFINED if outcome is Outcome.REFINED else CITED)["reply"]
    await engine.respond(turn.conversation, "And what else helps with sleep?")
    last = [prompt for prompt in model.prompts if prompt.role == "agent"][-1]
    assert "Say less about beds." in last.messages[-1].content


async def test_a_rejected_draft_is_refined_judged_again_and_only_the_refined_one_is_kept(
    tmp_path: Path,
) -> None:
    """After a rejection the refined reply is shown, and the rejected draft is nowhere in the conversation."""
    model = scripted({"preliminary": [DOUBT, ACCEPT], "source_fidelity_chief": rejection()})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.review.outcome is Outcome.REFINED and turn.reply.text == REFINED["reply"]
    assert [record.stage for record in turn.review.stages] == [
        Stage.PRELIMINARY,
        Stage.CHIEF,
        Stage.REFINED_PRELIMINARY,
    ]
    assert all(CITED["reply"] != message.content for message in turn.conversation.messages)


async def test_always_rejected_ends_in_the_fallback_after_six_steps(tmp_path: Path) -> None:
    """When every draft is rejected, one refinement is tried and the fixed fallback is shown."""
    model = scripted({"preliminary": DOUBT, "source_fidelity_chief": rejection()})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert roles(model).count("refiner") == 1 and roles(model).count("agent") == 1
    assert turn.review.outcome is Outcome.FALLBACK and turn.review.decision is Decision.REJECT
    assert "I would rather say so than guess" in turn.reply.text and turn.reply.citations == ()


@pytest.mark.parametrize(
    "broken",
    [
        ModelUnavailable(),
        ModelOutputError(),
        ModelDeclined(),
        "the decision is ACCEPT",
        '{"decision": "ACCEPT"}',
        '{"objections": [], "decision": "accepted"}',
    ],
)
async def test_a_judge_that_fails_accepts_nothing(tmp_path: Path, broken: Any) -> None:
    """A judge that errs or cannot be parsed never lets a draft through; the built-in agents answer instead."""
    model = scripted({"preliminary": broken, "source_fidelity_chief": broken})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.review.built_in and turn.review.outage
    assert turn.reply.text.startswith("Just now I can only quote my sources word for word.")


@pytest.mark.parametrize(
    "error",
    [ModelUnavailable(), ModelMisconfigured(), ModelDeclined(), ModelOutputError(), "half a {json", ""],
)
async def test_an_agent_that_fails_is_replaced_by_the_built_in_one(tmp_path: Path, error: Any) -> None:
    """Whatever the agent's model does, the person gets a quoted and judged answer with one calm sentence."""
    engine = engine_over(tmp_path, scripted({"agent": error}))
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert "A fixed time for going to bed can help." in turn.reply.text
    assert turn.reply.text.startswith("Just now I can only quote") and turn.reply.citations == ("sleep",)
    assert turn.review.stages[0].decision is Decision.ACCEPT


async def test_a_truncated_draft_is_asked_for_once_more(tmp_path: Path) -> None:
    """A cut-off draft is sent back with the reason and the second one is used."""
    cut = Completion(text='{"reply": "A fix', finish=Finish.LENGTH, model="m", prompt_tokens=1, completion_tokens=1)
    model = scripted({"agent": [cut, CITED]})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.reply.text == CITED["reply"] and not turn.review.built_in
    second = [prompt for prompt in model.prompts if prompt.role == "agent"][1]
    assert "cut off" in second.messages[-1].content


async def test_the_turn_budget_ends_in_a_quoted_answer(tmp_path: Path) -> None:
    """A turn that has used up its calls is finished by the built-in agents, not by silence."""
    model = scripted({})
    engine = engine_over(tmp_path, model, budget={"calls": 1})
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.review.built_in and "A fixed time for going to bed can help." in turn.reply.text
    assert turn.usage.llm_calls <= 1


async def test_requested_sources_come_into_context_once(tmp_path: Path) -> None:
    """An agent that asks for a source gets it in a second call, and cannot ask again."""
    wants = CITED | {"requested_sources": ["voices"], "citations": [], "basis": "none", "reply": ""}
    cites = CITED | {"citations": ["voices"], "reply": "Voices are sounds that others do not hear."}
    model = scripted({"agent": [wants, cites]})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "Is there anything about sleep and the other thing?")
    assert turn.reply.citations == ("voices",) and "voices" in turn.sources_in_context
    second = [prompt for prompt in model.prompts if prompt.role == "agent"][1]
    assert "Voices are sounds" in second.messages[-1].content
    assert "No further sources can be requested" in second.messages[-1].content


async def test_a_source_shown_in_excerpt_can_be_had_in_full(tmp_path: Path) -> None:
    """An agent that asks for a source of which it saw an excerpt gets the whole of it."""
    paragraphs = "\n\n".join(
        f"Voices and sleep, part {number}: " + "calm words of this part. " * 12 for number in range(9)
    )
    (tmp_path / "long.md").write_text(
        f"---\nid: long\ntitle: Voices and sleep at night\nsummary: [voices, sleep]\n---\n{paragraphs}",
        encoding="utf-8",
    )
    model = scripted({"agent": [CITED | {"requested_sources": ["long"], "citations": [], "reply": ""}, CITED]})
    app = application(tmp_path, model)
    conversation = replace(app.engine.start(), active=(ActiveSource(id="long"),))
    await app.engine.respond(conversation, "why am i so tired and cant sleep")
    first, second = [one.messages[-1].content for one in model.prompts if one.role == "agent"]
    assert 'id="long" excerpt="yes"' in first and "part 8" not in first
    assert 'id="long">' in second and "part 8" in second


async def test_an_agent_that_only_asks_for_sources_never_shows_an_empty_message(tmp_path: Path) -> None:
    """Reaching the limit of source requests ends in the fallback text, not in an empty reply."""
    wants = CITED | {
        "requested_sources": ["voices", "sleep", "nothing"],
        "citations": [],
        "basis": "none",
        "reply": "",
    }
    engine = engine_over(tmp_path, scripted({"agent": wants}))
    turn = await engine.respond(engine.start(), "Tell me about sleep")
    assert turn.review.outcome is Outcome.FALLBACK and "I would rather say so" in turn.reply.text


async def test_an_invalid_citation_is_sent_back_once(tmp_path: Path) -> None:
    """A citation of a source that was not in context is a retry with the reason, then the fallback."""
    wrong = CITED | {"citations": ["invented"]}
    model = scripted({"agent": [wrong, CITED]})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.reply.text == CITED["reply"] and turn.review.failed_checks
    again = engine_over(tmp_path, scripted({"agent": wrong}))
    stubborn = await again.respond(again.start(), "I cannot sleep, what helps?")
    assert stubborn.review.outcome is Outcome.FALLBACK and stubborn.reply.citations == ()


async def test_a_draft_is_cleaned_before_anybody_reads_it(tmp_path: Path) -> None:
    """Invisible and direction-changing characters of a draft, and of a repaired one, reach neither judges nor reader."""
    spelt = CITED | {"reply": "A fixed time \u202efor\u202c going to b\u200bed can help."}
    model = scripted({"agent": spelt})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.reply.text == CITED["reply"] and turn.review.outcome is Outcome.ACCEPTED
    repaired = REFINED | {"reply": "Sleep often\u2067 changes with schizophrenia."}
    script = {"refiner": repaired, "preliminary": [DOUBT, ACCEPT], "source_fidelity_chief": rejection()}
    again = engine_over(tmp_path, scripted(script))
    turn = await again.respond(again.start(), "I cannot sleep, what helps?")
    assert turn.review.outcome is Outcome.REFINED and turn.reply.text == REFINED["reply"]


@pytest.mark.parametrize("name", ["agent", "refiner", "role_and_tone_chief", "urgency"])
async def test_no_sentence_of_a_prompt_is_shown(tmp_path: Path, name: str) -> None:
    """A reply that repeats a sentence of a prompt's system part, in whatever punctuation, ends in the fallback."""
    prompt = shipped_parts()["prompts"].get(name).instructions
    told = [one for one in sentences(prompt) if len(one.split()) >= 9 and "{" not in one]
    leak = CITED | {"citations": [], "basis": "none", "reply": f"I follow this: {told[0].upper()}"}
    engine = engine_over(tmp_path, scripted({"agent": leak}))
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.review.outcome is Outcome.FALLBACK
    assert any("instructions" in reason for reason in turn.review.failed_checks)


async def test_general_knowledge_is_refused_on_high_stakes(tmp_path: Path) -> None:
    """On a high-stakes topic an unsourced answer is sent back although it carries its disclaimer."""
    general = CITED | {
        "citations": [],
        "basis": "general",
        "reply": "My sources do not cover it. In general cannabis is relaxing. Please check with your doctor.",
    }
    decline = CITED | {
        "citations": [],
        "basis": "none",
        "reply": "My sources do not cover that. Your doctor can help.",
    }
    model = scripted({"agent": [general, decline]})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), "Is cannabis ok for sleep?")
    assert turn.reply.text == decline["reply"]
    assert any("high-stakes" in reason for reason in turn.review.failed_checks)


async def test_an_urgent_message_asks_no_model_at_all(tmp_path: Path) -> None:
    """Explicit words of danger are answered with the referral, as people see it, without a model call."""
    model = scripted({})
    engine = engine_over(tmp_path, model)
    turn = await engine.respond(engine.start(), "I am going to kill myself tonight")
    assert turn.urgency.level == "urgent" and model.prompts == []
    assert turn.review.outcome is Outcome.FIXED and "112" in turn.reply.text


async def test_the_urgency_model_replaces_a_draft_that_is_still_being_written(tmp_path: Path) -> None:
    """When the urgency judge says urgent, the turn ends with the fixed text at once, whatever the draft."""
    slow = ScriptedModel(lambda prompt: CITED, latency=30)
    quick = scripted({"urgency": CALM | {"level": "urgent"}})

    class Split:
        async def complete(self, prompt: Any, ledger: Any) -> Completion:
            return await (quick if prompt.role == "urgency" else slow).complete(prompt, ledger)

    app = application(tmp_path, Split())  # type: ignore[arg-type]
    turn = await asyncio.wait_for(app.engine.respond(app.engine.start(), "the cat goes to my sister"), timeout=5)
    assert turn.urgency.level == "urgent" and turn.review.outcome is Outcome.FIXED


TAKEN_UP = "That is true, I am a program. What you wrote is serious. Please let a person help you now."
"""A reaction to what is said after the referral."""


async def _after_the_referral(folder: Path, said: str, **script: Any) -> tuple[Turn, str]:
    """The turn after danger was told to a judge and the whole referral shown, and the line that stays."""
    reaction = CITED | {"citations": [], "basis": "none", "reply": TAKEN_UP}
    model = scripted({"urgency": CALM | {"level": "urgent"}, "agent": reaction, **script})
    engine = engine_over(folder, model)
    told = await engine.respond(engine.start(), "the cat goes to my sister")
    assert told.help is Help.REFERRAL and TAKEN_UP not in told.reply.text
    return await engine.respond(told.conversation, said), engine.referrals.choose(None, "en").repeated()


async def test_what_is_said_after_the_referral_is_taken_up_above_a_line_with_contacts(tmp_path: Path) -> None:
    """While danger stays told, a judged reaction of the agent comes first, the contacts and the question of safety below it."""
    turn, line = await _after_the_referral(tmp_path, "it does not matter, you are only a computer")
    said, below = turn.reply.text.split("\n\n")
    assert said == TAKEN_UP and below != line
    assert "112" in below and below.endswith("Are you safe right now?")
    assert turn.help is Help.BRIEF and turn.urgency.level == "urgent" and turn.offers == ()
    assert turn.conversation.danger.told == 0


@pytest.mark.parametrize(
    ("script", "fixed"),
    [({}, False), ({"agent": ModelUnavailable()}, True), ({"preliminary": DOUBT}, True)],
    ids=["told by the agent", "no agent", "doubted by one"],
)
async def test_who_asks_about_the_service_after_the_referral_is_told_above_the_line(
    tmp_path: Path, script: dict[str, Any], fixed: bool
) -> None:
    """While danger stays told, what is kept is answered by the agent from what is true, in fixed words where it cannot be asked,
    or a judge had a doubt, and the contacts stand below."""
    turn, line = await _after_the_referral(tmp_path, "do you save this?", **script)
    assert (turn.service == "memory") is fixed and "112" in turn.reply.text and turn.reply.text != line
    assert (TAKEN_UP in turn.reply.text) is not fixed
    assert turn.help is Help.BRIEF and turn.reply.text.endswith("Are you safe right now?")


@pytest.mark.parametrize(
    "script",
    [
        {"preliminary": DOUBT, "role_and_tone_chief": rejection(), "refiner": ModelUnavailable()},
        {"preliminary": DOUBT, "role_and_tone_chief": rejection() | {"decision": "WARNING"}},
        {"preliminary": DOUBT | {"decision": "WARNING"}, "role_and_tone_chief": rejection() | {"decision": "WARNING"}},
        {"preliminary": DOUBT},
        {"agent": ModelUnavailable()},
    ],
    ids=["rejected", "stopped and doubted", "doubted twice", "stopped by one", "no agent"],
)
async def test_a_reaction_that_nobody_has_accepted_leaves_the_line_alone(
    tmp_path: Path, script: dict[str, Any]
) -> None:
    """Where the reaction is rejected, doubted or not there, the line of the referral is all that is shown."""
    turn, line = await _after_the_referral(tmp_path, "it does not matter, you are only a computer", **script)
    assert turn.reply.text == line and turn.help is Help.BRIEF


async def test_explicit_danger_after_the_referral_is_never_answered_by_a_model(tmp_path: Path) -> None:
    """Explicit words of danger get the line of the referral at once, also a moment after the whole text."""
    turn, line = await _after_the_referral(tmp_path, "I am going to kill myself tonight")
    assert turn.reply.text == line and turn.usage.llm_calls == 0


async def test_a_judge_that_fails_after_the_referral_leaves_the_line_alone(tmp_path: Path) -> None:
    """Where no judge has read the message after a disclosure, the line alone is shown."""
    urgent = CALM | {"level": "urgent"}
    turn, line = await _after_the_referral(tmp_path, "never mind then", urgency=[urgent, ModelUnavailable()])
    assert turn.reply.text == line and turn.help is Help.BRIEF


async def test_the_agent_is_told_that_danger_was_told(tmp_path: Path) -> None:
    """After a disclosure the agent's prompt asks for a short reaction, and before one it does not."""
    model = scripted({"urgency": [CALM | {"level": "urgent"}, CALM]})
    engine = engine_over(tmp_path, model)
    told = await engine.respond(engine.start(), "the cat goes to my sister")
    turn = await engine.respond(told.conversation, "what helps me sleep?")
    first, *_, last = [one.messages[-1].content for one in model.prompts if one.role == "agent"]
    assert "danger was told a moment ago" in last and "danger was told a moment ago" not in first
    assert turn.help is Help.LINE


async def test_handoff_needs_consent_and_answers_the_question_there(tmp_path: Path) -> None:
    """Another assistant is offered, takes over on yes with the question as asked, and not on no."""
    app = application(tmp_path)
    engine = app.engine
    asked = await engine.respond(engine.start(), "I can't sleep at night")
    assert asked.conversation.offer == HandoffOffer(to="sleep", question="I can't sleep at night")
    assert asked.conversation.assistant == "schizophrenia"
    agreed = await engine.respond(asked.conversation, "Yes please")
    assert agreed.conversation.assistant == "sleep" and agreed.conversation.offer is None
    assert agreed.reply.text.startswith("You are now with the sleep assistant") and (
        agreed.reply.citations or agreed.offers
    )
    refused = await engine.respond(asked.conversation, "no thanks")
    assert refused.conversation.assistant == "schizophrenia" and refused.conversation.offer is None


async def test_an_unanswered_offer_is_dropped(tmp_path: Path) -> None:
    """A new question instead of yes or no is answered, and the old offer is gone."""
    engine = engine_over(tmp_path)
    offered = Conversation(assistant="schizophrenia", offer=HandoffOffer(to="sleep", question="x"))
    turn = await engine.respond(offered, "What are the voices?")
    assert turn.conversation.assistant == "schizophrenia" and turn.reply.citations == ("voices",)


@pytest.mark.parametrize("message", ["", "   ", "\u200b\u200d\u202e", "🙂🙂", "\x00\x01\x02", "?!…", "\ud800"])
async def test_a_message_without_words_gets_a_fixed_answer(tmp_path: Path, message: str) -> None:
    """Nothing, invisible characters, symbols or emoji alone are answered kindly and cost no model call."""
    model = scripted({})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), message)
    assert turn.reply.text and turn.review.outcome is Outcome.FIXED and model.prompts == []


async def test_a_very_long_message_is_shortened_and_the_person_is_told(tmp_path: Path) -> None:
    """Of 100,000 characters the first part is read, and the reply says so."""
    turn = await (engine := engine_over(tmp_path)).respond(engine.start(), "I cannot sleep. " * 6250)
    assert turn.reply.text.startswith("Your message was very long")
    assert len(turn.conversation.messages[-2].content) <= 4000


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.text(max_size=300))
async def test_no_text_makes_a_turn_fail(tmp_path: Path, message: str) -> None:
    """Any text at all gets a non-empty reply that has been judged or is a fixed text."""
    engine = engine_over(tmp_path)
    turn = await engine.respond(engine.start(), message)
    assert turn.reply.text.strip()
    assert turn.review.stages or turn.review.outcome in {Outcome.FIXED, Outcome.FALLBACK}


@pytest.mark.parametrize("wish", [Wish.SIMPLER, Wish.SHORTER, Wish.EXAMPLE, Wish.MORE])
async def test_every_other_form_of_an_answer_is_judged(tmp_path: Path, wish: Wish) -> None:
    """Simpler, shorter, example and more go through the same judges as any reply, unless they are a fixed text."""
    for model in (None, scripted({})):
        engine = engine_over(tmp_path, model)
        first = await engine.respond(engine.start(), "I cannot sleep, what helps?")
        turn = await engine.respond(first.conversation, "", wish=wish)
        assert turn.reply.text
        assert turn.review.stages or (model is None and turn.review.outcome is Outcome.FIXED)


async def test_whole_context_puts_every_source_into_the_static_first_message(tmp_path: Path) -> None:
    """With `context: whole` the sources stand in the first message, none in the last, and no index to ask for more by."""
    model = scripted(
        {"agent": CITED | {"citations": ["voices"], "reply": "Voices are sounds that others do not hear."}}
    )
    app = application(tmp_path, model)
    assistant = app.engine.assistants["schizophrenia"]
    team = assistant.teams[0]
    whole = replace(
        assistant,
        settings=assistant.settings.model_copy(update={"context": "whole"}),
        teams=(replace(team, agent=replace(team.agent, whole=True)),),
    )
    engine = replace(app.engine, assistants={"schizophrenia": whole})
    turn = await engine.respond(engine.start(), "Tell me about sleep")
    prompt = next(one for one in model.prompts if one.role == "agent")
    assert "Voices are sounds" in prompt.messages[0].content and "Voices are sounds" not in prompt.messages[-1].content
    assert "<index>" not in prompt.messages[0].content and "requested_sources" not in prompt.messages[0].content
    assert turn.reply.citations == ("voices",) and set(turn.sources_in_context) == {"sleep", "voices"}


async def test_static_text_comes_first_and_is_the_same_every_turn(tmp_path: Path) -> None:
    """The first message of the agent's prompt does not change between turns, so that provider caches hit."""
    model = scripted({})
    engine = engine_over(tmp_path, model)
    first = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    reminded = replace(first.conversation, reminders=(Reminder(judge="x", text="Be shorter."),))
    await engine.respond(reminded, "What are the voices?")
    prompts = [prompt for prompt in model.prompts if prompt.role == "agent"]
    assert prompts[0].messages[0] == prompts[1].messages[0]
    assert [one.role for one in prompts[1].messages] == ["system", "user", "assistant", "user"]


async def test_a_cancelled_turn_leaves_no_task_behind(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a turn ends the draft and the urgency check with it."""
    engine = engine_over(tmp_path, ScriptedModel(lambda prompt: CITED, latency=30))
    task = asyncio.ensure_future(engine.respond(engine.start(), "I cannot sleep"))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [one for one in asyncio.all_tasks() if one is not asyncio.current_task()] == []


async def test_basis_and_citation_travel_with_the_reply(tmp_path: Path) -> None:
    """The reply says what it rests on, and history keeps the citation."""
    engine = engine_over(tmp_path)
    turn = await engine.respond(engine.start(), "What are the voices?")
    assert turn.reply.basis is Basis.SOURCE
    assert turn.conversation.messages[-1] == Message(
        role=Role.ASSISTANT, content=turn.reply.text, citations=("voices",)
    )


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        (("my son drinks nothing any more", "since yesterday", "he only stares at the wall"), ("third", "again")),
        (("my mum took too many of her pills", "she is asleep now", "i cant wake her"), ("third", "again")),
        (("I want to kill myself", "i swallowed the whole box an hour ago", "i feel sleepy"), ("medical", "again")),
    ],
)
async def test_a_body_in_danger_is_heard_through_the_conversation(
    said: tuple[str, ...], begins: tuple[str, str]
) -> None:
    """What goes on about a body gets what is said of one, about who was meant, and whoever tells more is told whom to call and
    that these say what to do."""
    engine = shipped_engine()
    referral, conversation, replies = engine.referrals.choose(None, "en"), engine.start(), []
    for one in said:
        turn = await engine.respond(conversation, one)
        conversation, replies = turn.conversation, [*replies, turn.reply.text]
    expected = {
        "medical": referral.texts.openings[Kind.MEDICAL],
        "third": referral.texts.opening_about,
        "again": referral.texts.repeat_medical.partition("{")[0],
    }
    for reply, begin in zip(replies[1:], begins, strict=True):
        assert reply.startswith(expected[begin])


async def test_who_was_only_asked_and_tells_more_is_told_whom_to_call() -> None:
    """After the check question "she did, the box is empty" is no word of relief."""
    engine = shipped_engine()
    asked = await engine.respond(engine.start(), "i think my mum took too many of her tablets")
    turn = await engine.respond(asked.conversation, "she did, the box is empty")
    assert asked.help is Help.QUESTION and turn.help is Help.REFERRAL


async def test_help_that_comes_later_is_heard_as_help() -> None:
    """What would be a yes just after the check question ("she took them") is word of help two turns later, with the contacts."""
    engine = shipped_engine()
    conversation, turn = engine.start(), None
    for said in ("i cant do this any more", "i have the tablets here", "my sister is here now, she took them"):
        turn = await engine.respond(conversation, said)
        conversation = turn.conversation
    assert turn is not None and turn.help is Help.LINE and "112" in turn.reply.text


async def test_what_follows_a_question_about_a_body_gets_no_passage_unless_it_asks() -> None:
    """ "She is at school", after tablets, is no wish to read of schools; a question is answered, and both have the contacts."""
    engine = shipped_engine()
    told = await engine.respond(engine.start(), "my daughter took 12 paracetamol last night, she seems fine")
    assert told.help is Help.QUESTION and told.conversation.danger.kind is Kind.MEDICAL
    for said, answered in (("she is at school", False), ("what are the signs of an overdose?", True)):
        turn = await engine.respond(told.conversation, said)
        assert turn.help is Help.LINE and "112" in turn.reply.text and bool(turn.reply.citations) is answered


async def test_who_asks_what_is_kept_after_a_referral_is_told_so_without_a_model_too() -> None:
    """After the referral a question about the service is answered truly, above the contacts and the question of safety."""
    engine = shipped_engine()
    for said, asks in (
        ("I want to kill myself", "who can read what i write here?"),
        ("ich kann nicht mehr, ich will nicht mehr leben", "wer liest das hier eigentlich mit"),
    ):
        told = await engine.respond(engine.start(), said)
        turn = await engine.respond(told.conversation, asks)
        assert told.help is Help.REFERRAL and turn.help is Help.BRIEF and turn.service == "who_reads"
        assert "112" in turn.reply.text and turn.reply.text.endswith("?")


async def test_only_who_says_that_it_is_over_is_thanked_for_saying_how_things_are() -> None:
    """Whoever goes on while a danger is open is told when to call, whether it sounds like danger or not; who says that help has
    come is not told again."""
    engine = shipped_engine()
    told_when = engine.referrals.choose(None, "en").noted_open()
    for said, goes_on in (
        (("my daughter took 12 paracetamol last night, she seems fine", "i cannot stop crying"), True),
        (("I want to kill myself", "she is at work till six", "sorry"), True),
        (("my dad has a knife and says he will kill us", "police came, he is in hospital now, we are safe"), False),
    ):
        conversation = engine.start()
        for one in said:
            turn = await engine.respond(conversation, one)
            conversation = turn.conversation
        assert turn.help is Help.LINE and "112" in turn.reply.text
        assert (turn.reply.text == told_when) is goes_on


async def test_getting_rid_of_it_is_no_wish_to_delete_a_chat() -> None:
    """What goes on from voices is about voices; of the chat it has to speak itself."""
    engine = shipped_engine()
    told = await engine.respond(engine.start(), "i hear voices")
    turn = await engine.respond(told.conversation, "how do i get rid of it")
    assert turn.service != "deletes" and (turn.reply.citations or turn.offers)
    assert (await engine.respond(told.conversation, "how do i delete this chat")).service == "deletes"


async def test_nobody_is_asked_about_their_own_life_who_writes_of_another() -> None:
    """The check question about a father asks about somebody too, also where it is not plain who is in danger."""
    engine = shipped_engine()
    turn = await engine.respond(engine.start(), "my father is talking about ending his life")
    checks = engine.referrals.choose(None, "en").texts.checks
    assert turn.help is Help.QUESTION and checks[Kind.UNCLEAR] in turn.reply.text


async def test_who_may_tell_of_a_belief_gets_kind_words_and_no_list_of_illnesses() -> None:
    """Where nothing is sure, what may be a belief told as a fact is answered with who may help; what a relative tells of one,
    and a plain question, as ever."""
    engine = shipped_engine()
    belief = engine.assistants[engine.default].texts.belief
    told = "my cat knows what i think and tells the postman"
    urgency = engine.assess_now(engine.start(), told)
    assert urgency.belief_likely and not urgency.delusional_framing
    first = await engine.respond(engine.start(), told)
    assert first.reply.text.startswith(belief) and not first.offers
    for other in ("my brother believes that his cat knows what he thinks and tells the postman", "what are delusions"):
        assert belief not in (await engine.respond(engine.start(), other)).reply.text
