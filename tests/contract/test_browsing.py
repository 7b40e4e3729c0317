"""One suite for every adapter: what is offered can be tapped, and every topic is reached by buttons alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.test_adapters import adapters, begun
from tests.drivers.protocol import Driver
from tests.shelves import SECTIONS, shelves

UNSURE = "does wine do anything?"
NONE, ALL, TOO_OLD = "None of these", "All topics", "That button belongs to an earlier answer."
OFFER = {name: one[2] for name, one in SECTIONS.items()}
TEXT = {name: one[1] for name, one in SECTIONS.items()}


@adapters
async def test_a_message_that_may_mean_several_things_brings_questions_to_tap(
    tmp_path: Path, kind: type[Driver]
) -> None:
    """Nothing is quoted; each question is a button in full, and the last button says that none is meant."""
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        shown = " ".join(await driver.say(UNSURE))
        assert "I am not sure which of these you mean" in shown and not any(text in shown for text in TEXT.values())
        *offered, last = driver.labels()
        assert {OFFER["with_medicine"], OFFER["and_voices"]} <= set(offered) and len(offered) <= 4 and last == NONE


@adapters
@pytest.mark.parametrize("section", ["with_medicine", "and_voices"])
async def test_a_question_that_is_tapped_is_answered_from_its_own_section(
    tmp_path: Path, kind: type[Driver], section: str
) -> None:
    """Whichever is tapped, its section is quoted, and no other one."""
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        await driver.say(UNSURE)
        shown = " ".join(await driver.press(OFFER[section]))
        assert TEXT[section] in shown and not any(text in shown for name, text in TEXT.items() if name != section)


@adapters
async def test_none_of_these_leads_through_the_topics_to_a_section(tmp_path: Path, kind: type[Driver]) -> None:
    """Categories, the titles of one, the questions of one title, an answer: with no word written; and back to the top."""
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        await driver.say(UNSURE)
        await driver.press(NONE)
        assert driver.labels() == ["Nights", "Days"]
        await driver.press("Days")
        assert driver.labels() == ["Hearing voices", "Alcohol", ALL]
        await driver.press("Alcohol")
        assert driver.labels() == [*OFFER.values(), ALL]
        await driver.press(ALL)
        assert driver.labels() == ["Nights", "Days"]
        await driver.press("Days")
        await driver.press("Alcohol")
        assert TEXT["cutting_down"] in " ".join(await driver.press(OFFER["cutting_down"]))


@adapters
async def test_a_button_from_before_a_restart_is_answered(tmp_path: Path, kind: type[Driver]) -> None:
    """What a question's button stands for is in the button: no process has to remember it."""
    if not kind.restarts:
        pytest.skip("a terminal's conversation ends with its process")
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        await driver.say(UNSURE)
        await driver.restart()
        assert TEXT["and_voices"] in " ".join(await driver.press(OFFER["and_voices"]))


@adapters
async def test_a_button_of_a_section_that_is_gone_says_so(tmp_path: Path, kind: type[Driver]) -> None:
    """After the knowledge base has changed, its button is too old: one calm sentence, and nothing else is quoted for it."""
    if not kind.restarts:
        pytest.skip("a terminal's conversation ends with its process")
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        await driver.say(UNSURE)
        shelves(tmp_path / "kb", without=["and_voices"])
        await driver.restart()
        shown = " ".join(await driver.press(OFFER["and_voices"]))
        assert TOO_OLD in shown and not any(text in shown for text in TEXT.values())


@adapters
async def test_a_topic_that_is_gone_leads_back_to_the_topics(tmp_path: Path, kind: type[Driver]) -> None:
    """A category's button outlives its category: it says that there is no text, and shows the way to those there are."""
    if not kind.restarts:
        pytest.skip("a terminal's conversation ends with its process")
    shelves(tmp_path / "kb")
    async with kind(tmp_path) as driver:
        await begun(driver)
        await driver.say(UNSURE)
        await driver.press(NONE)
        manifest = tmp_path / "kb" / "manifest.yaml"
        manifest.write_text(manifest.read_text(encoding="utf-8").replace("id: days", "id: weeks"), encoding="utf-8")
        await driver.restart()
        assert "I have no text about that" in " ".join(await driver.press("Days"))
        assert driver.labels() == [ALL]
