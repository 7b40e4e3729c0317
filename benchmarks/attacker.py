"""What one address can do to the web page: `python -m benchmarks.attacker ADDRESS SECONDS`, a process of its own.

Everything at once: refused posts with the texts that cost most, streams for sessions that are made up, chats begun and
long messages that are answered. Prints how many requests of each kind were made, by status.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable

import httpx

FROM = "127.0.3.1"
AT_ONCE = 45
LONG = 4000
WORST = (
    " ".join(f"i want to x{number}" for number in range(LONG))[:LONG],
    "a" + "?" * (LONG - 2) + "b",
    "\n" * (LONG - 1) + "b",
    "\n " * (LONG // 2 - 1) + "b",
    "a" + "!" * (LONG - 2) + "b",
    "1." * (LONG // 2),
    "a " * (LONG // 2),
    ("I hear voices at night and cannot sleep. What can I do? " * LONG)[:LONG],
)
"""The worst texts known: phrases begun and not ended, runs of signs, of breaks, letters apart, much to answer."""


class Attacker:
    """One address that does its worst until `until`; `done` counts kinds and statuses."""

    def __init__(self, address: str, seconds: float) -> None:
        self.address, self.until = address, time.monotonic() + seconds
        self.done: Counter[str] = Counter()

    async def attack(self) -> None:
        """Everything at once."""
        limits = httpx.Limits(max_connections=150, max_keepalive_connections=150)
        transport = httpx.AsyncHTTPTransport(local_address=FROM, limits=limits)
        async with httpx.AsyncClient(base_url=self.address, transport=transport, timeout=60) as client:
            self.client = client
            await asyncio.gather(
                *(self._on_and_on(self._refused) for _ in range(AT_ONCE)),
                *(self._on_and_on(self._made_up) for _ in range(20)),
                *(self._on_and_on(self._beginning) for _ in range(5)),
            )

    async def _on_and_on(self, work: Callable[[], Awaitable[None]]) -> None:
        while time.monotonic() < self.until:
            try:
                await work()
            except httpx.HTTPError as error:
                self.done[f"failed {type(error).__name__}"] += 1
                await asyncio.sleep(0.05)

    def _note(self, kind: str, answer: httpx.Response) -> httpx.Response:
        self.done[f"{kind} {answer.status_code}"] += 1
        return answer

    async def _refused(self) -> None:
        data = {"form": "bad", "text": secrets.choice(WORST)}
        self._note("refused", await self.client.post("/chat", data=data))

    async def _made_up(self) -> None:
        cookie = {"Cookie": f"cafi-session={secrets.token_urlsafe(32)}"}
        async with self.client.stream("GET", "/events", headers=cookie) as answer:
            self._note("made up", answer)

    async def _beginning(self) -> None:
        """A chat, if one can be begun, and long messages in it for as long as they are taken."""
        own = httpx.Cookies()
        start = self._note("begun", await self.client.get("/"))
        own.extract_cookies(start)
        token = re.search(r'name="form" value="([^"]*)"', start.text)
        if token is None:
            await asyncio.sleep(0.1)
            return
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in own.items())}
        begun = self._note(
            "begun", await self.client.post("/begin", data={"form": token[1], "language": "en"}, headers=headers)
        )
        if begun.status_code != 303:
            await asyncio.sleep(0.1)
            return
        own.extract_cookies(begun)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in own.items())}
        page = (await self.client.get("/chat", headers=headers)).text
        found = re.search(r'name="form" value="([^"]*)"', page)
        headers["Accept"] = "application/json"
        status = 202
        while found is not None and status == 202 and time.monotonic() < self.until:
            data = {"form": found[1], "text": secrets.choice(WORST)}
            status = self._note("message", await self.client.post("/chat", data=data, headers=headers)).status_code


if __name__ == "__main__":
    attacker = Attacker(sys.argv[1], float(sys.argv[2]))
    asyncio.run(attacker.attack())
    print(json.dumps(attacker.done))
