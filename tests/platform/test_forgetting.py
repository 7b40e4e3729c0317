"""What is forgotten is gone from the memory of the running program, not from its files alone."""

from __future__ import annotations

import asyncio
import re
import resource
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.chromium import free_port
from tests.fakes.telegram_process import ROOT, TelegramProcess
from tests.killing import Cafi, on_disk, served, until
from tests.platform.test_killing import begun, shown, telegram_at
from tests.web import Browser

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read through /proc")
NAME = "Xylopharquet"
MOST_REMAINS = 60
"""Places in freed memory, of two chats in four encodings."""
SAID = f"My name is {NAME}, I sleep badly because of w*rri#s and {NAME.lower()}s. What helps?"


class OpenBook(Cafi):
    """The program that tells what it remembers."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.file = folder / "told"
        super().__init__(folder, environment | {"CAFI_TEST_TOLD": str(self.file), "CAFI_TEST_TIDY": "0.3"})

    async def start(self) -> asyncio.subprocess.Process:
        command = (sys.executable, "-m", "tests.fakes.open_book", "run", "--kb", str(self.kb))
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        return self.process

    async def living(self) -> list[bytes]:
        """Every text of every object that the process can still reach."""
        assert self.process is not None
        self.file.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        await until(self.file.exists)
        return self.file.read_bytes().split(b"\n")

    def bytes_of_memory(self) -> Iterator[bytes]:
        """All that the process may write to, whether it still belongs to anything or not."""
        assert self.process is not None
        folder = Path(f"/proc/{self.process.pid}")
        with (folder / "mem").open("rb", buffering=0) as memory:
            for line in (folder / "maps").read_text().splitlines():
                found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                if found is None or line.endswith(("[vvar]", "[vsyscall]")):
                    continue
                start, end = int(found[1], 16), int(found[2], 16)
                try:
                    memory.seek(start)
                    yield memory.read(end - start)
                except OSError:
                    continue

    def times(self, *texts: str) -> int:
        """How often texts stand in memory, in any encoding."""
        encodings = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")
        wanted = {text.encode(encoding) for text in texts for encoding in encodings}
        return sum(part.count(one) for part in self.bytes_of_memory() for one in wanted)


def with_any(lines: list[bytes], *texts: str) -> list[bytes]:
    """The lines that hold one of some texts."""
    return [one for one in lines if any(text.encode() in one for text in texts)]


@pytest.fixture
async def used(tmp_path: Path) -> AsyncIterator[tuple[OpenBook, TelegramProcess, str]]:
    """The program with the page and Telegram, built-in agents, and the page's address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    web = {"CAFI_WEB__ENABLED": "true", "CAFI_WEB__PORT": str(port), "CAFI_AGENTS": "builtin"}
    async with TelegramProcess(tmp_path / "calls.jsonl") as fake:
        cafi = OpenBook(tmp_path, telegram_at(fake) | web | {"CAFI_LOG_LEVEL": "WARNING"})
        await cafi.start()
        try:
            await served(address)
            yield cafi, fake, address
        finally:
            if cafi.process is not None and cafi.process.returncode is None:
                await cafi.end(signal.SIGTERM)


@pytest.mark.timeout(240)
async def test_what_is_forgotten_is_gone_from_memory(used: tuple[OpenBook, TelegramProcess, str]) -> None:
    """After /forget no object that the process can reach holds a word, a Telegram id or a page's session of the chat."""
    # What is shown is about objects. The interpreter gives the place of a text that is gone to other texts sooner or later
    # and does not write over it first: for that memory the test holds only that there is no more of it than one chat's
    # turn leaves (MOST_REMAINS), so that nothing piles up with the number of messages.
    cafi, fake, address = used
    anna, *others = await begun(fake, 3)
    await fake.do("write", person=anna["id"], text=SAID)
    await shown(fake, anna, 3)
    async with Browser(address) as visitor:
        await visitor.begin()
        await visitor.post("/chat", text=SAID)
        await visitor.get(f"/sources?q={NAME}")
        (session,) = (value for name, value in visitor.client.cookies.items() if name.endswith("session"))
        wanted = (NAME, NAME.lower(), str(anna["id"]), session)
        before = await cafi.living()
        assert all(with_any(before, one) for one in (NAME, str(anna["id"]), session)), "the search would find nothing"
        await fake.do("write", person=anna["id"], text="/forget")
        await shown(fake, anna, 4)
        await visitor.get("/forget")
        await visitor.post("/forget")
        assert "erased" in visitor.words
    await until(lambda: not cafi.rows("inbox"))
    for person in others:
        for number in range(3):
            await fake.do("write", person=person["id"], text=f"I cannot sleep, what helps? ({number})")
        await shown(fake, person, 5)
    await asyncio.sleep(1)  # two rounds of tidying
    assert with_any(await cafi.living(), *wanted) == []
    assert cafi.times(*wanted) <= MOST_REMAINS
    assert not any(one.encode() in on_disk(cafi.folder) for one in (NAME, session))


async def test_a_crash_leaves_no_memory_on_the_disk(used: tuple[OpenBook, TelegramProcess, str]) -> None:
    """The running program has switched core dumps off for good."""
    cafi, _, _ = used
    assert cafi.process is not None
    assert resource.prlimit(cafi.process.pid, resource.RLIMIT_CORE) == (0, 0)
