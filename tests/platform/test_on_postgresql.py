"""The whole house on PostgreSQL: Telegram, the web page, a restart, and what is left on the server's disk and in its log."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from adapters.storage.tables import chats, metadata
from bots.settings import StorageSettings
from engine.exceptions import ConfigurationError
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.platform.test_chat_privacy import NAMES, WORDS, conversation, found_in, said_by, traces
from tests.postgres import PostgresServer
from tests.telegram import running
from tests.web import Browser, chats_in
from tests.web import running as page_running


@pytest.fixture
def storage(postgresql: PostgresServer) -> Iterator[StorageSettings]:
    """An empty database whose server notes every statement with its values."""
    postgresql.execute("CREATE DATABASE house")
    postgresql.execute("ALTER DATABASE house SET log_statement = 'all'")
    yield StorageSettings(url=postgresql.url("house"))
    postgresql.execute("DROP DATABASE house WITH (FORCE)")


Place = tuple[str, int]
"""A file of the write-ahead log and how far it was written."""


def written_to(server: PostgresServer) -> Place:
    """Where the write-ahead log is at now."""
    ((name, offset),) = server.execute("SELECT * FROM pg_walfile_name_offset(pg_current_wal_insert_lsn())")
    return name, offset


def on_disk(server: PostgresServer, since: Place) -> dict[str, bytes]:
    """The files of tables and indexes, the server's log, and what was written ahead since then."""
    server.execute("CHECKPOINT")
    data, until = server.folder / "data", written_to(server)
    paths = server.execute(
        "SELECT pg_relation_filepath(oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "AND relkind IN ('r', 'i') AND pg_relation_size(oid) > 0",
        "house",
    )
    found = {path: (data / path).read_bytes() for (path,) in paths}
    names = sorted(one.name for one in (data / "pg_wal").iterdir() if since[0] <= one.name <= until[0])
    ahead = [(data / "pg_wal" / name).read_bytes() for name in names]
    ahead[-1] = ahead[-1][: until[1]]
    ahead[0] = ahead[0][since[1] :] if len(ahead) == 1 or since[0] == names[0] else ahead[0]
    return {**found, "written ahead": b"".join(ahead), "log": (server.folder / "log").read_bytes()}


async def test_nothing_of_a_conversation_can_be_found_on_the_server(
    postgresql: PostgresServer, storage: StorageSettings, tmp_path: Path
) -> None:
    """Tables, indexes, write-ahead log, the server's log at its most talkative and its activity hold no word, name or id."""
    dice = random.Random(7)
    async with (
        FaultyTelegram() as fake,
        running(fake, tmp_path, storage=storage, sessions={"messages_a_minute": 1000}) as bot,
    ):
        since = written_to(postgresql)
        people = [fake.person(name, language="en") for name in NAMES[:2]]
        for person in people:
            fake.start(person)
            await fake.wait_for(lambda person=person: fake.replies(person))
            fake.press(person, fake.replies(person)[0].id, "consent::")
        said = await conversation(fake, people, dice, 8)
        said.append(said_by(dice))
        fake.write(people[0], said[-1])
        await fake.wait_for(lambda: not fake.pending(), 20)
        activity = repr(postgresql.execute("SELECT * FROM pg_stat_activity")).encode()
        await bot.dispatch.idle()
        count = bot.store.database.run_now(lambda one: one.execute(select(func.count()).select_from(chats)).scalar())
        assert count == len(people) and len(said) > 5
    content = on_disk(postgresql, since)
    looked_for = traces(people, said)
    assert len(looked_for) > 12 and b"INSERT INTO inbox" in content["log"]
    assert found_in(content["log"] + WORDS[0].encode(), traces([], [WORDS[0]])) == [f"word {WORDS[0]}"]
    for name, kept in {**content, "activity": activity}.items():
        assert found_in(kept, looked_for) == [], name


async def test_the_page_answers_and_goes_on_after_a_restart(storage: StorageSettings, tmp_path: Path) -> None:
    """Somebody is answered on the page, a second process is refused meanwhile, and after a restart nobody agrees twice."""
    async with page_running(tmp_path, storage=storage) as bot, Browser(bot.address) as anna:
        await anna.begin()
        assert "Voices are sounds that others do not hear." in await anna.ask("what are the voices?")
        second = chats_in(tmp_path, storage=storage)
        async with second.application.closing:
            with pytest.raises(ConfigurationError, match="Another CAFI runs with this database"):
                await second.begin()
        read = bot.site.dispatch.store.database.run_now
        left = {
            name: read(lambda one, table=table: one.execute(select(table)).all())
            for name, table in metadata.tables.items()
        }
        assert {name for name, rows in left.items() if rows} == {"chats", "secrets"}
        cookies = anna.client.cookies
    async with page_running(tmp_path, storage=storage) as bot, Browser(bot.address) as anna:
        anna.client.cookies = cookies
        await anna.get("/chat")
        assert anna.page.url.path == "/chat"
