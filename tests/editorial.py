"""Those who work on the sources, each in a browser of their own, over the page with a small knowledge base."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.editorial.settings import SourceSettings
from adapters.editorial.staff import Staff, StaffRole
from adapters.web_adapter.adapter import WebBot
from tests.web import TOKEN, Browser, running

SLEEP_PAGE = "/operator/sources/schizophrenia/en/sleep"
BEFORE, AFTER = "A fixed time for going to bed can help.", "Going to bed at the same time each day can help."
QUESTIONS = "questions: [i cant sleep, why am i so tired]"


@asynccontextmanager
async def editing(folder: Path, page: Mapping[str, Any] | None = None, **changes: Any) -> AsyncIterator[WebBot]:
    """The page with sources that can be changed."""
    wanted = SourceSettings(editing=True, history=folder / "history", **changes)
    async with running(folder, page={"operator_token": TOKEN, **(page or {})}, sources=wanted) as bot:
        yield bot


async def come_in(browser: Browser, link: str) -> None:
    """Open a link and press its button."""
    await browser.get(f"/operator/link/{link}")
    await browser.post("/operator/link", link=link)


@asynccontextmanager
async def signed_in(bot: WebBot, name: str, role: StaffRole, profession: str = "") -> AsyncIterator[Browser]:
    """Somebody who has followed a link."""
    async with Browser(bot.address) as browser:
        await come_in(browser, await people(bot).invite(name, role, profession))
        assert browser.page.status_code == 200 and browser.page.url.path == "/operator", browser.words
        yield browser


def people(bot: WebBot) -> Staff:
    """The operator's people."""
    return bot.staff


def source_file(folder: Path, name: str = "sleep") -> Path:
    """The file of a source of the small knowledge base."""
    return folder / "kb" / f"{name}.md"


def base_of(browser: Browser) -> str:
    """The fingerprint on the page of a change."""
    found = re.search(r'name="base" value="([^"]*)"', browser.text)
    assert found is not None, browser.words
    return found[1]


async def propose(browser: Browser, text: str, why: str = "plainer") -> str:
    """Propose a text for the source about sleep; the path of the proposal, or of the page that says no."""
    await browser.get(f"{SLEEP_PAGE}/change")
    await browser.post(f"{SLEEP_PAGE}/change", do="propose", base=base_of(browser), draft=text, why=why)
    return str(browser.page.url.path)
