"""The webhook against a receiver on loopback: signature, retries, giving up, restart, bound."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import select

from adapters.feedback.webhook import BATCH, Waits, WebhookSink, checked_address, retry_after, signature
from adapters.storage.database import Database
from adapters.storage.tables import outbox
from engine.exceptions import ConfigurationError
from tests.fakes.webhook_receiver import Answer, WebhookReceiver
from tests.feedback import database, event, rows

SECRET = "a secret of the operator's"
WAITS = Waits(between_deliveries=0.02, first=0.01, most=0.05, attempt=5.0)
NOW = datetime(2026, 11, 21, 23, 18, 25, tzinfo=UTC)


def sink(kept: Database, address: str, **changes: Any) -> WebhookSink:
    return WebhookSink(
        **{"database": kept, "address": address, "secret": SECRET, "waits": WAITS, "random": Random(1), **changes}
    )


def receiver(*answers: int | Answer) -> WebhookReceiver:
    return WebhookReceiver(answers, secret=SECRET.encode())


async def emptied(kept: Database) -> None:
    while await kept.run(lambda connection: connection.execute(select(outbox.c.id)).first()) is not None:  # noqa: ASYNC110 - the disk tells nobody
        await asyncio.sleep(0.005)


def delivered(batches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for batch in batches for event in batch["events"]]


async def test_events_arrive_signed_in_batches_and_leave_the_outbox(tmp_path: Path) -> None:
    """250 events arrive once each in batches of at most 100, with right signatures, and nothing of them stays."""
    kept = database(tmp_path)
    async with receiver(200) as server:
        sent = sink(kept, server.url, now=lambda: NOW)
        await sent.add([event(option="yes" if number % 2 else "no") for number in range(250)])
        async with sent:
            await emptied(kept)
    assert [len(batch["events"]) for batch in server.batches] == [100, 100, 50]
    assert len({batch["batch"] for batch in server.batches}) == 3
    assert server.refused == 0
    assert set(server.timestamps) == {"2026-11-21T23:18Z"}
    assert sum(one["option"] == "yes" for one in delivered(server.batches)) == 125
    assert set(delivered(server.batches)[0]) == set(event().as_document())
    await kept.aclose()


async def test_the_order_inside_a_batch_tells_nothing(tmp_path: Path) -> None:
    """Events arrive in another order than they were given."""
    kept = database(tmp_path)
    options = ["yes"] * 50 + ["no"] * 50
    async with receiver(200) as server:
        sent = sink(kept, server.url)
        await sent.add([event(option=option) for option in options])
        async with sent:
            await emptied(kept)
    arrived = [one["option"] for one in delivered(server.batches)]
    assert sorted(arrived) == sorted(options)
    assert arrived != options
    assert arrived != options[::-1]
    await kept.aclose()


@pytest.mark.parametrize(
    "failures",
    [(500, 502, 503), (429,), (Answer(status=429, headers={"Retry-After": "0"}),), (Answer(never=True),)],
    ids=["server errors", "too many", "too many with a wait", "time-out"],
)
async def test_what_passes_is_tried_again(tmp_path: Path, failures: tuple[int | Answer, ...]) -> None:
    """After server errors, 429 and time-outs the same batch comes again under the same name, until it is taken."""
    kept = database(tmp_path)
    async with receiver(*failures, 200) as server:
        sent = sink(kept, server.url, waits=Waits(between_deliveries=0.02, first=0.01, most=0.05, attempt=0.3))
        await sent.add([event(), event(option="no")])
        async with sent:
            await emptied(kept)
    assert len(server.batches) == len(failures) + 1
    assert all(batch == server.batches[0] for batch in server.batches)
    await kept.aclose()


async def test_a_wait_that_the_receiver_asks_for_is_honoured(tmp_path: Path) -> None:
    """With Retry-After of an hour there is no second request, however short the own waits are."""
    kept = database(tmp_path)
    async with receiver(Answer(status=429, headers={"Retry-After": "3600"}), 200) as server:
        sent = sink(kept, server.url)
        await sent.add([event()])
        async with sent:
            await server.until(1)
            await asyncio.sleep(0.3)
    assert len(server.batches) == 1
    assert len(rows(kept, select(outbox))) == 1
    await kept.aclose()


@pytest.mark.parametrize("status", [400, 404, 410, 302])
async def test_a_refusal_is_final_and_named(tmp_path: Path, status: int, caplog: pytest.LogCaptureFixture) -> None:
    """On another 4xx or a redirect the batch is given up after one request, and one warning names the status only."""
    kept = database(tmp_path)
    with caplog.at_level(logging.WARNING):
        async with receiver(Answer(status=status, headers={"Location": "/elsewhere"})) as server:
            sent = sink(kept, server.url)
            await sent.add([event()])
            async with sent:
                await emptied(kept)
    assert len(server.batches) == 1
    assert [one.getMessage() for one in caplog.records] == [
        f"the feedback webhook refused 1 events with status {status}; they are dropped"
    ]
    await kept.aclose()


async def test_a_receiver_that_is_away_loses_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While nobody listens events stay in the outbox, nothing is raised, and the log names neither address nor event."""
    kept = database(tmp_path)
    async with receiver(200) as server:
        gone = server.url
    with caplog.at_level(logging.WARNING):
        async with sink(kept, gone) as sent:
            await sent.add([event()])
            while not caplog.records:  # noqa: ASYNC110 - a log tells nobody
                await asyncio.sleep(0.005)
    assert len(rows(kept, select(outbox))) == 1
    said = caplog.text
    assert "cannot be reached: ConnectError" in said
    assert gone not in said and "helpful" not in said
    await kept.aclose()


async def test_a_restart_delivers_what_was_left(tmp_path: Path) -> None:
    """Events left in the outbox by one process are delivered by the next, without any new event."""
    first = database(tmp_path)
    async with receiver(503) as server, sink(first, server.url) as sent:
        await sent.add([event()] * (BATCH + 20))
        await server.until(1)
    await first.aclose()
    second = database(tmp_path)
    async with receiver(200) as server, sink(second, server.url):
        await emptied(second)
    assert len(delivered(server.batches)) == BATCH + 20
    await second.aclose()


async def test_the_outbox_is_bounded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Beyond the bound the oldest events are dropped, with a warning that holds a number and nothing else."""
    kept = database(tmp_path)
    sent = sink(kept, "https://example.invalid/", limit=10)
    with caplog.at_level(logging.WARNING):
        await sent.add([event(option="no")] * 8)
        assert not caplog.records
        await sent.add([event(option="yes")] * 7)
    left = [row.event for row in rows(kept, select(outbox).order_by(outbox.c.id))]
    assert ["yes" in one for one in left] == [False] * 3 + [True] * 7
    assert [one.getMessage() for one in caplog.records] == [
        "the feedback outbox is full: the oldest 5 events were dropped"
    ]
    await kept.aclose()


async def test_events_wait_for_the_next_delivery(tmp_path: Path) -> None:
    """An event that comes after a delivery is not sent at once, so that its arrival tells no time."""
    kept = database(tmp_path)
    async with receiver(200) as server:
        async with sink(kept, server.url, waits=Waits()) as sent:
            await sent.add([event()])
            for _ in range(500):
                if server.batches:
                    break
                await asyncio.sleep(0.02)
            await sent.add([event()])
            await asyncio.sleep(0.2)
        assert len(server.batches) == 1
    await kept.aclose()


def test_the_signature_is_the_documented_one() -> None:
    """The signature covers timestamp and body, so that neither can be exchanged."""
    wanted = "sha256=" + hmac.new(b"key", b'2026-11-21T23:18Z.{"a":1}', hashlib.sha256).hexdigest()
    assert signature(b"key", "2026-11-21T23:18Z", b'{"a":1}') == wanted


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0),
        ("120", 120),
        ("Sat, 21 Nov 2026 23:19:25 GMT", 60),
        ("Sat, 21 Nov 2026 20:00:00 GMT", 0),
        ("soon", 0),
        ("-5", 0),
        ("²", 0),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str | None, seconds: float) -> None:
    """Seconds and dates are understood, and anything else means no wait."""
    assert retry_after(value, NOW) == seconds


@pytest.mark.parametrize(
    "address",
    [
        "http://example.org/x",
        "ftp://example.org",
        "example.org",
        "https://",
        "",
        "http://127.0.0.1.example.org/",
        "file:///x",
    ],
)
def test_feedback_leaves_the_machine_encrypted_only(address: str) -> None:
    """Every address but https, and http on this machine, is refused."""
    with pytest.raises(ConfigurationError, match="https"):
        checked_address(address)


@pytest.mark.parametrize(
    "address", ["https://example.org/x", "http://127.0.0.1:8080/", "http://localhost/", "http://[::1]:9/x"]
)
def test_safe_addresses_are_taken(address: str) -> None:
    """Addresses with https, and http on this machine, are taken as they are."""
    assert checked_address(address) == address
