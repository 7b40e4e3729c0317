"""The path of one message: the project's own files and functions between an update of Telegram and its answer.

    python -m benchmarks.path [--whole] [--page docs/architecture.md]

The real bot, Telegram's stand-in and a model server on the loopback address, from a script. Somebody who has agreed and
asked once asks again. Counted is each file and each named function or method of `engine/`, `adapters/` and `bots/` that is
entered, once, however often it runs; not lambdas, comprehensions, properties, and methods with underscores on both sides.
On the line are those of them that wait while the database, the model or Telegram is asked: what a reader steps through;
the others compute something for them and return.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

from benchmarks.rig import QUESTIONS, ROOT, MockServer, mock_server
from bots.output import write_part
from bots.settings import CafiSettings
from bots.stage import BotStage
from engine import ModelSettings
from rehearsal.telegram_world import TelegramPerson, TelegramServer

PART = "path"
STEPS: Mapping[str, str] = {
    "Polling._ask": "an update arrives",
    "Dispatch.take": "it is admitted, sealed, stored; then acknowledged",
    "Dispatch._work": "its chat's turn comes; state is opened",
    "Chat.handle": "where does it belong?",
    "Engine.assess_now": "danger first",
    "Engine.respond": "the turn begins",
    "Attempt.answer": "sources, draft, checks",
    "Filter.run": "judges",
    "remember": "the answer is made and sent",
}
"""A step begins where one of these is entered first."""
BORDERS = frozenset({"Database.run", "post", "AiohttpRequest.do_request"})
"""Where a database, a model and Telegram are asked."""
AFTER = "state and “answered” are stored"


@dataclass(kw_only=True)
class Recorder:
    """Notes which code is entered, in this order, while it is on, and which of it waits at a border."""

    on: bool = False
    entered: dict[CodeType, None] = field(default_factory=dict)
    waiting: set[CodeType] = field(default_factory=set)
    begun_by: dict[asyncio.Task[Any] | None, set[CodeType]] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """As `sys.setprofile` calls it."""
        if self.on and event == "call":
            self.entered[frame.f_code] = None
            if frame.f_code.co_qualname in BORDERS:
                self.waiting |= self._open(frame, asyncio.get_running_loop())

    def task(self, loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> asyncio.Task[Any]:
        """As the loop makes a task; what waits for it is remembered, as its own frames do not tell."""
        begun = asyncio.Task(work, loop=loop, **given)
        self.begun_by[begun] = self._open(sys._getframe(), loop)
        return begun

    def _open(self, frame: FrameType, loop: asyncio.AbstractEventLoop) -> set[CodeType]:
        """What waits for a frame, in its task and in those that the task was begun by."""
        found = set(self.begun_by.get(asyncio.current_task(loop), ()))
        at: FrameType | None = frame
        while at is not None:
            found.add(at.f_code)
            at = at.f_back
        return found


@dataclass(frozen=True, kw_only=True)
class Entered:
    """One function of ours: its file below the root, and its name with that of its class."""

    file: str
    name: str

    @classmethod
    def of(cls, code: CodeType) -> Entered | None:
        """None for what is not counted."""
        path = Path(code.co_filename)
        if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in {"engine", "adapters", "bots"}:
            return None
        if code.co_name.startswith("<") or (code.co_name.startswith("__") and code.co_name.endswith("__")):
            return None
        file = path.relative_to(ROOT)
        found: object = import_module(".".join(file.with_suffix("").parts))
        for part in code.co_qualname.split(".<locals>")[0].split("."):
            found = vars(found)[part] if hasattr(found, "__dict__") else None
        if isinstance(found, property | cached_property):
            return None
        return cls(file=str(file), name=code.co_qualname.replace(".<locals>", ""))


def steps(entered: Sequence[Entered]) -> Iterator[tuple[str, Sequence[Entered]]]:
    """The functions by the step in which each is entered first. Raises ValueError where a step does not begin."""
    names = [one.name for one in entered]
    begins = [names.index(name) for name in STEPS]
    begins[0] = 0
    for about, begin, end in zip(STEPS.values(), begins, [*begins[1:], len(names)], strict=True):
        yield about, entered[begin:end]


@dataclass(frozen=True, kw_only=True)
class MeasuredPath:
    """What one message enters, in this order; the first `sent` before the answer is sent. `line`: what waits at borders."""

    entered: Sequence[Entered]
    sent: int
    line: frozenset[Entered]

    def page(self, *, whole: bool) -> str:
        """Numbers and list as Markdown: of the line, or of everything."""
        before = self.entered[: self.sent]
        rows = [*steps(before), (AFTER, self.entered[self.sent :])]
        head = [
            f"From the update to the sent answer: on the line {_size([one for one in before if one in self.line])}, "
            f"in all {_size(before)}; then {_size(self.entered[self.sent :])} more.",
            "",
            f"| step | in all | {'entered' if whole else 'on the line'}, each where it comes first |",
            "|---|---|---|",
        ]
        shown = [(about, inside, [one for one in inside if whole or one in self.line]) for about, inside in rows]
        return "\n".join(
            [*head, *(f"| {about} | {_size(inside)} | {_by_file(some)} |" for about, inside, some in shown)]
        )


def _size(entered: Sequence[Entered]) -> str:
    return f"{len({one.file for one in entered})} files, {len(entered)} functions"


def _by_file(entered: Sequence[Entered]) -> str:
    files: dict[str, list[str]] = {}
    for one in entered:
        files.setdefault(one.file, []).append(f"`{one.name}`")
    return "<br>".join(f"`{file}`: {', '.join(names)}" for file, names in files.items())


async def measure(recorder: Recorder, server: MockServer, folder: Path) -> MeasuredPath:
    """What one message enters."""
    models = ModelSettings(base_url=server.base_url)
    settings = CafiSettings().model_copy(update={"agents": "llm", "models": models})
    asyncio.get_running_loop().set_task_factory(recorder.task)
    async with TelegramServer() as fake:
        running = await BotStage(settings=settings).telegram(folder, {"token": fake.token, "base_url": fake.base_url})
        anna = fake.person("Anna")
        await _agreed(fake, anna)
        await _asked(fake, anna, QUESTIONS[0])
        await running.bot.dispatch.idle()
        recorder.on = True
        await _asked(fake, anna, QUESTIONS[1])
        sent = len(recorder.entered)
        await running.bot.dispatch.idle()
        recorder.on = False
        await running.stop()
    codes = tuple(recorder.entered)
    return MeasuredPath(
        entered=_counted(codes), sent=len(_counted(codes[:sent])), line=frozenset(_counted(recorder.waiting))
    )


def _counted(codes: Iterable[CodeType]) -> Sequence[Entered]:
    return tuple(dict.fromkeys(one for code in codes if (one := Entered.of(code)) is not None))


async def _agreed(fake: TelegramServer, person: TelegramPerson) -> None:
    fake.start(person)
    await fake.wait_for(lambda: fake.replies(person))
    fake.press(person, fake.replies(person)[-1].id, next(iter(fake.replies(person)[-1].buttons)))
    await fake.wait_for(lambda: len(fake.replies(person)) > 1)


async def _asked(fake: TelegramServer, person: TelegramPerson, text: str) -> None:
    before = len(fake.replies(person))
    fake.write(person, text)
    await fake.wait_for(lambda: len(fake.replies(person)) > before)


def main() -> int:
    """Measure, then print or write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.path", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--page", type=Path, help="write it into this page")
    parser.add_argument("--whole", action="store_true", help="list everything that is entered")
    options = parser.parse_args()
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    with mock_server() as server, TemporaryDirectory() as folder:
        server.reset(base_ms=20, per_token_ms=0)
        found = asyncio.run(measure(recorder, server, Path(folder))).page(whole=options.whole)
    if options.page:
        write_part(options.page, PART, found)
    else:
        print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
