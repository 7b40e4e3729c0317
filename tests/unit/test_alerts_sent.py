"""Alerts: told once, again when trouble stays, off by default, by mail and webhook, and never with content."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError
from sqlalchemy import Connection

from adapters.alerts.alerts import AlertFailed, AlertKind, Alerts
from adapters.alerts.senders import MailAlert, WebhookAlert
from adapters.alerts.settings import AlertSettings
from adapters.delivery.queue_age import QueueAge
from adapters.feedback.sinks import DatabaseSink
from adapters.storage.counts import UnansweredCounts
from adapters.storage.database import Database
from adapters.storage.saved_counts import ended_unanswered, save_counts
from adapters.storage.tables import inbox, unanswered
from bots.alerts import alerts
from bots.settings import SpendingSettings
from tests.fakes.webhook_receiver import WebhookReceiver
from tests.feedback import event
from tests.web import chats_in

SECRET = "a secret of the webhook that is long"


@dataclass
class Kept:
    """A sender that keeps what it is given, or fails."""

    failing: bool = False
    sent: list[AlertKind] = field(default_factory=list)

    async def send(self, kind: AlertKind) -> None:
        """Keep or fail."""
        if self.failing:
            raise AlertFailed
        self.sent.append(kind)


async def test_trouble_is_told_once_and_again_when_it_stays_or_comes_back() -> None:
    """New trouble is told, the same not before its time, ended trouble is forgotten, and what failed is tried again."""
    now, sender = [0.0], Kept()
    told = Alerts(senders=[sender], again=100.0, clock=lambda: now[0])
    await told.hold({AlertKind.QUEUE})
    await told.hold({AlertKind.QUEUE, AlertKind.ENDPOINT})
    assert sender.sent == [AlertKind.QUEUE, AlertKind.ENDPOINT]
    now[0] = 101.0
    await told.hold({AlertKind.QUEUE})
    assert sender.sent[2:] == [AlertKind.QUEUE]
    await told.hold(set())
    await told.hold({AlertKind.QUEUE})
    assert sender.sent[3:] == [AlertKind.QUEUE] and list(told.on) == [AlertKind.QUEUE]
    sender.failing = True
    await told.hold({AlertKind.SPENDING})
    sender.failing = False
    await told.hold({AlertKind.SPENDING})
    assert sender.sent[4:] == [AlertKind.SPENDING]


async def test_alerts_are_off_until_somebody_is_named(tmp_path: Path) -> None:
    """Without settings there is no way to send one; half of a setting is an error that names the other half."""
    chats = chats_in(tmp_path)
    async with chats.application.closing:
        assert alerts(chats).senders == []
        assert AlertSettings().webhook_url is None and AlertSettings().mail_to == ()
    for half in (
        {"webhook_url": "https://a.example"},
        {"mail_to": ["a@example.org"]},
        {"mail_to": ["a@example.org\r\nBcc: b@example.org"], "smtp_host": "localhost", "mail_from": "c@example.org"},
    ):
        with pytest.raises(ValidationError):
            AlertSettings.model_validate(half)


async def test_a_webhook_gets_the_kind_and_the_hour_signed() -> None:
    """The body holds two words, the signature fits, and a receiver that refuses is a failure."""
    now = datetime(2026, 11, 23, 14, 30, tzinfo=UTC)
    async with WebhookReceiver([200, 500], secret=SECRET.encode()) as receiver:
        sender = WebhookAlert(address=receiver.url, secret=SECRET.encode(), now=lambda: now)
        await sender.send(AlertKind.ENDPOINT)
        assert receiver.batches == [{"alert": "endpoint", "hour": "2026-11-23T14Z"}] and receiver.refused == 0
        with pytest.raises(AlertFailed):
            await sender.send(AlertKind.ENDPOINT)
    with pytest.raises(AlertFailed):
        await sender.send(AlertKind.ENDPOINT)


@pytest.fixture
def mail_server() -> Iterator[tuple[int, list[str]]]:
    """A mail server of one connection on the loopback address, and the lines it was sent."""
    listening, lines = socket.create_server(("127.0.0.1", 0)), list[str]()
    port = listening.getsockname()[1]

    def serve() -> None:
        connection, _ = listening.accept()
        listening.close()  # whoever comes next finds nobody
        with connection, connection.makefile("rwb") as line:
            line.write(b"220 here\r\n")
            line.flush()
            in_data = False
            for raw in line:
                said = raw.decode().rstrip("\r\n")
                lines.append(said)
                if in_data:
                    in_data = said != "."
                    answer = b"" if in_data else b"250 taken\r\n"
                else:
                    in_data = said.upper() == "DATA"
                    answer = (
                        b"354 go on\r\n" if in_data else b"221 bye\r\n" if said.upper() == "QUIT" else b"250 fine\r\n"
                    )
                line.write(answer)
                line.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield port, lines
    listening.close()
    thread.join(60)


async def test_a_mail_holds_a_sentence_and_the_way_to_the_page(mail_server: tuple[int, list[str]]) -> None:
    """To each address, with the kind as its subject; a server that is away is a failure and no exception text."""
    port, lines = mail_server
    settings = AlertSettings(
        mail_to=("a@example.org", "b@example.org"),
        mail_from="cafi@example.org",
        smtp_host="127.0.0.1",
        smtp_port=port,
        smtp_security="none",
    )
    sender = MailAlert(
        settings=settings, sentences={"queue": "A message has waited."}, page="https://c.example/operator"
    )
    await sender.send(AlertKind.QUEUE)
    sent = "\n".join(lines)
    for said in ("Subject: CAFI: queue", "A message has waited.", "https://c.example/operator", "b@example.org"):
        assert said in sent
    assert lines[0].upper() == "EHLO EXAMPLE.ORG"  # not what this machine is called
    with pytest.raises(AlertFailed):
        await MailAlert(settings=settings, sentences={"queue": ""}).send(AlertKind.QUEUE)


async def test_the_age_of_a_queue_is_seen_without_times_on_disk(database: Database) -> None:
    """The oldest message ages while it is the same one, and the next one begins anew."""
    now = [0.0]
    queue = QueueAge(database=database, clock=lambda: now[0])

    async def waits(*numbers: int) -> None:
        def work(connection: Connection) -> None:
            connection.execute(inbox.delete())
            for one in numbers:
                row = {"id": one, "chat": b"c" * 16, "attempts": 0, "sealed": b""}
                connection.execute(inbox.insert().values(row))

        await database.run(work)
        await queue.look()

    await waits()
    assert (queue.waiting, queue.age) == (0, 0.0)
    await waits(1, 2)
    now[0] = 60.0
    await waits(1, 2, 3)
    assert (queue.waiting, queue.age) == (3, 60.0)
    await waits(3)
    now[0] = 90.0
    assert (queue.waiting, queue.age, list(queue.recent)) == (1, 30.0, [0, 2, 3, 1])


async def test_what_nothing_was_found_on_is_told_by_topic_in_fives(database: Database) -> None:
    """Weeks that have ended, rounded down to fives, small counts not at all, and the running week never."""
    day = [date(2026, 11, 2)]
    counts = UnansweredCounts(today=lambda: day[0])
    for topic, often in (("medicines", 12), ("driving", 4), ("", 5)):
        for _ in range(often):
            counts.add("schizophrenia", topic)
    await save_counts(database, unanswered, counts.pending)
    await save_counts(database, unanswered, counts.pending)  # nothing twice
    day[0] = date(2026, 11, 10)
    for _ in range(50):
        counts.add("schizophrenia", "medicines")
    await save_counts(database, unanswered, counts.pending)
    told = await ended_unanswered(database, day[0])
    assert told == [("2026-W45", "schizophrenia", "medicines", 10), ("2026-W45", "schizophrenia", "other", 5)]
    assert await ended_unanswered(database, date(2026, 11, 8)) == []


async def test_what_an_operator_is_told_is_what_is_wrong(tmp_path: Path) -> None:
    """Near a day's limit of spending that is told, and that the database is away when it is; nothing in a calm minute."""
    sender = Kept()
    chats = chats_in(tmp_path, given={"alerts": Alerts(senders=[sender])}, spending=SpendingSettings(tokens_a_day=100))
    async with chats.application.closing:
        await chats.begin()
        await chats.watch.look()
        assert sender.sent == []
        await chats.store.spend(int(chats.clock() // 86_400), 90, 0.0)
        await chats.watch.look()
        assert sender.sent == [AlertKind.SPENDING]
        await chats.database.run(lambda one: one.exec_driver_sql("DROP TABLE inbox"))
        await chats.watch.look()
        assert sender.sent[1:] == [AlertKind.STORAGE]


async def test_reports_of_harm_are_told_from_the_fifth_on(tmp_path: Path) -> None:
    """Four reports on a part of a text wake nobody, five do, and what is sent is that and no more."""
    sender, hour = Kept(), [0.0]
    chats = chats_in(tmp_path, given={"alerts": Alerts(senders=[sender])})
    async with chats.application.closing:
        await chats.begin()
        watch = chats.report_watch
        assert watch is not None
        watch.now, sink = (lambda: hour[0]), DatabaseSink(database=chats.database)
        hour[0] = datetime(2026, 11, 18, tzinfo=UTC).timestamp()
        await sink.add([event(question="worried", option="wrong")] * 4)
        await chats.watch.look()
        assert sender.sent == []
        await sink.add([event(question="worried", option="frightened")])
        hour[0] += 3600
        await chats.watch.look()
        assert sender.sent == [AlertKind.REPORTS]
