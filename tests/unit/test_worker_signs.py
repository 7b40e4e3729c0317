"""When a worker believes that others are dead."""

from __future__ import annotations

import pytest

pytest.importorskip("procrastinate", reason="procrastinate is not installed: pip install 'cafi[postgres]'")


def test_after_the_server_was_away_or_silent_nobody_counts_as_dead_at_once() -> None:
    """A worker that begins believes what it reads; one whose own signs stayed out waits until all could give theirs."""
    from adapters.delivery.job_queue import STALLED_SECONDS
    from adapters.delivery.worker import Signs

    now = 100.0
    signs = Signs(clock=lambda: now)
    assert signs.believed
    for _ in range(20):
        now += 1
        signs.given()
        assert signs.believed
    now += 10  # the server says nothing
    assert not signs.believed
    signs.given()
    assert not signs.believed
    for _ in range(int(STALLED_SECONDS) + 1):
        now += 1
        signs.given()
    assert signs.believed
    signs.missed()  # it restarts
    assert not signs.believed
    for second in range(int(STALLED_SECONDS) + 1):
        assert not signs.believed, second
        now += 1
        signs.given()
    assert signs.believed
