"""Those who work on the sources: their roles, links that let them in once, and who is signed in. Tokens are kept as hashes."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from adapters.storage.database import Database
from adapters.storage.seal import Keyring
from adapters.storage.tables import invitations, members, sign_ins
from engine import SealBroken

TOKEN_HOLDER = b""
"""In place of a member: whoever has signed in with the operator's token."""
MOST_NAME = 80
_PURPOSE = "member"
_TOKEN_BYTES = 32


class StaffRole(StrEnum):
    """What somebody may do; each may do what those before it may."""

    READER = "reader"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    OPERATOR = "operator"

    def reaches(self, other: StaffRole) -> bool:
        """Whether this role may do what another one may."""
        order = list(StaffRole)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, kw_only=True, slots=True)
class StaffMember:
    """Somebody who works on the sources. `profession` is what a text is signed off as."""

    id: bytes
    role: StaffRole
    name: str = ""
    profession: str = ""

    @property
    def signs_as(self) -> str:
        """What stands in a source that they sign off: never their name."""
        return self.profession or str(self.role)


@dataclass(frozen=True, kw_only=True)
class Staff:
    """Members on disk. `now` gives seconds since 1970. Every method raises StorageError."""

    database: Database
    keyring: Callable[[], Keyring]
    link_minutes: int = 60
    signed_in_hours: int = 8
    now: Callable[[], float] = time.time

    async def invite(self, name: str, role: StaffRole, profession: str = "") -> str:
        """The token of a link for somebody, who is taken up or given this role; earlier links of theirs open no more."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)

        def work(connection: Connection) -> None:
            known = next((one for one in self._all(connection) if one.name.casefold() == name.casefold()), None)
            whose = secrets.token_bytes(16) if known is None else known.id
            sealed = self._sealed(whose, name, profession or ("" if known is None else known.profession))
            if known is None:
                row = {"member": whose, "role": role, "day": int(self.now() // 86_400), "sealed": sealed}
                connection.execute(insert(members).values(row))
            else:
                changed = update(members).where(members.c.member == whose)
                connection.execute(changed.values(role=role, sealed=sealed))
            connection.execute(delete(invitations).where(invitations.c.member == whose))
            until = self._minute + self.link_minutes
            connection.execute(insert(invitations).values(token=_hash(token), member=whose, until=until))

        await self.database.run(work)
        return token

    async def enter(self, token: str) -> str | None:
        """The cookie for whoever has a link's token, which opens nothing afterwards; None for any other."""

        def work(connection: Connection) -> bytes | None:
            at = invitations.c
            fits = (at.token == _hash(token), at.until > self._minute)
            row = connection.execute(select(at.member).where(*fits)).first()
            if row is None or not connection.execute(delete(invitations).where(*fits)).rowcount:
                return None
            return bytes(row.member)

        whose = await self.database.run(work)
        return None if whose is None else await self.sign_in(whose)

    async def sign_in(self, whose: bytes) -> str:
        """A cookie for a member, always a new one."""
        cookie = secrets.token_urlsafe(_TOKEN_BYTES)
        row = {"token": _hash(cookie), "member": whose, "until": self._minute + self.signed_in_hours * 60}
        await self.database.run(lambda connection: connection.execute(insert(sign_ins).values(row)))
        return cookie

    async def member(self, cookie: str) -> StaffMember | None:
        """Whose cookie this is, as long as it counts and they are not removed."""
        if not cookie:
            return None

        def work(connection: Connection) -> StaffMember | None:
            at = sign_ins.c
            query = select(at.member).where(at.token == _hash(cookie), at.until > self._minute)
            row = connection.execute(query).first()
            if row is None:
                return None
            if bytes(row.member) == TOKEN_HOLDER:
                return StaffMember(id=TOKEN_HOLDER, role=StaffRole.OPERATOR)
            found = connection.execute(select(members).where(members.c.member == row.member)).first()
            return None if found is None else self._read(found)

        return await self.database.run(work)

    async def sign_out(self, cookie: str) -> None:
        """End what a cookie opens."""
        gone = delete(sign_ins).where(sign_ins.c.token == _hash(cookie))
        await self.database.run(lambda connection: connection.execute(gone))

    async def members(self) -> list[StaffMember]:
        """Everybody, by name."""
        return await self.database.run(lambda connection: sorted(self._all(connection), key=lambda one: one.name))

    async def remove(self, whose: bytes) -> bool:
        """Take somebody's role away, and sign them out; whether there was such a member."""

        def work(connection: Connection) -> bool:
            for table in (invitations, sign_ins):
                connection.execute(delete(table).where(table.c.member == whose))
            return bool(connection.execute(delete(members).where(members.c.member == whose)).rowcount)

        return await self.database.run(work)

    async def sweep(self) -> None:
        """Erase what opens nothing any more."""

        def work(connection: Connection) -> None:
            for table in (invitations, sign_ins):
                connection.execute(delete(table).where(table.c.until <= self._minute))

        await self.database.run(work)

    async def renew(self) -> None:
        """Put names under the present secret, so that a former one need not be kept for them."""

        def work(connection: Connection) -> None:
            for one in self._all(connection):
                sealed = self._sealed(one.id, one.name, one.profession)
                if one.name:
                    connection.execute(update(members).where(members.c.member == one.id).values(sealed=sealed))

        await self.database.run(work)

    @property
    def _minute(self) -> int:
        return int(self.now() // 60)

    def _all(self, connection: Connection) -> list[StaffMember]:
        return [self._read(row) for row in connection.execute(select(members))]

    def _sealed(self, whose: bytes, name: str, profession: str) -> bytes:
        return self.keyring().current.seal(_PURPOSE, whose, json.dumps([name, profession]).encode())

    def _read(self, row: Row[Any]) -> StaffMember:
        whose = bytes(row.member)
        try:
            name, profession = json.loads(self.keyring().open(_PURPOSE, whose, bytes(row.sealed)))
        except SealBroken:  # under a secret that is lost: whoever it is can be invited anew
            name, profession = "", ""
        return StaffMember(id=whose, role=StaffRole(row.role), name=name, profession=profession)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
