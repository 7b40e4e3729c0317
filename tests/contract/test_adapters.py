"""One suite for every adapter: the same conversation in, the same calls to the engine, the same care out.

A new adapter joins with a driver in tests/drivers/ and a row in DRIVERS.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedModel
from tests.drivers import DRIVERS
from tests.drivers.console import ConsoleDriver
from tests.drivers.protocol import Driver
from tests.team import CITED, scripted

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
