"""One suite for every adapter: the same conversation in, the same calls to the engine, the same care out.

A new adapter joins with a driver in tests/drivers/ and a row in DRIVERS.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.exceptions import ModelUnavailable
from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedModel
from tests.drivers import DRIVERS
from tests.drivers.console import ConsoleDriver
from tests.drivers.protocol import Driver
from tests.team import CALM, CITED, scripted

URGENT = "I want to kill myself tonight"
TIRED = "why am I so tired?"
ANSWER = "A fixed time for going to bed can help."

adapters = pytest.mark.parametrize("kind", list(DRIVERS.values()), ids=list(DRIVERS))


async def begun(driver: Driver) -> None:
    """The disclaimer has been read and agreed to, where there is one."""
    if driver.asks_consent:
        await driver.say("hello")
        await driver.use("consent")


def calls(model: ScriptedModel) -> Counter[tuple[str, str]]:
    """What the model was asked: roles and words, in whichever order those were that run side by side."""
    return Counter((prompt.role, " ".join(one.content for one in prompt.messages)) for prompt in model.prompts)


async def conversation(driver: Driver) -> list[list[str]]:
    """A question, another form of its answer, a further question."""
    shown = [] if driver.asks_consent else [await driver.say("hello")]
    if driver.asks_consent:
        await driver.say("hello")
        shown.append(await driver.use("consent"))
    return [
        *shown,
        await driver.say(TIRED),
        await driver.use("simpler"),
        await driver.say("and what helps with sleep?"),
    ]


@adapters
async def test_the_same_conversation_makes_the_same_calls_and_shows_the_same_answers(
    tmp_path: Path, kind: type[Driver]
) -> None:
    """Word for word what the terminal asks of the model is asked here too, consent or not, and no more."""
    known, model = scripted({}), scripted({})
    async with ConsoleDriver(tmp_path / "known", known) as console:
        wanted = await conversation(console)
    async with kind(tmp_path / "this", model) as driver:
        shown = await conversation(driver)
    assert calls(model) == calls(known) and len(model.prompts) > 10
    assert [ANSWER in there[0] for there in wanted] == [False, True, True, True]
    assert all(there[0] in " ".join(here) for here, there in zip(shown, wanted, strict=True))


@adapters
async def test_nothing_is_asked_of_a_model_before_consent(tmp_path: Path, kind: type[Driver]) -> None:
    """Where there is a disclaimer, the first question waits for it; then it is answered without being asked again."""
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        shown = " ".join(await driver.say(TIRED))
        if driver.asks_consent:
            assert "a computer program (an AI)" in shown and not model.prompts
            shown = " ".join(await driver.use("consent"))
        assert ANSWER in shown


@adapters
async def test_words_of_danger_are_answered_with_help_before_anything_else(tmp_path: Path, kind: type[Driver]) -> None:
    """The contacts come first, before consent too; no model has written them, and the answer is not shown."""
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        first = await driver.say(URGENT)
        assert "112" in first[0]
        if driver.asks_consent:
            await driver.use("consent")
        again = await driver.say(URGENT)
        assert "112" in again[0] and ANSWER not in " ".join(again)
        safe = " ".join(await driver.use("safe"))
        assert "112" in safe


def cannot_tell(prompt: Prompt) -> Any:
    """An urgency judge that cannot tell of one message, and finds the others calm."""
    return {**CALM, "level": "concern"} if TIRED in prompt.messages[-1].content else CALM


QUESTION = "are you thinking about ending your life, or is somebody in danger right now?"


@adapters
@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("Yes, show me where to find help", "112"),
        ("No", "I will not keep asking"),
        ("It is about somebody else", "the person you are worried about"),
    ],
)
async def test_a_suspicion_is_answered_and_asked_about_and_each_answer_counts(
    tmp_path: Path, kind: type[Driver], label: str, said: str
) -> None:
    """The answer comes with one question and three buttons; each does what it says, without a model."""
    model = scripted({"urgency": cannot_tell})
    async with kind(tmp_path, model) as driver:
        await begun(driver)
        shown = " ".join(await driver.say(TIRED))
        assert ANSWER in shown and shown.count(QUESTION) == 1
        asked = len(model.prompts)
        assert said in " ".join(await driver.press(label)) and len(model.prompts) == asked


@adapters
async def test_after_a_no_the_question_is_silent_until_somebody_is_sure(tmp_path: Path, kind: type[Driver]) -> None:
    """A typed no ends the asking, explicit words bring the referral, and the next message is not answered past it."""
    async with kind(tmp_path, scripted({"urgency": cannot_tell})) as driver:
        await begun(driver)
        await driver.say(TIRED)
        assert "I will not keep asking" in " ".join(await driver.say("no"))
        shown = " ".join(await driver.say(TIRED))
        assert ANSWER in shown and QUESTION not in shown
        shown = " ".join(await driver.say(URGENT))
        assert "112" in shown and ANSWER not in shown


CAT = "the cat goes to my sister on friday"
TAKEN_UP = "The cat going to your sister on Friday: please say that, too, when you call."


def _judged_urgent(reaction: Any) -> ScriptedModel:
    """A judge who hears danger in a sentence that sounds like none, and what an agent says below the referral."""

    def agent(prompt: Prompt) -> Any:
        last = prompt.messages[-1].content
        return reaction if CAT in last and "shown above your reply" in last else CITED

    def urgency(prompt: Prompt) -> Any:
        return CALM | {"level": "urgent", "kind": "dying"} if CAT in prompt.messages[-1].content else CALM

    return scripted({"urgency": urgency, "agent": agent})


@adapters
async def test_what_was_told_is_taken_up_below_a_referral_that_a_judge_has_asked_for(
    tmp_path: Path, kind: type[Driver]
) -> None:
    """The referral stands first, and the words that were judged are read below it, once."""
    model = _judged_urgent(CITED | {"citations": [], "basis": "none", "reply": TAKEN_UP})
    async with kind(tmp_path, model) as driver:
        await begun(driver)
        shown = " ".join(await driver.say(CAT))
        assert shown.count(TAKEN_UP) == 1 and "112" in shown.partition(TAKEN_UP)[0]
        assert "The contacts stay here in case" in " ".join(await driver.press("It was a question, I am safe"))


@adapters
@pytest.mark.parametrize("reaction", ["this is no json", CITED | {"citations": ["none"]}])
async def test_where_nobody_can_take_it_up_the_referral_stands_alone(
    tmp_path: Path, kind: type[Driver], reaction: Any
) -> None:
    """An agent that talks nonsense, one whose draft the checks refuse: the referral was shown, and the chat goes on."""
    async with kind(tmp_path, _judged_urgent(reaction)) as driver:
        await begun(driver)
        shown = await driver.say(CAT)
        assert "112" in " ".join(shown) and ANSWER not in " ".join(shown)
        assert "112" in " ".join(await driver.say(URGENT))


@adapters
@pytest.mark.parametrize("judge", [ModelUnavailable(), "this is no json"])
async def test_a_judge_that_fails_lets_the_suspicion_be_asked_about(
    tmp_path: Path, kind: type[Driver], judge: Any
) -> None:
    """No judge, or one that talks nonsense: what sounded like danger is asked about, never passed over."""
    async with kind(tmp_path, scripted({"urgency": judge})) as driver:
        await begun(driver)
        shown = " ".join(await driver.say("goodbye everybody, i cannot go on, tonight i end my life and it is over"))
        assert "May I ask you directly" in shown or "112" in shown


@adapters
async def test_the_contacts_are_there_at_any_time(tmp_path: Path, kind: type[Driver]) -> None:
    """/crisis needs no consent and no model."""
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        assert "112" in " ".join(await driver.use("crisis")) and not model.prompts


@adapters
async def test_a_failure_is_one_calm_sentence_and_the_next_question_is_answered(
    tmp_path: Path, kind: type[Driver]
) -> None:
    """An error nobody foresaw shows no trace of itself, and ends nothing."""
    broken = True

    def draft(_: Prompt) -> dict[str, Any]:
        if broken:
            raise RuntimeError("SECRET trace")
        return CITED

    async with kind(tmp_path, scripted({"agent": draft})) as driver:
        broken = False
        await begun(driver)
        broken = True
        shown = " ".join(await driver.say(TIRED))
        assert "omething went wrong on my side" in shown and "SECRET" not in shown and "RuntimeError" not in shown
        broken = False
        assert ANSWER in " ".join(await driver.say(TIRED))


@adapters
async def test_a_flood_is_held_back_and_never_the_referral(tmp_path: Path, kind: type[Driver]) -> None:
    """What is beyond the limit is not answered; the person is told once, and an urgent message is still seen to."""
    if not kind.limits:
        pytest.skip("whoever types in a terminal waits for each answer")
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        await begun(driver)
        asked = len([one for one in model.prompts if one.role == "agent"])
        shown = " ".join(await driver.flood([TIRED] * 20 + [URGENT]))
        assert shown.count("I have several messages from you") == 1 and "112" in shown
        assert len([one for one in model.prompts if one.role == "agent"]) - asked < 15


@adapters
async def test_forgetting_leaves_nothing_of_the_conversation(tmp_path: Path, kind: type[Driver]) -> None:
    """After /forget the next prompt holds no word of what was said before."""
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        await begun(driver)
        await driver.say("MARKER why am I so tired?")
        shown = " ".join(await driver.use("forget"))
        assert "Erased now" in shown or "Forgotten" in shown
        model.prompts.clear()
        await begun(driver)
        await driver.say(TIRED)
        assert model.prompts and not any("MARKER" in words for _, words in calls(model))
