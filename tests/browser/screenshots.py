"""The pictures of the documentation. `python -m tests.browser.screenshots`."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, async_playwright

from tests.browser.served import Served
from tests.browser.visitor import CRISIS, DESKTOP, PHONE, QUESTION, Visitor
from tests.chromium import ARGS, chromium_path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images" / "web"
SIZES = {"phone": PHONE, "desktop": DESKTOP}
COLOURS = 40
MOST_PIXELS_DOWN = 1500
SHOWN = {
    ("phone", "light"): {"start"},
    ("phone", "dark"): {"answer"},
    ("desktop", "light"): {"answer", "beside"},
    ("desktop", "dark"): {"referral"},
}
"""Which moments of a visit the documentation shows, by size and scheme."""


@dataclass(frozen=True, kw_only=True)
class Album:
    """Takes the pictures of one size and one scheme."""

    visitor: Visitor
    name: str
    wanted: Collection[str]

    async def all(self) -> None:
        """A whole visit."""
        anna, page = self.visitor, self.visitor.page
        await anna.go("/")
        await self.take("start", whole=True)
        await anna.begin()
        await anna.ask(QUESTION)
        await self.take("answer")
        if "beside" in self.wanted:
            await page.click(".from a.cite")
            await page.locator("#beside .here").wait_for()
            await self.take("beside")
            await page.click("#close")
        if "referral" in self.wanted:
            await anna.ask(CRISIS, "referral")
            await self.take("referral")

    async def take(self, name: str, *, whole: bool = False) -> None:
        """One picture, its palette made small, if it is wanted; a long page is cut."""
        if name not in self.wanted:
            return
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
            for size, scheme in SHOWN:
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
    await Album(visitor=visitor, name=f"{size}-{scheme}", wanted=SHOWN[size, scheme]).all()
    await context.close()


if __name__ == "__main__":
    asyncio.run(main())
