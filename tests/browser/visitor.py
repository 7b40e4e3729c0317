"""Somebody in front of a real browser: what they press, what they see, what the browser complains about."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Page, Request

from tests.browser.served import EXIT

QUESTION = "Is it my fault that I got ill?"
CRISIS = "I want to kill myself tonight"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}
_FOCUS = """async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  await frame(); await frame();  // until the browser has scrolled to it
  const at = document.activeElement, style = at && getComputedStyle(at), box = at && at.getBoundingClientRect();
  if (!at || at === document.body || at === document.documentElement) return null;
  const hidden = box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth;
  return { name: at.tagName.toLowerCase(), text: (at.innerText || at.value || at.getAttribute('aria-label') || '').trim(),
    id: at.id, outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, hidden };
}"""


@dataclass(kw_only=True, repr=False)
class Visitor:
    """One window. `complaints`: errors of the page; `strangers`: requests to anywhere else than the page's own origin."""

    context: BrowserContext
    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.on("page", self._watch)
        self.context.on("request", self._asked)
        self._watch(self.page)

    def _watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dialog)

    def _said(self, message: ConsoleMessage) -> None:
        # That the server is away for a moment, or answers with an error page, is what some tests are about.
        expected = ("Failed to load resource", "net::ERR_", "ERR_INCOMPLETE_CHUNKED_ENCODING")
        if message.type in {"error", "warning"} and not any(one in message.text for one in expected):
            self.complaints.append(message.text)

    async def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        await dialog.dismiss()

    def _asked(self, request: Request) -> None:
        wanted = urlsplit(request.url)
        if (
            wanted.scheme in {"http", "https"}
            and wanted.netloc != urlsplit(self.address).netloc
            and request.url != EXIT
        ):
            self.strangers.append(request.url)

    # --- Pages ------------------------------------------------------------------------------------------------------

    async def go(self, path: str) -> None:
        """Open a page of ours."""
        await self.page.goto(self.address + path)

    async def begin(self, country: str = "uk", **choices: str) -> None:
        """Read the first page and agree; then until the conversation is told of what is new."""
        await self.go("/")
        for name, value in {"country": country, **choices}.items():
            await self.page.select_option(f"#{name}", value)
        await self.page.click(".begin .primary")
        await self.listening()

    async def listening(self) -> None:
        """Until the chat is there, and with JavaScript is told of answers."""
        await self.page.wait_for_url(re.compile(r"/chat(#newest)?$"))
        await self.page.wait_for_selector("#ask")

    async def entries(self, kind: str = "") -> list[str]:
        """The words of the conversation's entries, of one kind."""
        return await self.page.locator(f".entry{'.' + kind if kind else ''}").all_inner_texts()

    async def ask(self, text: str, kind: str = "answer") -> str:
        """Write something and send it; the words of what comes."""
        before = await self.page.locator(f".entry.{kind}").count()
        await self.page.fill("#text", text)
        await self.page.click("#ask .primary")
        return await self.next(before, kind)

    async def press(self, label: str, kind: str = "answer") -> str:
        """Press a button under the newest answer; the words of what comes."""
        before = await self.page.locator(f".entry.{kind}").count()
        await self.page.click(f".actions >> text={label}")
        return await self.next(before, kind)

    async def next(self, before: int, kind: str = "answer") -> str:
        """The words of the entry after so many."""
        entry = self.page.locator(f".entry.{kind}").nth(before)
        await entry.wait_for()
        return await entry.inner_text()

    async def session(self) -> str:
        """The value of the session's cookie, empty where there is none."""
        found = [one["value"] for one in await self.context.cookies() if one["name"] == "cafi-session"]
        return found[0] if found else ""

    async def width_to_spare(self) -> int:
        """How many pixels wider than the window the page is, below 0 for none."""
        return int(await self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    # --- The keyboard alone -----------------------------------------------------------------------------------------

    async def tab_to(self, selector: str, *, back: bool = False, most: int = 60) -> None:
        """Press Tab until something has the focus; it is visible all the way, and never lost."""
        seen = []
        for _ in range(most):
            await self.page.keyboard.press("Shift+Tab" if back else "Tab")
            focus = await self.focus()
            seen.append(focus["text"] or focus["name"])
            if await self.page.evaluate("one => document.activeElement.matches(one)", selector):
                return
        raise AssertionError(f"{selector} was not reached: {seen}")

    async def focus(self) -> dict[str, object]:
        """What has the focus, which is on the screen and outlined, once the page has come to rest."""
        for _ in range(40):
            found = await self.page.evaluate(_FOCUS)
            if found is not None and found["outlined"] and not found["hidden"]:
                break
            await self.page.wait_for_timeout(50)  # scrolling takes its time on a busy machine
        assert found is not None, "the focus is lost"
        assert found["outlined"] and not found["hidden"], f"the focus cannot be seen: {found}"
        return dict(found)

    async def type(self, text: str) -> None:
        """Write with the keyboard."""
        await self.page.keyboard.type(text)

    async def keys(self, *names: str) -> None:
        """Press keys one after the other."""
        for name in names:
            await self.page.keyboard.press(name)
