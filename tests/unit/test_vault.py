"""The operator's secrets against what lies in the database."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, select

from adapters.storage.database import Database
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import asked, secrets
from adapters.storage.vault import ASKED_DAYS, Vault
from engine.exceptions import ConfigurationError
from tests.storage import ANNA, BERT, POLL, Clock, state, store_over

OLD, NEW = Secret(b"o" * 32), Secret(b"n" * 32)
OLD_RING, NEW_RING, BOTH = Keyring(current=OLD), Keyring(current=NEW), Keyring(current=NEW, former=(OLD,))


def vault(database: Database, keyring: Keyring, clock: Clock | None = None) -> Vault:
    return Vault(database=database, keyring=keyring, now=clock or Clock())


def noted(database: Database) -> set[bytes]:
    return set(database.run_now(lambda connection: connection.execute(select(secrets.c.id)).scalars().all()))


async def test_a_wrong_secret_is_refused_and_nothing_is_noted(database: Database) -> None:
    """With chats under another secret the start is refused by name and remedy, and the right one works as before."""
    await vault(database, OLD_RING).open()
    await store_over(database, OLD_RING).finish(None, ANNA, state(), 0)
    with pytest.raises(ConfigurationError, match=rf"cafi(\.db)?: .*{OLD.id.hex()}.*erase-lost"):
        await vault(database, NEW_RING).open()
    assert noted(database) == {OLD.id}
    await vault(database, OLD_RING).open()
    await vault(database, BOTH).open()
    assert noted(database) == {OLD.id, NEW.id}


async def test_a_lost_secret_with_nothing_under_it_is_let_go(database: Database) -> None:
    """Where no chat lies under a secret that is not given any more, the start says nothing."""
    await vault(database, OLD_RING).open()
    await vault(database, NEW_RING).open()
    assert noted(database) == {NEW.id}


async def test_a_former_secret_is_in_use_while_anything_may_lie_under_it(database: Database) -> None:
    """Chats, polls and marks of being asked keep a former secret; it may go when all have moved or expired."""
    clock = Clock()
    await vault(database, OLD_RING, clock).open()
    await store_over(database, OLD_RING).finish(None, ANNA, state(), 0, poll=("p", POLL))
    await vault(database, BOTH, clock).open()

    async def used() -> dict[str, bool]:
        return {one.id: one.used for one in await vault(database, BOTH, clock).report()}

    assert await used() == {NEW.id.hex(): True, OLD.id.hex(): True}
    store = store_over(database, BOTH)
    await store.finish(None, ANNA, state(), (await store.load(ANNA)).version)
    assert (await used())[OLD.id.hex()]
    await store.answered_poll("telegram", "p")
    assert not (await used())[OLD.id.hex()]
    values = insert(asked).values(person=b"p" * 16, day=int(clock() // 86_400))
    database.run_now(lambda connection: connection.execute(values))
    assert (await used())[OLD.id.hex()]
    clock.seconds += (ASKED_DAYS + 1) * 86_400
    assert not (await used())[OLD.id.hex()]


async def test_what_is_lost_goes_and_what_opens_stays(database: Database) -> None:
    """Giving up a lost secret erases what lies under it, and nothing that a given one opens."""
    await vault(database, OLD_RING).open()
    await store_over(database, OLD_RING).finish(None, ANNA, state(), 0, poll=("p", POLL))
    await store_over(database, NEW_RING).finish(None, BERT, state("stays"), 0, poll=("q", POLL))
    found = {one.id: one for one in await vault(database, NEW_RING).report()}
    assert not found[OLD.id.hex()].given and found[OLD.id.hex()].chats == 1
    assert await vault(database, NEW_RING).erase_lost() == 1
    await vault(database, NEW_RING).open()
    store = store_over(database, NEW_RING)
    assert (await store.load(BERT)).state == state("stays")
    assert await store.answered_poll("telegram", "q") == POLL
    assert await store_over(database, OLD_RING).answered_poll("telegram", "p") is None
    assert await vault(database, NEW_RING).erase_lost() == 0
