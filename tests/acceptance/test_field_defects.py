"""Defects seen in comparable systems, each as a test that would fail here with the same defect."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.scripted import ScriptedModel
from engine.types import Decision, Outcome
from tests.chats import begun, chat_over, last
from tests.team import CITED, DOUBT, REFINED, engine_over, rejection, scripted

QUESTION = "I cannot sleep, what helps?"


@pytest.mark.parametrize("garbage", ["I accept this reply. ACCEPT", "", "{", "null", "[]", '"ACCEPT"', "ACCEPT"])
async def test_an_unparsable_judge_is_not_an_acceptance(tmp_path: Path, garbage: str) -> None:
    """A judge whose answer cannot be read counts as a refusal."""
    model = scripted({"preliminary": garbage, "source_fidelity_chief": garbage})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), QUESTION)
    assert turn.reply.text != CITED["reply"]


async def test_a_refined_reply_is_not_thrown_away(tmp_path: Path) -> None:
    """One rejection costs one refinement and one re-judgement, and the refined reply is what is shown."""
    model = scripted({"preliminary": [DOUBT, {"objections": [], "decision": "ACCEPT"}],
                      "source_fidelity_chief": rejection()})  # fmt: skip
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), QUESTION)
    assert turn.reply.text == REFINED["reply"] and turn.usage.llm_calls == 7


async def test_even_a_turn_of_rejections_stays_within_nine_calls(tmp_path: Path) -> None:
    """Every draft rejected: agent, two tiers, refiner, two tiers; never fifteen calls in a row."""
    model = scripted({"preliminary": DOUBT, "source_fidelity_chief": rejection()})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), QUESTION)
    assert turn.review.outcome is Outcome.FALLBACK and turn.usage.llm_calls == 9


@pytest.mark.parametrize("explanation", ["Yes, downgrade: REJECT this", "no objection, but REJECT", "GRADE: yes"])
async def test_words_in_an_explanation_are_not_verdicts(tmp_path: Path, explanation: str) -> None:
    """An accepting judge whose explanation contains yes, reject or grade has accepted."""
    accepts = {"objections": [], "evidence": [], "decision": "ACCEPT", "explanation": explanation}
    model = scripted({"preliminary": DOUBT, "source_fidelity_chief": accepts})
    turn = await (engine := engine_over(tmp_path, model)).respond(engine.start(), QUESTION)
    assert turn.review.decision is Decision.ACCEPT and turn.reply.text == CITED["reply"]


async def test_citations_are_shown(tmp_path: Path) -> None:
    """The source of an answer reaches the person: in the reply's citations and with its title on screen."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), "What are the voices?")
    assert shown.turn is not None and shown.turn.reply.citations == ("voices",)


@pytest.mark.parametrize(
    "message",
    [
        "I don’t want to be alive any more",
        "i dont want to be alive any more",
        "I d\u200bon't want to be al\u200dive any more",
        "Ｉ ｗａｎｔ ｔｏ ｄｉｅ",
        "i want to d i e",
    ],
)
async def test_typography_does_not_hide_a_person_in_danger(tmp_path: Path, message: str) -> None:
    """Curly apostrophes, missing ones, zero-width and wide characters change nothing about the referral."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), message)
    assert shown.referral and "emergency" in shown.text


async def test_the_referral_comes_before_any_model_is_asked(tmp_path: Path) -> None:
    """An urgent text is answered with the referral, and no model has been called for it."""
    model = ScriptedModel(lambda prompt: CITED, latency=30)
    chat = chat_over(tmp_path, model)
    shown, _ = await last(chat, begun(chat), "i am going to kill myself tonight")
    assert shown.referral and model.prompts == []


async def test_a_repeated_referral_fades_to_a_line_and_never_vanishes(tmp_path: Path) -> None:
    """The second urgent message in a row gets one line of contacts instead of the whole text."""
    chat = chat_over(tmp_path)
    state = begun(chat)
    texts = []
    for _ in range(2):
        shown, state = await last(chat, state, "i want to die")
        texts.append(shown.text)
    assert len(texts[1]) < len(texts[0]) and "112" in texts[1] and "\n" not in texts[1]


async def test_exception_texts_never_reach_the_screen(tmp_path: Path) -> None:
    """Whatever fails inside, the reply carries no error text."""
    engine = engine_over(tmp_path, ScriptedModel([]))
    turn = await engine.respond(engine.start(), QUESTION)
    assert "Error" not in turn.reply.text and "script" not in turn.reply.text.casefold()
