"""What the benchmarks run on: a mock model server in a process of its own and an engine that talks to it."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.mock_server import LoggedCall
from bots.compose import Application
from bots.process import settle
from bots.settings import CafiSettings
from engine import Conversation, Engine, ModelSettings, Outcome, Prompts, Turn

ROOT = Path(__file__).resolve().parent.parent
BASE_MS, PER_TOKEN_MS = 400.0, 5.0

# None of them is urgent or touches a high-stakes topic, where a general answer is not allowed.
QUESTIONS = (
    "Is it my fault that I got ill?",
    "What are the early signs of a relapse?",
    "How is the diagnosis made?",
    "How can my family help me?",
    "What can I do about stigma?",
)
# What a turn must end with, so that nothing is timed that went wrong.
OUTCOMES = {
    "accepted": Outcome.ACCEPTED,
    "general": Outcome.ACCEPTED,
    "warning": Outcome.WARNED,
    "refined": Outcome.REFINED,
    "always_rejected": Outcome.FALLBACK,
    "invalid_citation": Outcome.ACCEPTED,
}

Result = TypeVar("Result")


@dataclass(kw_only=True)
class MockServer:
    """A running mock server and its controls."""

    port: int

    @property
    def base_url(self) -> str:
        """The address for `models.base_url`."""
        return f"http://127.0.0.1:{self.port}/v1"

    def reset(self, **changes: object) -> None:
        """Forget the calls so far; changes are `script`, `base_ms`, `per_token_ms`."""
        self.ask("POST", "/reset", changes)

    def calls(self) -> list[LoggedCall]:
        """The calls since the last reset, in the order of their starts."""
        found = [LoggedCall(**call) for call in self.ask("GET", "/calls")]
        return sorted(found, key=lambda call: call.start)

    def load(self) -> tuple[float, int]:
        """Processor seconds of the server so far, and the connections it has taken."""
        found = self.ask("GET", "/load")
        return float(found["cpu_seconds"]), int(found["connections"])

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer to one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, json.dumps(body or {}))
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise RuntimeError(f"The mock server answers {response.status}: {answer}")
        return answer


@contextmanager
def mock_server(module: str = "benchmarks.mock_server") -> Iterator[MockServer]:
    """A mock server in a new process, ended with the block. `module`: which one."""
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline().split()
            if ready[:1] != ["ready"]:
                raise RuntimeError("The mock server did not start.")
            yield MockServer(port=int(ready[1]))
        finally:
            process.terminate()


@dataclass(kw_only=True)
class Rig:
    """An engine over a mock server, in one event loop."""

    server: MockServer
    engine: Engine
    runner: asyncio.Runner
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1000))

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine to its end."""
        return self.runner.run(work)

    async def turn(self, conversation: Conversation | None = None, question: str = QUESTIONS[0]) -> Turn:
        """One turn, of a new conversation unless one is given; no two questions are the same."""
        begun = conversation or self.engine.start()
        return await self.engine.respond(begun, f"{question} ({next(self.numbers)})")

    async def chat(self, turns: int) -> list[Turn]:
        """A conversation of several turns, one after the other and without pauses."""
        conversation, done = self.engine.start(), []
        for number in range(turns):
            turn = await self.turn(conversation, QUESTIONS[number % len(QUESTIONS)])
            conversation = turn.conversation
            done.append(turn)
        return done


def went_wrong(turn: Turn, script: str) -> str | None:
    """What is wrong with a turn that the script should have made; None when nothing is."""
    review = turn.review
    if review.outage is not None or review.built_in:
        return f"the language model was given up: {review.outage}"
    if any(verdict.failed for verdict in review.verdicts):
        return "a judge failed"
    if review.outcome is not OUTCOMES[script]:
        return f"outcome {review.outcome}, checks {review.failed_checks}"
    return None


def checked(turn: Turn, script: str) -> Turn:
    """The turn, if it went as the script wants it; raises AssertionError otherwise."""
    problem = went_wrong(turn, script)
    assert problem is None, f"{script}: {problem}"
    return turn


@contextmanager
def rig(server: MockServer, **changes: object) -> Iterator[Rig]:
    """An engine with language models behind `server`; `changes` are settings over the defaults.

    Every role has its own name in place of the model's, so that the server's log tells them apart.
    """
    settings = CafiSettings()
    roles = [template.head.role for template in Prompts.load(settings.prompts_folder).templates.values()]
    models = ModelSettings(base_url=server.base_url, roles={role: role for role in roles})
    application = Application(settings=settings.model_copy(update={"agents": "llm", "models": models, **changes}))
    with asyncio.Runner() as runner:
        try:
            # The client is built inside the loop that it will live in.
            yield Rig(server=server, engine=runner.run(_built(application)), runner=runner)
        finally:
            runner.run(application.closing.aclose())


async def _built(application: Application) -> Engine:
    engine = application.engine
    settle(engine, "en")
    return engine


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a stretch of work took, in seconds.

    `waited` is the time for which the process was ready and had no core, `others` the processor time of all
    processes but this one and the server; 0 where the system does not tell.
    """

    wall: float
    cpu: float
    waited: float
    server_cpu: float
    connections: int
    others: float


class Meter:
    """Measures a stretch of work: `with Meter(server) as meter: …`, then `meter.spent`."""

    spent: Spent

    def __init__(self, server: MockServer) -> None:
        self._server = server

    def __enter__(self) -> Meter:
        self._load, self._busy, self._waited = self._server.load(), _busy_seconds(), _waited_seconds()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        load = self._server.load()
        server_cpu = load[0] - self._load[0]
        others = _busy_seconds() - self._busy - cpu - server_cpu
        self.spent = Spent(
            wall=wall,
            cpu=cpu,
            waited=_waited_seconds() - self._waited,
            server_cpu=server_cpu,
            connections=load[1] - self._load[1] - 1,  # the meter's own
            others=max(0.0, others),
        )


def _busy_seconds() -> float:
    """Processor seconds of the whole machine that were not idle."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    fields: Sequence[int] = [int(one) for one in stat.read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / 100


def _waited_seconds() -> float:
    """Seconds for which this process was ready to run and no core was free."""
    stat = Path("/proc/self/schedstat")
    return int(stat.read_text().split()[1]) / 1e9 if stat.exists() else 0.0
