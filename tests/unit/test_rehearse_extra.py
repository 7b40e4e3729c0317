"""`cafi rehearse` where its extra is not installed."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from bots.cli import app


@pytest.mark.parametrize("platform", ["telegram", "discord"])
def test_a_rehearsal_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    """Where a library of the stand-ins is missing, one calm line names the extra, without a traceback."""
    monkeypatch.setitem(sys.modules, f"rehearsal.{platform}_rehearsal", None)
    done = CliRunner().invoke(app, ["rehearse", platform, "--agents", "builtin"])
    assert done.exit_code == 1
    assert "Install cafi[rehearsal]" in done.output and "Traceback" not in done.output
