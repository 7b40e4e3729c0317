"""The real command in a process of its own, forked from one that has the project's modules loaded: starting costs nothing.

What it is given, where it runs, what it says and how it ends are those of a command that somebody has typed. A few tests
start it anew all the same, as it is installed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import random
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = Path(sysconfig.get_path("scripts")) / "cafi"
COMMAND = (str(SCRIPT),) if SCRIPT.exists() else (sys.executable, "-c", "from bots.cli import app; app()")
"""As it is installed, for tests that start it themselves."""
PACKAGES = ("engine", "adapters", "evaluation", "bots")
MOST_SECONDS = 60.0
_OF_DEVELOPERS = ("CAFI_", "OPENAI_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_LARGEST = 1 << 20
_asking = threading.Lock()


def environment(**extra: str) -> dict[str, str]:
    """The environment without settings of the developer's, with a terminal wide enough for every line."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_OF_DEVELOPERS)}
    return {**kept, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(ROOT), **extra}


def cafi(
    *words: object, stdin: bytes = b"", cwd: Path | str = "/", variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; whatever happens, there is never a traceback."""
    given = [os.fsdecode(one) if isinstance(one, bytes) else str(one) for one in words]
    with TemporaryFile() as read, TemporaryFile() as out, TemporaryFile() as err:
        read.write(stdin)
        read.seek(0)
        code = _run({"words": given, "cwd": str(cwd), "environment": environment(**(variables or {}))}, read, out, err)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    assert "Traceback" not in "".join(texts), "".join(texts)
    return subprocess.CompletedProcess(given, code, *texts)


def _run(asked: Mapping[str, Any], *files: Any) -> int:
    """How a command ends; raises TimeoutExpired."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs, _asking:
            descriptors = [*(one.fileno() for one in files), theirs.fileno()]
            socket.send_fds(_loaded(), [json.dumps(asked).encode()], descriptors)
        ours.settimeout(MOST_SECONDS)
        process = int.from_bytes(ours.recv(8), "big")
        try:
            return int.from_bytes(ours.recv(8), "big", signed=True)
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(asked["words"], MOST_SECONDS) from None


@cache
def _loaded() -> socket.socket:
    """The way to the process with the modules, which lives as long as ours."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
    line = [sys.executable, "-m", "tests.command", str(theirs.fileno())]
    process = subprocess.Popen(line, cwd=ROOT, env=environment(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(asking: socket.socket) -> None:
    """Fork for each request: one process to wait, and of that one the command itself, in which this returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, files, _, _ = socket.recv_fds(asking, _LARGEST, 4)
        if not request:
            os._exit(0)
        if os.fork():
            for one in files:
                os.close(one)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        *streams, answering = files
        process = os.fork()
        if process:
            with socket.socket(fileno=answering) as told:
                told.send(process.to_bytes(8, "big"))
                _, status = os.waitpid(process, 0)
                told.send(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))
            os._exit(0)
        asking.close()
        os.close(answering)
        for number, one in enumerate(streams):
            os.dup2(one, number)
            os.close(one)
        asked = json.loads(request)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir(asked["cwd"])
        if "PYTHONIOENCODING" in os.environ:  # an interpreter reads it when it starts
            os.execv(COMMAND[0], [*COMMAND, *asked["words"]])  # noqa: S606 - no shell is what is wanted
        sys.argv = ["cafi", *asked["words"]]
        random.seed()
        return


def _load() -> None:
    """Every module of the project, but those that are programs."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not one.name.endswith("__main__"):
                with suppress(ImportError):  # of what is not installed for development
                    importlib.import_module(one.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from bots.cli import app

    app()
