"""Those who sign sources off, in Chromium: by keyboard alone, on a phone, without findings of axe, with and without scripts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.editorial.settings import SourceSettings
from adapters.editorial.staff import StaffRole
from tests.browser.conftest import Visiting
from tests.browser.served import Served
from tests.browser.test_accessibility import violations
from tests.browser.visitor import DESKTOP, PHONE, Visitor
from tests.team import SLEEP, knowledge_folder

AFTER = "Going to bed at the same time each day can help."
PLACE = "/operator/sources/schizophrenia/en/sleep"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The page over a small knowledge base whose sources can be changed."""
    folder = tmp_path_factory.mktemp("editing")
    knowledge = knowledge_folder(folder / "kb", sleep=SLEEP, voices=VOICES)
    (knowledge / "dangers.yaml").write_text(DANGERS, encoding="utf-8")
    sources = SourceSettings(editing=True, history=folder / "history")
    async with Served(folder=folder, settings={"knowledge_base": knowledge, "sources": sources}) as one:
        yield one


VOICES = """---
id: voices
title: Hearing voices
summary: [what voices are]
questions: [what are the voices]
reviewed: "psychiatrist, 2020-05-01"
---
Voices are sounds that others do not hear.

[danger: voices_tell_to_harm]
"""
DANGERS = """words: {emergency: "Get emergency help now:", same_day: "Get help today:", this_week: "This week:", say: "Say:"}
dangers:
  - id: voices_tell_to_harm
    name: Voices that order harm
    how_fast: emergency
    signs: [a voice orders you to hurt yourself or others]
    do: [Call your local emergency services.]
    say: My voices tell me to do harm.
    authority: {title: A guideline, body: A body, year: 2020}
"""


async def come_in(one: Visitor, served: Served, name: str, role: StaffRole, profession: str = "") -> None:
    """Follow a link by keyboard."""
    link = await served.bot.staff.invite(name, role, profession)
    await one.go(f"/operator/link/{link}")
    await one.tab_to("main .primary")
    await one.keys("Enter")
    await one.page.locator(".staff").wait_for()


async def axe(one: Visitor) -> None:
    """No finding, and nothing wider than the smallest window."""
    size = one.page.viewport_size
    assert await violations(one.page) == []
    await one.page.set_viewport_size({"width": 320, "height": 640})
    assert await one.width_to_spare() <= 0
    if size is not None:
        await one.page.set_viewport_size(size)
    await one.page.emulate_media(color_scheme="light")


async def test_a_sentence_is_changed_refused_and_changed_again(visit: Visiting, served: Served) -> None:
    """By keyboard: an editor on a phone changes a sentence, a reviewer refuses, then approves another."""
    ada = await visit(viewport=PHONE, bypass_csp=True)
    rosa = await visit(viewport=DESKTOP, bypass_csp=True)
    await come_in(ada, served, "Ada", StaffRole.EDITOR)
    await come_in(rosa, served, "Rosa", StaffRole.REVIEWER, "psychiatric nurse")
    await ada.tab_to(".staff a[href='/operator/sources']")
    await ada.keys("Enter")
    await ada.page.wait_for_url("**/operator/sources")
    await axe(ada)
    await ada.tab_to(f".texts a[href='{PLACE}']")
    await ada.keys("Enter")
    await ada.page.locator("article.source").wait_for()
    await ada.tab_to(f"a[href='{PLACE}/change']")
    await ada.keys("Enter")
    await ada.page.locator("#draft").wait_for()
    await axe(ada)
    await _rewrite(ada, "A fixed time", "[intnt: x] A fixed time")
    await ada.tab_to("button[value=check]")
    await ada.keys("Enter")
    await ada.page.locator(".remarks .error").first.wait_for()
    await axe(ada)
    await _rewrite(ada, "[intnt: x] A fixed time for going to bed can help.", AFTER)
    await ada.tab_to("#why")
    await ada.type("plainer")
    await ada.tab_to("button[value=propose]")
    await ada.keys("Enter")
    await ada.page.locator("button[value=withdraw]").wait_for()
    path = ada.page.url.removeprefix(served.address)
    await axe(ada)

    await rosa.tab_to(".staff a[href='/operator/proposals']")
    await rosa.keys("Enter")
    await rosa.page.wait_for_url("**/operator/proposals")
    await axe(rosa)
    await rosa.tab_to(f".texts a[href='{path}']")
    await rosa.keys("Enter")
    await rosa.page.locator("#answer").wait_for()
    assert AFTER in await rosa.page.locator(".lines .new").inner_text()
    await axe(rosa)
    await rosa.tab_to("#answer")
    await rosa.type("please keep the word fixed")
    await rosa.tab_to("button[value=refuse]")
    await rosa.keys("Enter")
    await rosa.page.locator("h1", has_text="refused").wait_for()
    await axe(rosa)
    await ada.go(path)
    assert "please keep the word fixed" in await ada.page.inner_text("main")
    assert AFTER not in (served.folder / "kb" / "sleep.md").read_text()

    await ada.go(f"{PLACE}/change")
    await _rewrite(ada, "A fixed time for going to bed", "A fixed time to go to bed")
    await ada.tab_to("button[value=propose]")
    await ada.keys("Enter")
    await ada.page.locator("button[value=withdraw]").wait_for()
    await rosa.go(ada.page.url.removeprefix(served.address))
    await rosa.tab_to("#signs-off")
    await rosa.keys("Space")
    await rosa.tab_to("button[value=approve]")
    await rosa.keys("Enter")
    await rosa.page.locator("h1", has_text="approved").wait_for()
    text = (served.folder / "kb" / "sleep.md").read_text()
    assert "A fixed time to go to bed can help." in text and "psychiatric nurse" in text
    await rosa.go(f"{PLACE}/history?version=0")
    await rosa.tab_to("main .primary")
    await axe(rosa)


async def _rewrite(one: Visitor, before: str, after: str) -> None:
    """Put other words into the text, as somebody does who has reached the field by keyboard."""
    field = one.page.locator("#draft")
    text = await field.input_value()
    assert before in text
    await one.tab_to("#draft", back=True) if not await field.evaluate("one => one === document.activeElement") else None
    await one.keys("Control+a")
    await one.page.keyboard.insert_text(text.replace(before, after))


async def test_an_operator_invites_looks_and_exports(visit: Visiting, served: Served) -> None:
    """By keyboard on a phone: figures with plots in words, a link for somebody new, the log, and the figures as a table."""
    olga = await visit(viewport=PHONE, bypass_csp=True)
    await come_in(olga, served, "Olga", StaffRole.OPERATOR)
    plots = await olga.page.locator("svg.plot").all()
    said = [str(await one.get_attribute("aria-label")) for one in plots]
    assert len(said) >= 4 and all(": " in one for one in said)
    await axe(olga)
    await olga.tab_to("a[href='/operator/figures.csv']")
    async with olga.page.expect_download() as downloading:
        await olga.keys("Enter")
    figures = await asyncio.to_thread((await (await downloading.value).path()).read_text, "utf-8")
    assert figures.startswith("kind,when,what,count") and "sources,,overdue,1" in figures
    await olga.tab_to(".staff a[href='/operator/people']", back=True)
    await olga.keys("Enter")
    await olga.page.locator("#name").wait_for()
    await axe(olga)
    await olga.tab_to("#name")
    await olga.type("Eve")
    await olga.tab_to("button[value=invite]")
    await olga.keys("Enter")
    await olga.page.locator("#link").wait_for()
    await axe(olga)
    await olga.go("/operator/configuration")
    await axe(olga)
    await olga.go("/operator/log")
    assert "exported figures" in await olga.page.inner_text("main")
    await axe(olga)


async def test_a_reader_sees_the_dangers_set_apart_without_scripts(visit: Visiting, served: Served) -> None:
    """In German and without JavaScript: the danger of a text is a note of its own, and what is past its date is named."""
    lea = await visit(locale="de-DE", java_script_enabled=False, viewport=PHONE)
    link = await served.bot.staff.invite("Lea", StaffRole.READER)
    await lea.go(f"/operator/link/{link}")
    await lea.page.click("main .primary")
    await lea.go("/operator/sources/schizophrenia/en/voices")
    note = lea.page.locator("article .danger[role=note]")
    assert "Voices that order harm" in await note.inner_text() and "Gefahr" in await note.inner_text()
    await lea.go("/operator/sources?state=overdue")
    assert "Hearing voices" in await lea.page.inner_text(".texts") and await lea.width_to_spare() <= 0
