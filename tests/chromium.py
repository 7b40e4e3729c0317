"""Debian's Chromium, as all tests of pages start it."""

from __future__ import annotations

import shutil
import socket

import pytest

MISSING = (
    "Chromium is not installed, and the tests of the pages need it. On Debian or Ubuntu: sudo apt install chromium"
)
ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # nothing leaves the machine
)


def chromium_path() -> str:
    """Where it is; fails the test where it is not, with what to do."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail(MISSING, pytrace=False)
    return path


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
