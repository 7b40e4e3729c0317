"""What people and models write is shown as text, whatever it is, and breaks nothing on the smallest screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser.conftest import Visiting
from tests.browser.served import Served
from tests.team import scripted
from tests.web import running

HOSTILE = (
    "<script>window.hit = 1; alert('hit')</script>",
    "<img src=x onerror=\"window.hit = 1\"><svg onload='window.hit = 1'></svg><h1 id=bad>big</h1>",
    "[here](javascript:window.hit=1) ![picture](https://elsewhere.example/p.png) <https://elsewhere.example>",
    "</textarea></form><form action=https://elsewhere.example><input name=secret autofocus onfocus=window.hit=1>",
    "{{ 7 * 7 }} {% include 'operator.html' %} ${7*7}",
    "\u202egnp.exe\u202c \u2066abc\u2069 \u05d0\u05d1\u05d2 abc \u0627\u0644\u0623",
    "W" * 900,
    "e" + "\u0301" * 200 + " " + "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 80,
)
SMALL = {"width": 320, "height": 640}
_MARKUP = (
    "() => document.querySelectorAll('.words script, .words img, .words svg, .words input, .words h1, #bad').length"
)
said: dict[str, str] = {"reply": ""}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The page with a model that says whatever it is told to."""

    def draft(prompt: Any) -> dict[str, Any]:
        return {**_DRAFT, "reply": said["reply"]}

    async with Served(folder=tmp_path_factory.mktemp("page"), model=scripted({"agent": draft})) as one:
        yield one


_DRAFT = {"requested_sources": [], "citations": [], "basis": "general", "media": [], "handoff": None}


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
async def test_what_people_write_is_text(visit: Visiting, text: str) -> None:
    """No script runs, nothing becomes an element, nothing is wider than the screen, also after a reload."""
    anna = await visit(viewport=SMALL)
    said["reply"] = "Thank you for telling me."
    await anna.begin()
    await anna.ask(text)
    for _ in range(2):
        assert await anna.page.evaluate(_MARKUP) == 0
        assert await anna.page.evaluate("window.hit === undefined")
        assert await anna.width_to_spare() <= 0
        shown = await anna.page.locator(".entry.you .words").inner_text()
        assert shown.replace("\n", " ").split()[0][:5] == text.split()[0][:5]
        await anna.page.reload()


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
async def test_what_a_model_writes_is_text(visit: Visiting, served: Served, text: str) -> None:
    """The same for an answer, should one like it ever pass the filter."""
    anna = await visit(viewport=SMALL)
    said["reply"] = text
    await anna.begin()
    await anna.ask("What do you say?")
    for _ in range(2):
        assert await anna.page.evaluate(_MARKUP) == 0
        assert await anna.page.evaluate("window.hit === undefined")
        assert await anna.page.locator(".words a[href*='elsewhere'], .words a[href^='javascript']").count() == 0
        assert await anna.width_to_spare() <= 0
        await anna.page.reload()


async def test_nothing_in_a_picture_runs(chromium: Browser, tmp_path: Path) -> None:
    """A drawing (SVG) of a foreign knowledge base that is opened by itself shows, and no script of its own runs."""
    media = tmp_path / "kb" / "media"
    media.mkdir(parents=True)
    ran = "document.documentElement.setAttribute('class', 'ran')"
    scripts = f'<script>{ran}</script><script href="/widget.js"/>'
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{ran}">{scripts}<text y="20">Glass</text></svg>'
    (media / "x.svg").write_text(drawing, encoding="utf-8")
    (media / "media.yaml").write_text("- {file: x.svg, alt: A drawing}\n", encoding="utf-8")
    async with running(tmp_path) as bot:
        context = await chromium.new_context()
        page = await context.new_page()
        asked: list[str] = []
        page.on("request", lambda one: asked.append(urlsplit(one.url).path))
        answer = await page.goto(f"{bot.address}/media/schizophrenia/x.svg")
        assert answer is not None and answer.ok
        shown = await page.content()
        assert "Glass" in shown and 'class="ran"' not in shown
        assert "/widget.js" not in asked  # a script of our own is none of the picture's either
        await context.close()
