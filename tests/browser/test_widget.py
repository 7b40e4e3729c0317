"""The chat in another site's page: a button there, our chat in a frame, with a conversation of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Frame

from tests.browser.conftest import Visiting
from tests.browser.served import Served
from tests.browser.visitor import DESKTOP, PHONE, QUESTION, Visitor
from tests.chromium import free_port

HOST_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A clinic</title>
<link rel="icon" href="data:,"><script src="{widget}/widget.js" data-label="Ask a question" data-close="Close" data-lang="en"
defer></script></head><body><h1>A clinic</h1><p><a href="#more">More about us</a></p></body></html>"""


class Site:
    """A site of somebody else's, on another port."""

    def __init__(self, html: str) -> None:
        self.html = html.encode()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The same page, whatever is asked."""
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(self.html)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + self.html)
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, Served]]:
    """The clinic's address, and the page that allows this one site to embed it."""
    ours, theirs = free_port(), free_port()
    address, clinic = f"http://127.0.0.1:{ours}", f"http://127.0.0.1:{theirs}"
    page = {"public_url": address, "frame_ancestors": (clinic,)}
    async with Served(folder=tmp_path_factory.mktemp("page"), port=ours, page=page) as served:
        server = await asyncio.start_server(Site(HOST_PAGE.format(widget=address)).answer, "127.0.0.1", theirs)
        async with server:
            yield clinic, served


async def opened(visit: Visiting, site: tuple[str, Served], **options: object) -> tuple[Visitor, Frame]:
    """Somebody on the clinic's page who has opened the chat with the keyboard."""
    clinic, served = site
    anna = await visit(served.address, **options)
    await anna.page.goto(clinic)
    asked: list[str] = []
    anna.page.on("request", lambda request: asked.append(request.url))
    await anna.page.wait_for_selector("text=Ask a question")
    assert asked == []
    await anna.page.focus("button")
    await anna.keys("Enter")
    handle = await anna.page.wait_for_selector("iframe")
    frame = await handle.content_frame()
    assert frame is not None
    await frame.wait_for_selector(".begin .primary")
    anna.strangers.clear()  # the clinic's own page
    return anna, frame


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
async def test_the_chat_answers_inside_another_site(visit: Visiting, site: tuple[str, Served], size: object) -> None:
    """From the clinic's page somebody agrees, asks, gets the answer and reads the source, all inside the frame."""
    anna, frame = await opened(visit, site, viewport=size)
    await frame.click(".begin .primary")
    await frame.wait_for_selector("#ask")
    await frame.fill("#text", QUESTION)
    await frame.click("#ask .primary")
    await frame.wait_for_selector(".entry.answer")
    await frame.click(".from a.cite")
    await frame.wait_for_selector(".passage")
    assert "/widget/sources/" in frame.url
    assert await frame.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert await anna.session() == ""  # the widget's conversation is another one


async def test_the_widget_closes_by_keyboard_and_keeps_the_conversation(
    visit: Visiting, site: tuple[str, Served]
) -> None:
    """Tab reaches what is in the frame, its button closes it, and what was there is there again."""
    anna, frame = await opened(visit, site)
    for _ in range(40):
        await anna.keys("Tab")
        if await frame.evaluate("document.activeElement.matches('.begin .primary')"):
            break
    await anna.keys("Enter")
    await frame.wait_for_selector("#ask")
    await anna.page.focus("body > button")
    await anna.keys("Enter")
    assert not await anna.page.locator("iframe").is_visible()
    assert await anna.page.evaluate("document.activeElement.tagName") == "BUTTON"
    await anna.keys("Enter")
    assert await anna.page.locator("iframe").is_visible()
    assert await frame.locator("#ask").is_visible()
    await anna.keys("Escape")


async def test_a_conversation_in_the_widget_by_keyboard(visit: Visiting, site: tuple[str, Served]) -> None:
    """With Tab and Enter alone: into the frame, agree, ask, on to the button behind the frame, which closes it."""
    anna, frame = await opened(visit, site)

    async def tab_to(selector: str, where: Frame, *, back: bool = False) -> None:
        for _ in range(40):
            await anna.keys("Shift+Tab" if back else "Tab")
            if await where.evaluate("one => document.hasFocus() && document.activeElement.matches(one)", selector):
                return
        raise AssertionError(f"{selector} was not reached")

    await tab_to(".begin .primary", frame)
    await anna.keys("Enter")
    await frame.wait_for_selector("#ask")
    await tab_to("#text", frame)
    await anna.type(QUESTION)
    await anna.keys("Enter")
    await frame.wait_for_selector(".entry.answer")
    await tab_to(".from a.cite", frame, back=True)
    await tab_to("body > button", anna.page.main_frame)
    await anna.keys("Enter")
    assert not await anna.page.locator("iframe").is_visible()


async def test_a_site_that_is_not_named_shows_nothing_of_it(visit: Visiting, site: tuple[str, Served]) -> None:
    """Any other site's frame stays empty: the browser keeps to `frame-ancestors`."""
    _, served = site
    html = f'<iframe src="{served.address}/widget" title="chat"></iframe>'
    async with await asyncio.start_server(Site(html).answer, "127.0.0.1", 0) as other:
        anna = await visit(served.address)
        await anna.page.goto(f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}")
        handle = await anna.page.wait_for_selector("iframe")
        frame = await handle.content_frame()
        assert frame is not None and await frame.locator(".begin").count() == 0
        assert any("frame-ancestors" in one for one in anna.complaints)
        anna.complaints.clear()
        anna.strangers.clear()
