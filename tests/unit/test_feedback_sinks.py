"""Where events go: exact counts in the database, and sinks that fail alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import select

from adapters.feedback.events import FeedbackEvent
from adapters.feedback.sinks import DatabaseSink, Forwarding, forwarding
from adapters.feedback.webhook import WebhookSink
from adapters.storage.tables import events
from engine.exceptions import ConfigurationError, StorageUnavailable
from tests.feedback import database, event, rows


class Failing:
    """A sink that is out of order."""

    async def add(self, events: Sequence[FeedbackEvent]) -> None:
        raise StorageUnavailable("the disk is full of Kim")


async def test_two_hundred_increments_are_two_hundred(tmp_path: Path) -> None:
    """200 concurrent additions of one event through two connections to one database count 200."""
    both = [database(tmp_path), database(tmp_path)]
    sinks = [DatabaseSink(database=one) for one in both]
    await asyncio.gather(*(sinks[number % 2].add([event()]) for number in range(200)))
    assert [tuple(row) for row in rows(both[0], select(events))] == [
        ("2026-W47", "telegram", "schizophrenia", "helpful", "yes", "causes", "ACCEPT", 200)
    ]
    for one in both:
        await one.aclose()


async def test_equal_events_share_a_row_and_others_do_not(tmp_path: Path) -> None:
    """Events differing in one field are counted apart; equal ones in one batch are added up."""
    kept = database(tmp_path)
    await DatabaseSink(database=kept).add([event(), event(), event(option="no"), event(sources=("voices", "causes"))])
    await DatabaseSink(database=kept).add([event(sources=("causes", "voices"))])
    found = {(row.option, row.sources): row[-1] for row in rows(kept, select(events))}
    assert found == {("yes", "causes"): 2, ("no", "causes"): 1, ("yes", "causes voices"): 2}
    await kept.aclose()


async def test_a_failing_sink_stops_neither_the_other_nor_the_chat(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A sink that raises is passed over with a warning that names only its kind, and the next one gets the events."""
    kept = database(tmp_path)
    with caplog.at_level(logging.WARNING):
        async with Forwarding(sinks=(Failing(), DatabaseSink(database=kept), Failing())) as sinks:
            await sinks.add([event()])
            await sinks.add([])
    assert [row[-1] for row in rows(kept, select(events))] == [1]
    assert [one.getMessage() for one in caplog.records] == ["feedback was not kept by Failing: StorageUnavailable"] * 2
    await kept.aclose()


async def test_sinks_are_built_from_settings(tmp_path: Path) -> None:
    """Each configured sink is built once, in order, and none where none is configured."""
    kept = database(tmp_path)
    built = forwarding(
        kept,
        sinks=("database", "webhook", "database"),
        webhook_url="https://example.invalid/feedback",
        webhook_secret="s" * 16,
    )
    assert [type(one) for one in built.sinks] == [DatabaseSink, WebhookSink]
    assert forwarding(kept, sinks=()).sinks == ()
    with pytest.raises(ConfigurationError, match="https"):
        forwarding(kept, sinks=("webhook",), webhook_url="http://example.invalid/", webhook_secret="s" * 16)
    await kept.aclose()
