"""Somebody whom an answer worried, by keyboard on a phone: the report, where help is, who can be reached, a pause."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.browser.conftest import Visiting
from tests.browser.served import Served
from tests.browser.test_accessibility import violations
from tests.browser.visitor import CRISIS, PHONE, QUESTION, Visitor
from tests.people import CORRECTIONS, NAME, PEOPLE, config_with

CORRECTED = CORRECTIONS.replace("source: sleep", "source: causes")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The page of an operator with people behind it, who has corrected something."""
    folder = tmp_path_factory.mktemp("page")
    settings = {"config_folder": config_with(folder / "own" / "config", people=PEOPLE, corrections=CORRECTED)}
    async with Served(folder=folder, settings=settings) as one:
        yield one


async def pressed(anna: Visitor, selector: str, kind: str = "note", *, back: bool = False) -> str:
    """Go there by Tab and press Enter; the words of what comes. The focus is on the screen and not lost."""
    before = await anna.page.locator(f".entry.{kind}").count()
    await anna.tab_to(selector, back=back)
    await anna.keys("Enter")
    said = await anna.next(before, kind)
    await anna.focus()
    return said


async def test_a_report_by_keyboard(visit: Visiting) -> None:
    """Button, reason, contacts and people; nothing is wider than a phone, and axe finds nothing."""
    anna = await visit(viewport=PHONE, bypass_csp=True)
    await anna.begin()
    await anna.ask(QUESTION)
    asked = await pressed(anna, ".actions button[value^='report:']", back=True)
    assert "What was it about this answer?" in asked and await anna.width_to_spare() <= 0
    said = await pressed(anna, ".actions button[value$=':unwell']")
    assert "Only a count is kept" in said and "999" in said and NAME in said and "22 33 44 56" in said
    assert "It missed that I am not well" in " ".join(await anna.entries("you"))
    assert await anna.width_to_spare() <= 0 and await violations(anna.page) == []


async def test_a_pause_by_keyboard(visit: Visiting) -> None:
    """Paused, asked in vain, in danger and shown help, and on again: all without a mouse."""
    anna = await visit(viewport=PHONE)
    await anna.begin()
    await anna.ask(QUESTION)
    assert "quiet here for an hour" in await pressed(anna, ".pause button")
    assert "still paused" in await anna.ask(QUESTION, "note")
    assert "999" in await anna.ask(CRISIS, "referral")
    await anna.ask(QUESTION, "note")
    assert "I am back" in await pressed(anna, ".actions button[value^='resume:']", back=True)
    # What was told in the pause stays told: the next answer is help, and asks.
    assert "Are you safe right now?" in await anna.ask(QUESTION, "referral")


async def test_people_where_help_is(visit: Visiting) -> None:
    """In the help of every page and on the page of contacts, numbers and addresses are reached by Tab; without JavaScript too."""
    for scripts in (True, False):
        anna = await visit(viewport=PHONE, bypass_csp=scripts, java_script_enabled=scripts)
        await anna.go("/sources")
        if scripts:
            await anna.tab_to("#help summary")
            await anna.keys("Enter")
            await anna.tab_to(".help-panel .people a.number")
            await anna.tab_to(".help-panel .people a.mail")
        await anna.go("/people")
        assert anna.page.url.endswith("/crisis")
        shown = await anna.page.locator("main .people").inner_text()
        assert NAME in shown and "Open at any hour." in shown and "What they cannot do" in shown
        number = anna.page.locator("main .people a.number")
        assert await number.get_attribute("href") == "tel:22334456"
        if scripts:
            assert await anna.width_to_spare() <= 0 and await violations(anna.page) == []


async def test_what_became_of_reports_is_told(visit: Visiting) -> None:
    """On the feedback page, in the reader's language; small numbers are not told, and the link leads to the text."""
    anna = await visit(viewport=PHONE, bypass_csp=True)
    await anna.go("/feedback?lang=de")
    shown = await anna.page.locator(".results").inner_text()
    assert "höchstens ein paar" in shown and "2026-06-10" in shown and "Die Stunden Schlaf waren falsch." in shown
    assert await violations(anna.page) == []
    await anna.tab_to(".results a")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/sources/schizophrenia/causes*")
