"""The operator's secrets and what lies under them: checked at the start, dropped when nothing needs them any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, LargeBinary, Table, and_, delete, func, select, update

from adapters.storage.database import Database
from adapters.storage.seal import Keyring
from adapters.storage.tables import asked, boards, chats, polls, posts, secrets
from adapters.storage.upsert import upsert
from engine import ConfigurationError

ASKED_DAYS = 14
"""As long marks that somebody was asked may lie under a secret that is not in use any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnderSecret:
    """What lies under one secret. `id` is in hex; `used`: it may not be dropped yet; `given`: the operator has it."""

    id: str
    given: bool
    current: bool
    chats: int
    polls: int
    used: bool


@dataclass(frozen=True, kw_only=True)
class Vault:
    """Secrets beside the database. `now` gives seconds since 1970. Every method raises StorageError."""

    database: Database
    keyring: Keyring
    now: Callable[[], float] = time.time

    async def open(self) -> None:
        """Note the secrets in use. Raises ConfigurationError, and notes nothing, when chats lie under a lost one."""
        await self.database.run(self._open)

    def _open(self, connection: Connection) -> None:
        known = {secret.id for secret in self.keyring}
        lost = [one for one in _noted(connection) if one not in known]
        closed = [one for one in lost if _count(connection, chats, one)]
        if closed:
            raise ConfigurationError(
                f"It holds conversations under another secret ({', '.join(sorted(one.hex() for one in closed))}).",
                file=self.database.place,
                key="sessions.secret",
                remedy="Put that secret back, or erase what nobody can open any more: cafi secret erase-lost",
            )
        connection.execute(delete(secrets).where(secrets.c.id.in_(lost)))
        today = self._today()
        for one in known - set(_noted(connection)):
            connection.execute(upsert(connection.dialect.name, secrets, {"id": one, "day": today}))
        connection.execute(update(secrets).where(secrets.c.id == self.keyring.current.id).values(day=today))

    async def report(self) -> list[UnderSecret]:
        """Every secret that is given or noted, the present one first."""
        return await self.database.run(self._report)

    def _report(self, connection: Connection) -> list[UnderSecret]:
        given = [secret.id for secret in self.keyring]
        noted = _noted(connection)
        return [
            UnderSecret(
                id=one.hex(),
                given=one in given,
                current=one == given[0],
                chats=_count(connection, chats, one),
                polls=_count(connection, polls, one),
                used=one == given[0] or self._used(connection, one, noted.get(one)),
            )
            for one in dict.fromkeys((*given, *noted))
        ]

    def _used(self, connection: Connection, one: bytes, day: int | None) -> bool:
        """Whether anything may lie under a former secret; marks of being asked do not tell under which they lie."""
        if any(_count(connection, table, one) for table in (chats, polls, posts, boards)):
            return True
        marks = bool(connection.execute(select(func.count()).select_from(asked)).scalar_one())
        return marks and day is not None and day + ASKED_DAYS >= self._today()

    async def forget(self, ids: list[bytes]) -> None:
        """Note no longer that these were in use."""
        await self.database.run(lambda connection: connection.execute(delete(secrets).where(secrets.c.id.in_(ids))))

    async def erase_lost(self) -> int:
        """Erase what no given secret opens; how many chats there were."""

        def work(connection: Connection) -> int:
            lost = [one for one in _noted(connection) if one not in {secret.id for secret in self.keyring}]
            open_ = [_under(chats, secret.id) for secret in self.keyring]
            if lost:
                connection.execute(delete(asked))  # marks do not tell under which secret they lie
            connection.execute(delete(secrets).where(secrets.c.id.in_(lost)))
            for table in (polls, posts, boards):
                connection.execute(delete(table).where(and_(*(~_under(table, secret.id) for secret in self.keyring))))
            return connection.execute(delete(chats).where(and_(*(~one for one in open_)))).rowcount

        return await self.database.run(work)

    def _today(self) -> int:
        return int(self.now() // 86_400)


def _noted(connection: Connection) -> dict[bytes, int]:
    return {bytes(row.id): row.day for row in connection.execute(select(secrets.c.id, secrets.c.day))}


def _under(table: Table, secret: bytes) -> ColumnElement[bool]:
    """Whether a row was sealed under a secret: what is sealed begins with the form's number and the secret's id."""
    head = b"\x01" + secret
    return func.substr(table.c.sealed, 1, len(head), type_=LargeBinary) == head


def _count(connection: Connection, table: Table, secret: bytes) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(_under(table, secret))).scalar_one())
