"""axe-core on every page: light and dark, phone and desktop. It is read from disk; no page loads it by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from playwright.async_api import Page

from tests.browser.conftest import Visiting
from tests.browser.visitor import CRISIS, DESKTOP, PHONE, QUESTION, Visitor
from tests.web import TOKEN

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = """async () => {
  const only = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
  const found = await axe.run(document, { runOnly: only, resultTypes: ['violations'] });
  const where = (one) => one.nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary);
  return found.violations.map(one => [one.id, one.help, where(one)]);
}"""
PAGES = (
    "/",
    "/sources",
    "/sources/schizophrenia/causes",
    "/privacy",
    "/protocol",
    "/crisis",
    "/look",
    "/feedback",
    "/accessibility",
    "/help",
    "/forget",
    "/nowhere",
    "/operator",
    "/widget",
)


async def violations(page: Page) -> list[tuple[str, str, Any]]:
    """What axe finds on a page, in both colours and both sizes."""
    if not await page.evaluate("typeof axe === 'object'"):
        await page.evaluate(AXE)
    found = []
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)  # type: ignore[arg-type]
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
            found += [(f"{size['width']} {scheme}", *one) for one in await page.evaluate(RUN)]
    return found


@pytest.mark.parametrize("path", PAGES)
async def test_axe_finds_nothing_on_a_page(visit: Visiting, path: str) -> None:
    """No violation of WCAG 2.2 A and AA or of axe's best practice; nothing is wider than the smallest window."""
    anna = await visit(bypass_csp=True)
    await anna.go(path)
    for summary in await anna.page.locator("main details summary, #help summary").all():
        await summary.click()
    assert await violations(anna.page) == []
    await anna.page.set_viewport_size({"width": 320, "height": 640})
    assert await anna.width_to_spare() <= 0


async def test_axe_finds_nothing_in_the_conversation(visit: Visiting) -> None:
    """The same for an empty chat, an answer with its buttons, a question back, a passage beside it, and the referral."""
    anna = await visit(bypass_csp=True, viewport=DESKTOP)
    await anna.begin()
    assert await violations(anna.page) == []
    for _ in range(5):
        await anna.ask(QUESTION)
    await anna.page.locator(".poll").wait_for()
    await anna.page.click(".entry.answer:has(.actions) .from a.cite")
    await anna.page.locator("#beside .here").wait_for()
    assert await violations(anna.page) == []
    await anna.ask(CRISIS, "referral")
    assert await violations(anna.page) == []


async def test_axe_finds_nothing_on_the_pages_after_a_form(visit: Visiting) -> None:
    """Feedback with its question, the receipt of erasing, the operator's page with its figures."""
    anna = await visit(bypass_csp=True)
    await anna.begin()
    await anna.ask(QUESTION)
    await anna.go("/feedback")
    assert await violations(anna.page) == []
    await _log_in(anna)
    assert await violations(anna.page) == []
    await anna.go("/forget")
    await anna.page.click("main .primary")
    assert await violations(anna.page) == []


async def _log_in(anna: Visitor) -> None:
    await anna.go("/operator")
    await anna.page.fill("input[type=password]", TOKEN)
    await anna.page.keyboard.press("Enter")
    await anna.page.locator(".operator").wait_for()
