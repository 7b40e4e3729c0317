"""What a shared computer's browser still knows after somebody has left: its profile on disk, Back, cookies."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, async_playwright

from tests.browser.served import EXIT, Served
from tests.browser.visitor import QUESTION, Visitor
from tests.chromium import ARGS, chromium_path

SEARCHED = "ending your"


@asynccontextmanager
async def profile(folder: Path, served: Served, *, script: bool = True) -> AsyncIterator[Visitor]:
    """A browser that keeps a profile in a folder, as a computer that several people use."""
    async with async_playwright() as playwright:
        context: BrowserContext = await playwright.chromium.launch_persistent_context(
            str(folder), executable_path=chromium_path(), args=list(ARGS), java_script_enabled=script, locale="en-GB"
        )
        context.set_default_timeout(60_000)
        page = context.pages[0] if context.pages else await context.new_page()
        await context.route(f"{EXIT}**", lambda one: one.fulfill(body="<h1>elsewhere</h1>", content_type="text/html"))
        yield Visitor(context=context, page=page, address=served.address)
        await context.close()


def history(folder: Path) -> str:
    """Addresses and titles of the history of a profile, and what was typed into addresses."""
    with sqlite3.connect(f"file:{folder}/Default/History?immutable=1", uri=True) as kept:
        rows = kept.execute("SELECT url, title FROM urls").fetchall()
    return "\n".join(" ".join(row) for row in rows)


def on_disk(folder: Path) -> bytes:
    """Every byte of a profile."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def about(page: Page) -> str:
    """The words of the page on the screen."""
    return await page.inner_text("body")


async def read_and_leave(anna: Visitor) -> None:
    """Ask, search the titles for a word, read a source, and leave by the button."""
    await anna.begin()
    await anna.page.fill("#text", QUESTION)
    await anna.page.click("#ask .primary")
    await anna.page.locator(".entry.answer").first.wait_for()
    await anna.go("/sources")
    await anna.page.fill("#q", SEARCHED)
    await anna.page.click(".search button")
    await anna.page.click(".titles a[href$='/suicidal_thoughts']")
    await anna.page.wait_for_url("**/sources/schizophrenia/suicidal_thoughts")
    await anna.page.click(".leave button")
    await anna.page.wait_for_url(EXIT)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_the_profile_holds_no_words_of_somebody_who_has_left(
    tmp_path: Path, served: Served, script: bool
) -> None:
    """Neither the question nor the words of a search are in the history, and no title there tells what was read."""
    folder = tmp_path / "profile"
    async with profile(folder, served, script=script) as anna:
        await read_and_leave(anna)
    kept = history(folder)
    assert f"{served.address}/sources Sources" in kept, kept
    assert "q=" not in kept and "ended" not in kept
    assert "ending" not in kept.casefold()
    assert QUESTION.encode() not in on_disk(folder)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
async def test_no_cookie_is_left_and_none_comes_back(tmp_path: Path, served: Served, script: bool) -> None:
    """After leaving the browser has no cookie of ours, whatever it asks for by itself, such as an icon."""
    async with profile(tmp_path / "profile", served, script=script) as anna:
        await read_and_leave(anna)
        async with asyncio.timeout(10):
            while await anna.session():  # noqa: ASYNC110 - the browser rings no bell
                await asyncio.sleep(0.05)
        for path in ("/favicon.ico", "/nowhere"):
            await anna.context.request.get(served.address + path)
        assert [one for one in await anna.context.cookies() if one["name"].startswith("cafi")] == []


async def test_back_after_leaving_leads_to_the_first_page_only(tmp_path: Path, served: Served) -> None:
    """Back, again and again, shows neither the text that was read nor the conversation."""
    async with profile(tmp_path / "profile", served) as anna:
        await read_and_leave(anna)
        async with asyncio.timeout(10):
            while await anna.session():  # noqa: ASYNC110 - the browser rings no bell
                await asyncio.sleep(0.05)
        await anna.page.go_back()
        await anna.page.wait_for_url(f"{served.address}/")
        assert "Ask in your own words" in await about(anna.page)


async def test_whoever_erases_reads_what_the_browser_keeps(tmp_path: Path, served: Served) -> None:
    """Beside the button and after it stands that the history stays, and how to clear it."""
    async with profile(tmp_path / "profile", served) as anna:
        await anna.begin()
        for act in ("/forget", ""):
            await (anna.go(act) if act else anna.page.click("main .primary"))
            words = await anna.page.inner_text("main")
            assert "Your browser keeps in its history" in words and "delete this site there" in words
        assert await anna.page.title() == "Chat – CAFI"
