"""Pictures of every page for the documentation: phone and desktop, light and dark. `python -m tests.browser.screenshots`."""

from __future__ import annotations

import asyncio
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, async_playwright

from tests.browser.served import Served
from tests.browser.visitor import CRISIS, DESKTOP, PHONE, QUESTION, Visitor
from tests.chromium import ARGS, chromium_path
from tests.web import TOKEN

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images" / "web"
SIZES = {"phone": PHONE, "desktop": DESKTOP}
SCHEMES = ("light", "dark")
COLOURS = 40
MOST_PIXELS_DOWN = 1500
PAGES = {
    "sources": "/sources",
    "source": "/sources/schizophrenia/causes#p3",
    "privacy": "/privacy",
    "crisis": "/crisis",
    "look": "/look",
    "feedback": "/feedback",
    "accessibility": "/accessibility",
    "commands": "/help",
    "missing": "/nowhere",
    "widget": "/widget",
}


@dataclass(frozen=True, kw_only=True)
class Album:
    """Takes the pictures of one size and one scheme."""

    visitor: Visitor
    name: str

    async def all(self) -> None:
        """A whole visit."""
        anna, page = self.visitor, self.visitor.page
        await anna.go("/")
        await self.take("start")
        await anna.begin()
        await self.take("empty")
        await anna.ask(QUESTION)
        await self.take("answer", whole=False)
        if "desktop" in self.name:
            await page.click(".from a.cite")
            await page.locator("#beside .here").wait_for()
            await self.take("beside", whole=False)
            await page.click("#close")
        await anna.ask(CRISIS, "referral")
        await self.take("referral", whole=False)
        await page.click("#help summary")
        await self.take("help", whole=False)
        await page.keyboard.press("Escape")
        for name, path in PAGES.items():
            await anna.go(path)
            await self.take(name, whole="#" not in path)
        await self._rest()

    async def _rest(self) -> None:
        anna, page = self.visitor, self.visitor.page
        await anna.go("/operator")
        await self.take("operator-login")
        await page.fill("input[type=password]", TOKEN)
        await page.keyboard.press("Enter")
        await page.locator(".operator").wait_for()
        # What this machine's configuration lacks is nobody's business, and its paths are long.
        await page.evaluate("document.querySelectorAll('.problems').forEach(one => one.remove())")
        await self.take("operator")
        await anna.go("/forget")
        await self.take("forget")
        await page.click("main .primary")
        await self.take("forgotten")

    async def take(self, name: str, *, whole: bool = True) -> None:
        """One picture, its palette made small; a long page is cut."""
        await asyncio.sleep(0.3)
        picture = Image.open(io.BytesIO(await self.visitor.page.screenshot(full_page=whole))).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(picture.height, MOST_PIXELS_DOWN)))
        FOLDER.mkdir(parents=True, exist_ok=True)
        small = picture.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        small.save(FOLDER / f"{name}-{self.name}.png", optimize=True)


async def main() -> None:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        async with Served(folder=Path(folder)) as served, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium_path(), args=list(ARGS))
            for size in SIZES:
                for scheme in SCHEMES:
                    await _album(browser, served, size, scheme)
            await browser.close()


async def _album(browser: Browser, served: Served, size: str, scheme: str) -> None:
    context = await browser.new_context(
        viewport=SIZES[size],  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        locale="en-GB",
        reduced_motion="reduce",
        has_touch=size == "phone",
        is_mobile=size == "phone",
    )
    visitor = Visitor(context=context, page=await context.new_page(), address=served.address)
    await Album(visitor=visitor, name=f"{size}-{scheme}").all()
    await context.close()


if __name__ == "__main__":
    asyncio.run(main())
