"""What a first visit costs, and whom the browser asks."""

from __future__ import annotations

from typing import Any

from tests.browser.conftest import Visiting
from tests.browser.visitor import PHONE, QUESTION

PAINTED = """() => new Promise(done => {
  const found = () => performance.getEntriesByName('first-contentful-paint')[0];
  const look = () => found() ? done(found().startTime) : setTimeout(look, 20);
  look();
})"""
MOST_BYTES = 100_000


async def test_the_first_page_costs_under_100_kilobytes(visit: Visiting) -> None:
    """All that comes over the line until the page has been painted is counted as the browser counts it."""
    anna = await visit(viewport=PHONE)
    line = await anna.context.new_cdp_session(anna.page)
    received: list[float] = []
    line.on("Network.loadingFinished", lambda event: received.append(_length(event)))
    await line.send("Network.enable")
    await anna.page.goto(anna.address + "/", wait_until="networkidle")
    assert await anna.page.evaluate(PAINTED) > 0
    assert len(received) >= 3 and 5_000 < sum(received) < MOST_BYTES, received


def _length(event: dict[str, Any]) -> float:
    return float(event["encodedDataLength"])


async def test_nothing_is_asked_of_anybody_else(visit: Visiting) -> None:
    """A whole visit, every page of it, asks nothing but the page's own origin, and the policy would forbid it."""
    anna = await visit()
    hosts: set[str] = set()
    anna.context.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    await anna.begin()
    await anna.ask(QUESTION)
    for path in ("/sources", "/privacy", "/look", "/feedback", "/crisis", "/accessibility", "/help", "/widget"):
        await anna.go(path)
    assert hosts == {anna.address.removeprefix("http://")}
    blocked = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')"
    violated = (
        "new Promise(done => document.addEventListener('securitypolicyviolation', one => done(one.violatedDirective)))"
    )
    said = await anna.page.evaluate(f"() => {{ const seen = {violated}; {blocked}; return seen; }}")
    anna.complaints.clear()  # the browser's own word about the refusal
    assert said == "connect-src"
