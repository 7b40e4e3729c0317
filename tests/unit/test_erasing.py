"""`/forget`: every table that holds anything of a chat has an eraser, and the receipt tells what each erased."""

from __future__ import annotations

import pytest
from sqlalchemy import Column, LargeBinary, MetaData, Table, insert, select

from adapters.conversation.receipt import Receipt, receipt_text
from adapters.conversation.texts import load_languages
from adapters.storage.database import Database
from adapters.storage.erasure import ERASERS, Names
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import pseudonyms
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import asked, boards, metadata, reviews
from bots.paths import data_root
from tests.storage import ANNA, BERT, NOON, POLL, message, state, store_over


def without_eraser(tables: MetaData) -> list[str]:
    """Tables that do not say whether they hold something of a chat, or hold it and have no eraser."""
    return [
        name
        for name, table in tables.tables.items()
        if not isinstance(table.info.get("of_a_chat"), bool) or table.info["of_a_chat"] != (name in ERASERS)
    ]


def test_every_table_has_its_eraser_or_needs_none() -> None:
    """Each table says whether its rows belong to a chat, and those that do have an eraser."""
    assert without_eraser(metadata) == []


@pytest.mark.parametrize("info", [{}, {"of_a_chat": True}])
def test_a_new_table_without_an_eraser_is_noticed(info: dict[str, bool]) -> None:
    """A table that is added with something of a chat, or without a word about it, is found."""
    tables = MetaData()
    Table("notes", tables, Column("chat", LargeBinary, primary_key=True), info=info)
    assert without_eraser(tables) == ["notes"]


def rows_with(database: Database, keys: set[bytes]) -> list[str]:
    """The tables in which any of the keys stands anywhere."""
    return [
        name
        for name, table in metadata.tables.items()
        for row in database.run_now(lambda connection, table=table: connection.execute(select(table)).all())
        if any(isinstance(value, bytes) and any(key in value for key in keys) for value in row)
    ]


async def used_up(database: Database, keyring: Keyring, identity: ChatIdentity) -> None:
    """A chat that has used everything there is."""
    store = store_over(database, keyring)
    await store.take([message(identity), message(identity, "second")])
    await store.finish(None, identity, state("words"), 0, poll=(f"poll of {identity.chat}", POLL))
    names = pseudonyms(keyring, identity)
    person = names.present.name("asked")
    values = insert(asked).values(person=person, day=int(NOON // 86_400))
    chat = names.present.name("chat")
    held = insert(reviews).values(review=chat[::-1], chat=chat, day=int(NOON // 86_400), sealed=b"a reply that waits")
    shown = insert(boards).values(chat=names.present.name("board"), version=1, seen_hour=1, sealed=b"what a page shows")
    for statement in (values, held, shown):
        database.run_now(lambda connection, statement=statement: connection.execute(statement))


async def test_forgetting_leaves_no_row_and_tells_what_went(database: Database) -> None:
    """After everything was used, under a former and the present secret, erasing leaves none of the chat's keys."""
    former = Keyring(current=Secret.random())
    keyring = Keyring(current=Secret.random(), former=(former.current,))
    await used_up(database, former, ANNA)
    await used_up(database, former, BERT)
    store = store_over(database, keyring)
    await store.take([message()])
    names = Names.of(pseudonyms(keyring, ANNA), store._inbox_name(ANNA))
    keys = {*names.chat, *names.asked, *names.inbox, *names.board}
    assert set(rows_with(database, keys)) == set(ERASERS)
    assert await store.erase(ANNA) == Receipt(chat=1, waiting=3, asked=1, polls=1, reviews=1)
    assert rows_with(database, keys) == []
    assert set(rows_with(database, {*pseudonyms(keyring, BERT).names("chat"), store._inbox_name(BERT)})) == {
        "chats",
        "inbox",
        "polls",
        "reviews",
    }
    assert await store.erase(ANNA) == Receipt()


@pytest.mark.parametrize("language", ["en", "de", "nb", "es", "fr"])
def test_the_receipt_names_each_store(language: str) -> None:
    """The receipt has a line for each store that held something, and says so where none did."""
    texts = load_languages(data_root() / "config" / "chat").choose(language)
    said = receipt_text(Receipt(chat=1, waiting=2, asked=1, polls=3, messages=7, reviews=4), texts, "Telegram")
    assert said.count("\n- ") == 5
    assert all(number in said for number in ("2", "3", "4", "7"))
    assert texts.forgotten_nothing in receipt_text(Receipt(), texts, "Telegram")
