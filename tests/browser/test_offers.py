"""What is offered on the page: pressed by keyboard, read on the narrowest phone, and used without JavaScript."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Visiting
from tests.browser.test_keyboard import begun
from tests.browser.visitor import Visitor

NARROW = {"width": 320, "height": 640}
OFFERS = ".entry:last-child .actions button"


async def labels(anna: Visitor) -> list[str]:
    """The buttons below the newest entry."""
    return await anna.page.locator(OFFERS).all_inner_texts()


async def fits(anna: Visitor) -> None:
    """Nothing is cut off or scrolls sideways, and every button can be hit by a finger."""
    assert await anna.width_to_spare() <= 0
    for one in await anna.page.locator(OFFERS).all():
        box = await one.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"] and box["height"] >= 44
        assert await one.evaluate("one => one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight")


async def test_topics_down_to_a_section_by_keyboard(visit: Visiting) -> None:
    """Every step is reached by Tab and pressed by Enter; the answer comes, and the focus is never lost."""
    anna = await visit(viewport=NARROW)
    await begun(anna)
    await anna.tab_to(".examples button[value='topics::']", back=True)
    await anna.keys("Enter")
    await anna.next(0, "note")
    for number, value in ((1, "category::medicine"), (2, "topic::clozapine")):
        await anna.tab_to(f".actions button[value='{value}']")
        await anna.keys("Enter")
        await anna.next(number, "note")
    await anna.tab_to(f"{OFFERS}[value^='section::']")
    question = str((await anna.focus())["text"])
    await anna.keys("Enter")
    assert "clozapine" in (await anna.next(0, "answer")).casefold()
    assert question in (await anna.entries("you"))[-1]


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "nb"])
async def test_every_step_fits_the_narrowest_phone(visit: Visiting, language: str) -> None:
    """At 320 pixels no page of topics or questions is cut or scrolls sideways, in any language."""
    anna = await visit(viewport=NARROW)
    await anna.go("/")
    await anna.page.select_option("#language", language)
    await anna.page.click(".begin .primary")
    await anna.listening()
    for number, value in enumerate(("topics::", "category::side_effects", "topic::antipsychotic_side_effects")):
        await anna.page.click(f"button[value='{value}']")
        await anna.next(number, "note")
        await fits(anna)


async def test_what_is_offered_works_without_javascript(visit: Visiting) -> None:
    """Each button is a form that is sent: topics, a category, a title, a question, its answer."""
    anna = await visit(viewport=NARROW, java_script_enabled=False)
    await anna.go("/")
    await anna.page.click(".begin .primary")
    await anna.listening()
    for value in ("topics::", "category::hard_times", "topic::grief"):
        await anna.page.click(f"button[value='{value}']")
        await anna.page.wait_for_url(re.compile("#newest"))
        await fits(anna)
    question = (await labels(anna))[0]
    await anna.page.get_by_role("button", name=question).click()
    await anna.page.locator(".entry.answer").wait_for()
    await fits(anna)
    assert question in (await anna.entries("you"))[-1]
