"""Proposed changes on disk: a text for a place, by whom, and what became of it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from adapters.editorial.shelf import TextPlace
from adapters.storage.database import Database
from adapters.storage.seal import Keyring
from adapters.storage.tables import proposals
from engine import SealBroken

MOST_OPEN = 200
"""Proposals that wait at the same time."""
_PURPOSE = "proposal"


class ProposalState(StrEnum):
    """What became of it."""

    OPEN = "open"
    APPROVED = "approved"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """One change. `base` is the fingerprint of the text that was changed; `answer` what the second person says."""

    id: bytes
    place: TextPlace
    day: int
    state: ProposalState
    proposer: bytes
    decider: bytes | None
    text: str
    base: str
    why: str = ""
    answer: str = ""
    proposed_by: str = ""

    @property
    def when(self) -> str:
        """The day, as ISO 8601."""
        return datetime.fromtimestamp(self.day * 86_400, UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class _Words:
    """What is sealed of a proposal."""

    text: str
    base: str
    why: str = ""
    answer: str = ""
    proposed_by: str = ""


@dataclass(frozen=True, kw_only=True)
class Proposals:
    """Proposals on disk; every method raises StorageError."""

    database: Database
    keyring: Callable[[], Keyring]
    days: int = 365
    now: Callable[[], float] = time.time

    async def add(
        self, place: TextPlace, proposer: bytes, *, text: str, base: str, why: str, proposed_by: str
    ) -> bytes:
        """Keep a proposal; its id, or nothing where too many wait."""
        name = secrets.token_bytes(16)
        sealed = self._sealed(name, _Words(text=text, base=base, why=why, proposed_by=proposed_by))
        row = {
            "proposal": name,
            "assistant": place.assistant,
            "language": place.language,
            "source": place.source,
            "day": int(self.now() // 86_400),
            "state": ProposalState.OPEN,
            "proposer": proposer,
            "sealed": sealed,
        }

        def work(connection: Connection) -> bytes:
            waiting = select(func.count()).select_from(proposals).where(proposals.c.state == ProposalState.OPEN)
            if connection.execute(waiting).scalar_one() >= MOST_OPEN:
                return b""
            connection.execute(insert(proposals).values(row))
            return name

        return await self.database.run(work)

    async def get(self, name: bytes) -> Proposal | None:
        """One of them."""
        query = select(proposals).where(proposals.c.proposal == name)
        row = await self.database.run(lambda connection: connection.execute(query).first())
        return None if row is None else self._read(row)

    async def all(self, *, open_only: bool = False, most: int = 200) -> list[Proposal]:
        """The newest first."""
        query = select(proposals).order_by(proposals.c.day.desc(), proposals.c.proposal).limit(most)
        if open_only:
            query = query.where(proposals.c.state == ProposalState.OPEN)
        rows = await self.database.run(lambda connection: connection.execute(query).all())
        return [self._read(row) for row in rows]

    async def settle(self, proposal: Proposal, state: ProposalState, decider: bytes, answer: str = "") -> bool:
        """Say what became of an open proposal; False where somebody else was earlier."""
        words = _Words(
            text=proposal.text,
            base=proposal.base,
            why=proposal.why,
            answer=answer,
            proposed_by=proposal.proposed_by,
        )
        at = proposals.c
        change = update(proposals).where(at.proposal == proposal.id, at.state == ProposalState.OPEN)
        changed = change.values(state=state, decider=decider, sealed=self._sealed(proposal.id, words))
        return bool(await self.database.run(lambda connection: connection.execute(changed).rowcount))

    async def sweep(self) -> None:
        """Erase what is older than `days`."""
        oldest = int(self.now() // 86_400) - self.days
        gone = delete(proposals).where(proposals.c.day < oldest)
        await self.database.run(lambda connection: connection.execute(gone))

    async def renew(self) -> None:
        """Put everything under the present secret, so that a former one need not be kept for it."""

        def work(connection: Connection) -> None:
            for row in connection.execute(select(proposals)).all():
                name, words = bytes(row.proposal), self._words(row)
                if words.base:
                    change = update(proposals).where(proposals.c.proposal == name)
                    connection.execute(change.values(sealed=self._sealed(name, words)))

        await self.database.run(work)

    def _sealed(self, name: bytes, words: _Words) -> bytes:
        plain = json.dumps(asdict(words)).encode()
        return self.keyring().current.seal(_PURPOSE, name, plain)

    def _words(self, row: Row[Any]) -> _Words:
        try:
            return _Words(**json.loads(self.keyring().open(_PURPOSE, bytes(row.proposal), bytes(row.sealed))))
        except SealBroken:  # under a secret that is lost
            return _Words(text="", base="")

    def _read(self, row: Row[Any]) -> Proposal:
        return Proposal(
            id=bytes(row.proposal),
            place=TextPlace(assistant=row.assistant, language=row.language, source=row.source),
            day=row.day,
            state=ProposalState(row.state),
            proposer=bytes(row.proposer),
            decider=None if row.decider is None else bytes(row.decider),
            **asdict(self._words(row)),
        )
