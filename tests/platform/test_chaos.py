"""The fault laboratory, quickly: one round of two of its faults on one deployment, and what its command says."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cluster import cluster
from chaos.deployment import deployed
from chaos.laboratory import Burst, Outcome, gathered, outlived
from chaos.outside_faults import OUTSIDE_FAULTS
from chaos.process_faults import PROCESS_FAULTS
from chaos.report import as_document, as_lines
from chaos.server_faults import SERVER_FAULTS
from chaos.tally import Tally
from tests.fakes.telegram_process import ROOT
from tests.postgres import MISSING, binaries

FAULTS = {one.name: one for one in (*PROCESS_FAULTS, *SERVER_FAULTS, *OUTSIDE_FAULTS)}
BURST = Burst(people=8, each=3, rate=8.0)
pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")


@pytest.mark.skipif(binaries() is None, reason=MISSING)
@pytest.mark.timeout(300)
@pytest.mark.skipif("CAFI_CHAOS" not in os.environ, reason="two real faults take a minute: make chaos, or CAFI_CHAOS=1")
async def test_a_killed_worker_and_a_restarted_server_cost_nobody_an_answer(tmp_path: Path) -> None:
    """In the midst of a burst a worker is killed, in another the server starts anew: the law holds, and all is answered."""
    dice = random.Random(1)
    with cluster() as servers:
        async with deployed(tmp_path, servers, webhook=False, receivers=1) as deployment:
            crowd = await gathered(deployment, BURST)
            killed = await outlived(deployment, crowd, FAULTS["kill-worker"], 1, dice, burst=BURST)
            assert killed.lawful and killed.tally is not None and killed.restarts >= 1, as_lines([killed])
            both = await outlived(deployment, crowd, FAULTS["restart-postgres"], 1, dice, burst=BURST)
    assert both.tally is not None
    assert both.tally.answered == both.tally.messages == 2 * BURST.people * BURST.each
    found = both.tally
    assert (found.lost, found.unjudged, found.out_of_order) == (0, 0, 0) and found.doubled <= 1, as_lines([both])


def outcome(**broken: int) -> Outcome:
    """A round of a fault, lawful but for what is given."""
    right = {"messages": 9, "answered": 9, "doubled": 1, "lost": 0, "out_of_order": 0, "unjudged": 0}
    counts = Tally(quoted=0, sorry=0, took={1000: 0.4}, **{**right, **broken})
    return Outcome(fault=FAULTS["kill-worker"], rounds=1, tally=counts)


@pytest.mark.parametrize("broken", [{"doubled": 2}, {"lost": 1}, {"out_of_order": 1}, {"unjudged": 1}])
def test_the_report_says_where_the_law_is_broken(broken: dict[str, int]) -> None:
    """One answer twice for a kill is lawful; one more, or one that is lost, unjudged or out of order, is named."""
    skipped = Outcome(fault=FAULTS["full-disk"], skipped="a disk of its own needs root")
    right, wrong = [outcome(), skipped], [outcome(), outcome(**broken)]
    assert as_document(right)["lawful"] and not as_document(wrong)["lawful"]
    assert as_lines(right)[-1] == "The law holds." and as_document(right)["skipped"] == {"full-disk": skipped.skipped}
    assert any(line.startswith("SKIPPED: full-disk") for line in as_lines(right))
    assert any(line.startswith("BROKEN: kill-worker") for line in as_lines(wrong))
    json.dumps(as_document(wrong))


def test_a_fault_that_does_not_exist_is_refused() -> None:
    """The command names the faults there are, and tries nothing."""
    asked = [sys.executable, "-m", "chaos", "--fault", "earthquake"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and all(name in done.stderr for name in FAULTS)
