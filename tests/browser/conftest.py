"""One Chromium for all tests of the page, one served page for each file, and people who open it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.browser.served import Served
from tests.browser.visitor import Visitor
from tests.chromium import ARGS, chromium_path

Visiting = Callable[..., Awaitable[Visitor]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser, server and tests of this folder share one loop: a browser cannot change loops between two tests."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """The browser."""
    path = chromium_path()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(ARGS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """The page over the shipped knowledge base, with built-in agents."""
    async with Served(folder=tmp_path_factory.mktemp("page")) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, served: Served) -> AsyncIterator[Visiting]:
    """Opens a browser window; at the end of the test nobody's browser may have complained."""
    people: list[Visitor] = []
    async with AsyncExitStack() as closing:

        async def visiting(address: str = "", **options: Any) -> Visitor:
            context = await chromium.new_context(**{"locale": "en-GB", "reduced_motion": "reduce", **options})
            closing.push_async_callback(context.close)
            context.set_default_timeout(60_000)
            one = Visitor(context=context, page=await context.new_page(), address=address or served.address)
            people.append(one)
            return one

        yield visiting
    for one in people:
        assert one.complaints == [], one.complaints
        assert one.strangers == [], one.strangers
