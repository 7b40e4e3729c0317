"""A deployment of real processes: PostgreSQL, workers, receivers, stand-ins for Telegram and the model; and who restarts them."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import aiohttp
import psycopg

from benchmarks.rig import MockServer, mock_server
from chaos.cluster import Cluster
from chaos.telegram_server import Balance, BalancedProcess
from tests.chromium import free_port
from tests.killing import Cafi

DATABASE, SECRET = "chaos", "chaos-chaos-chaos-chaos-chaos"
RESTART_SECONDS = 1.0
"""What systemd or an orchestrator waits before it starts what has ended."""
READY_SECONDS = 120.0
_LEADER = (
    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
    "WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted"
)
_WORKERS = "SELECT count(*) FROM procrastinate_workers WHERE last_heartbeat > now() - interval '5 seconds'"


@dataclass(kw_only=True, eq=False)
class Member:
    """One process of the deployment, by its `name` in the database. `port`: of its webhook.

    `wanted`: whether it is started again when it has ended.
    """

    name: str
    cafi: Cafi
    port: int = 0
    wanted: bool = True

    @property
    def pid(self) -> int:
        """Its process's number."""
        assert self.cafi.process is not None
        return self.cafi.process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended; a frozen one runs."""
        return self.cafi.process is not None and self.cafi.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        """A signal, if it is there."""
        with suppress(ProcessLookupError):
            self.cafi.send(number)

    def says(self, words: str) -> bool:
        """Whether its log has these words."""
        return self.cafi.log.exists() and words in self.cafi.log.read_text(encoding="utf-8", errors="replace")


@dataclass(kw_only=True)
class Deployment:
    """Workers and receivers over one database. `webhook`: receivers are brought updates; without, one of them polls.

    `environment`: settings beside ours; `preload`: of the workers alone; `kb`: in place of a small one.
    """

    folder: Path
    cluster: Cluster
    telegram: BalancedProcess
    model: MockServer
    webhook: bool
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: Mapping[str, str] = field(default_factory=dict)
    kb: Path | None = None
    workers: list[Member] = field(default_factory=list)
    receivers: list[Member] = field(default_factory=list)
    restarts: int = 0

    @property
    def members(self) -> Sequence[Member]:
        """All its processes."""
        return [*self.workers, *self.receivers]

    async def begin(self, workers: int, receivers: int) -> None:
        """Tables and keys first, then the processes."""
        self.cluster.server.execute(f"CREATE DATABASE {DATABASE}")
        migrating = Cafi(self.folder, self._settings(), "migrate")
        if await (await migrating.start()).wait() != 0:
            raise RuntimeError(f"cafi migrate failed: {migrating.log}")
        self.workers = [self._member("worker", f"worker-{at}") for at in range(workers)]
        self.receivers = [self._member("run", f"receiver-{at}", port=free_port()) for at in range(receivers)]
        for member in self.members:
            await member.cafi.start()
        await self.ready()
        await self.balance()

    async def balance(self, **how: bool) -> None:
        """Updates go to all receivers, where they have a webhook."""
        urls = [f"http://127.0.0.1:{one.port}/telegram" for one in self.receivers] if self.webhook else []
        await self.telegram.balance(Balance(receivers=urls, **how))

    def _member(self, command: str, name: str, port: int = 0) -> Member:
        environment = self._settings(port, name) | (dict(self.preload) if command == "worker" else {})
        return Member(name=name, cafi=Cafi(self.folder, environment, command, f"{name}.txt", self.kb), port=port)

    def _settings(self, port: int = 0, name: str = "migrate") -> dict[str, str]:
        found = {
            "CAFI_STORAGE__URL": f"{self.cluster.server.url(DATABASE)}&application_name={name}",
            "CAFI_QUEUE": "workers",
            "CAFI_LOG_LEVEL": "INFO",
            "CAFI_AGENTS": "llm",
            "CAFI_MODELS__BASE_URL": self.model.base_url,
            "CAFI_TELEGRAM__TOKEN": self.telegram.token,
            "CAFI_TELEGRAM__BASE_URL": self.telegram.base_url,
            "CAFI_SESSIONS__WAITING_MESSAGES": "10000",
            "CAFI_SESSIONS__MESSAGES_A_MINUTE": "100000",
        }
        if self.webhook and port:
            found |= {
                "CAFI_TELEGRAM__WEBHOOK_URL": "https://cafi.example.org/telegram",
                "CAFI_TELEGRAM__WEBHOOK_SECRET": SECRET,
                "CAFI_TELEGRAM__WEBHOOK_PORT": str(port),
            }
        return found | dict(self.environment)

    # --- What runs --------------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Start again what has ended, until cancelled, as a machine's own supervisor does."""
        while True:
            await asyncio.sleep(0.1)
            gone = [one for one in self.members if one.wanted and not one.running]
            if gone or not self.cluster.there:
                await asyncio.sleep(RESTART_SECONDS)
                await asyncio.to_thread(self.cluster.keep)
            for member in gone:
                if member.wanted and not member.running:
                    self.restarts += 1
                    await member.cafi.start()

    async def ready(self) -> None:
        """Until all that are wanted serve."""
        end = time.monotonic() + READY_SECONDS
        while not await self._serving():
            if time.monotonic() > end:
                raise RuntimeError(f"Not everything serves within {READY_SECONDS:.0f} s; logs in {self.folder}")
            await asyncio.sleep(0.1)

    async def _serving(self) -> bool:
        if not all(one.running for one in self.members):
            return False
        if self.asked(_WORKERS) != [(len(self.workers),)]:
            return False
        if self.webhook:
            return all([await _is_ready(one.port) for one in self.receivers])
        return self.leader is not None

    @property
    def leader(self) -> Member | None:
        """The receiver that asks Telegram for updates; None while nobody does, or nobody knows."""
        names = {name for (name,) in self.asked(_LEADER) or ()}
        return next((one for one in self.receivers if one.running and one.name in names), None)

    def asked(self, statement: str) -> list[tuple[Any, ...]] | None:
        """One question to the database; None while it cannot be asked."""
        try:
            return self.cluster.server.execute(statement, DATABASE)
        except psycopg.Error:
            return None

    def waiting(self) -> int | None:
        """How many messages are not answered; None while nobody knows."""
        found = self.asked("SELECT count(*) FROM inbox")
        return None if found is None else int(found[0][0])

    async def aclose(self) -> None:
        """End all; what is frozen goes on first."""
        for member in self.members:
            member.wanted = False
            if member.running:
                member.send(signal.SIGCONT)
        await asyncio.gather(*(one.cafi.aclose() for one in self.members))


async def _is_ready(port: int) -> bool:
    try:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.ok
    except aiohttp.ClientError:
        return False


@asynccontextmanager
async def deployed(
    folder: Path,
    cluster: Cluster,
    *,
    webhook: bool,
    environment: Mapping[str, str] = MappingProxyType({}),
    preload: Mapping[str, str] = MappingProxyType({}),
    kb: Path | None = None,
    model_server: str = "chaos.model_server",
    workers: int = 2,
    receivers: int = 2,
) -> AsyncIterator[Deployment]:
    """A deployment until the block ends; whatever of it ends before is started again."""
    async with AsyncExitStack() as stack:
        model = stack.enter_context(mock_server(model_server))
        telegram = await stack.enter_async_context(BalancedProcess(folder / "calls.jsonl"))
        made = Deployment(
            folder=folder,
            cluster=cluster,
            telegram=telegram,
            model=model,
            webhook=webhook,
            environment=environment,
            preload=preload,
            kb=kb,
        )
        stack.push_async_callback(made.aclose)
        await made.begin(workers, receivers)
        keeping = asyncio.create_task(made.keep())
        try:
            yield made
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
