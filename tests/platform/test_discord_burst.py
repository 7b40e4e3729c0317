"""Many people at once on Discord: all are acknowledged in time, all are answered, and nobody gets another's answer."""

from __future__ import annotations

from pathlib import Path

from benchmarks.discord_burst import Burst, rush


async def test_a_hundred_questions_at_once_are_acknowledged_and_answered_and_not_mixed_up(tmp_path: Path) -> None:
    """None is shown as failed; each answer carries its own question's token, in its own asker's thread."""
    told = await rush(tmp_path, Burst(people=20, questions=100, turn_seconds=0.2))
    assert (told.answered, told.mixed_up, told.failed) == (100, 0, 0)
