"""The compose files for many processes, with every container as a process of this machine."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.rig import mock_server
from tests.chromium import free_port
from tests.compose_files import DEPLOY, composed
from tests.fakes.telegram_process import ROOT, TelegramProcess
from tests.killing import Cafi, until
from tests.platform.test_killing import QUESTIONS, answers, begun
from tests.postgres import PostgresServer
from tests.team import knowledge_folder

DATABASE, RECEIVERS = "deployed", 1
SERVICES: dict[str, Any] = composed("compose.yaml", "compose.workers.yaml")["services"]
pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")


class Container(Cafi):
    """A service's command with the service's variables, on its own ports of the loopback address.

    `volume` is where the containers' shared volume is mounted; `secrets`: those of the whole project.
    """

    def __init__(self, name: str, number: int, volume: Path, secrets: Path) -> None:
        super().__init__(volume, {}, log=f"{name}-{number}.txt", kb=volume)
        self.port, self.health, self.name, service = free_port(), free_port(), name, SERVICES[name]
        own = volume.parent / f"{name}-{number}"
        own.mkdir()
        for one in service["secrets"]:
            shutil.copy(secrets / one, own)
        given = {
            key: value.replace("${SITE_HOST:?}", "cafi.example.org") for key, value in service["environment"].items()
        }
        assert given["CAFI_SECRETS_FOLDER"] == "/run/secrets" and given["CAFI_HEALTH__HOST"] == "0.0.0.0"  # noqa: S104
        self._command = [one.replace("/etc/cafi", str(DEPLOY)) for one in service["command"]]
        rest = {key: value for key, value in self._environment.items() if not key.startswith("CAFI_")}
        self._environment = rest | given | {
            "HOME": str(volume),
            "PYTHONPATH": str(ROOT),
            "CAFI_SECRETS_FOLDER": str(own),
            "CAFI_HEALTH__HOST": "127.0.0.1",
            "CAFI_HEALTH__PORT": str(self.health),
            "CAFI_WEB__HOST": "127.0.0.1",
            "CAFI_WEB__PORT": str(self.port),
        }  # fmt: skip

    def told(self, more: dict[str, str]) -> None:
        """Where the stand-ins for what is outside are."""
        self._environment |= more

    async def start(self) -> Process:
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", "from bots.cli import app; app()", *self._command),
                cwd=self.folder,
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        return self.process


def steps() -> Iterator[list[str]]:
    """CAFI's services in the order in which compose starts them: what comes later waits for what came before."""
    order = TopologicalSorter({name: set(one.get("depends_on", ())) for name, one in SERVICES.items()})
    order.prepare()
    while order.is_active():
        ready = order.get_ready()
        if ours := sorted(one for one in ready if SERVICES[one]["image"] == "cafi:local"):
            yield ours
        order.done(*ready)


async def seen(client: httpx.AsyncClient, port: int, path: str, **headers: str) -> httpx.Response:
    """What a port answers."""
    return await client.get(f"http://127.0.0.1:{port}{path}", headers=headers)


async def ready(client: httpx.AsyncClient, port: int) -> None:
    """Wait until a process says that it works."""
    for _ in range(1200):
        with suppress(httpx.TransportError):
            if (await seen(client, port, "/readyz")).status_code == 200:
                return
        await asyncio.sleep(0.05)
    raise AssertionError("It does not become ready.")


def figures(exposition: str) -> dict[str, float]:
    """Every figure by its name and labels."""
    return {
        name: float(value)
        for name, _, value in (one.rpartition(" ") for one in exposition.splitlines() if not one.startswith("#"))
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of secrets that the script makes."""
    subprocess.run([DEPLOY / "make-secrets.sh", tmp_path / "secrets"], check=True, capture_output=True)
    return tmp_path / "secrets"


@pytest.mark.timeout(240)
async def test_what_compose_starts_answers_and_its_workers_count_it(
    tmp_path: Path, project: Path, postgresql: PostgresServer
) -> None:
    """`migrate` ends, then a receiver and two workers answer on Telegram; the workers count that, for the token alone, and no
    figure tells who wrote or what."""
    volume = tmp_path / "state"
    volume.mkdir()
    postgresql.execute(f"CREATE DATABASE {DATABASE}")
    async with AsyncExitStack() as stack:
        model = stack.enter_context(mock_server())
        model.reset(script="accepted", base_ms=50.0, per_token_ms=0.0)
        fake = await stack.enter_async_context(TelegramProcess(tmp_path / "calls.jsonl"))
        filled = {
            "CAFI_STORAGE__URL": postgresql.url(DATABASE),
            "CAFI_MODELS__API_KEY": "a-key",
            "CAFI_TELEGRAM__TOKEN": fake.token,
        }
        for name, text in filled.items():
            (project / name).unlink()
            (project / name).write_text(text)
        outside = {
            "CAFI_MODELS__BASE_URL": model.base_url,
            "CAFI_TELEGRAM__BASE_URL": fake.base_url,
            "CAFI_KNOWLEDGE_BASE": str(knowledge_folder(tmp_path / "kb")),
        }
        running: list[Container] = []
        for names in steps():
            for name in names:
                count = RECEIVERS if name == "cafi" else SERVICES[name].get("deploy", {}).get("replicas", 1)
                for number in range(count):
                    made = Container(name, number, volume, project)
                    made.told(outside)
                    await made.start()
                    stack.push_async_callback(made.aclose)
                    running.append(made)
            if names == ["migrate"]:
                (migrating,) = running
                assert migrating.process is not None and await migrating.process.wait() == 0
                assert (volume / "var" / "inbox.key").exists()
                running.clear()
        assert sorted(one.name for one in running) == ["cafi", "worker", "worker"]
        client = await stack.enter_async_context(httpx.AsyncClient())
        for one in running:
            await ready(client, one.health)
        people = await begun(fake, 3)
        for number, person in enumerate(people):
            await fake.do("write", person=person["id"], text=f"{QUESTIONS[number]} ({1000 + number})")
        await until(lambda: set(answers(fake)) == {1000, 1001, 1002})
        await until(lambda: postgresql.execute("SELECT count(*) FROM inbox", DATABASE) == [(0,)])
        token = (project / "CAFI_WEB__OPERATOR_TOKEN").read_text()
        told = {}
        for one in running:
            assert (await seen(client, one.health, "/healthz")).status_code == 200
            for headers in ({}, {"Authorization": "Bearer of-no-token-that-is-known"}):
                assert (await seen(client, one.health, "/metrics", **headers)).status_code == 404
            answer = await seen(client, one.health, "/metrics", Authorization=f"Bearer {token}")
            told[one] = answer.text
        page = await seen(client, next(one.port for one in running if one.name == "cafi"), "/crisis", Host="localhost")
        assert page.status_code == 200
        workers = [figures(text) for one, text in told.items() if one.name == "worker"]
        for name in ('cafi_answers_total{outcome="accepted"}', 'cafi_decisions_total{decision="ACCEPT"}'):
            assert sum(one.get(name, 0.0) for one in workers) == len(people)
        assert sum(one["cafi_answer_seconds_count"] for one in workers) == len(people)
        called = (count for one in workers for name, count in one.items() if name.startswith("cafi_model_calls_total"))
        assert sum(called) >= 2 * len(people)
        for text in told.values():
            assert figures(text)["cafi_queue_workers"] == 2.0 and figures(text)["cafi_queue_waiting"] == 0.0
            assert not re.search(r"P[012]\b|sleep|tired", text) and not any(str(one["id"]) in text for one in people)
        for one in running:
            assert await one.end(signal.SIGTERM) == 0
        assert all("Traceback" not in path.read_text("utf-8") for path in volume.glob("*.txt"))
    postgresql.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")
