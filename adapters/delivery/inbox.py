"""Where messages wait until they are answered, and by whom: by this process itself, or by workers beside it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.receipt import Receipt
from adapters.conversation.state import ChatState
from adapters.delivery.store import ChatStore, Superseded, Waiting
from adapters.storage.identity import ChatIdentity
from adapters.storage.ownership import Lost, Ownership


class Inbox(Protocol):
    """What a dispatch does with messages on disk. Every method raises StorageError."""

    async def ahead(self, chats: Collection[ChatIdentity]) -> Mapping[ChatIdentity, int]:
        """How many messages of each chat wait elsewhere than in this process."""
        ...

    async def age(self) -> float:
        """For how many seconds the oldest message waits that only lacks somebody who answers it."""
        ...

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None) -> Sequence[Waiting]:
        """Put messages on disk; those that this process has to answer itself."""
        ...

    async def left(self, platform: str) -> tuple[Sequence[Waiting], int]:
        """What an earlier process has left to this one, in order, and how many of it nobody can open any more."""
        ...

    async def hold(self, waiting: Waiting) -> None:
        """Make sure that a message is still this process's to answer; raises Superseded."""
        ...

    async def finish(
        self, waiting: Waiting, state: ChatState | None, version: int, poll: tuple[str, Poll] | None = None
    ) -> int:
        """A message is answered: as `ChatStore.finish`; raises Superseded, and then nothing is written."""
        ...

    async def erase(self, identity: ChatIdentity) -> Receipt:
        """Erase everything of a chat; raises Superseded where that was asked by a message that is somebody else's now."""
        ...


@dataclass(frozen=True, kw_only=True)
class OwnInbox:
    """One process takes and answers, and nobody else: what it has taken it holds."""

    store: ChatStore

    async def ahead(self, chats: Collection[ChatIdentity]) -> Mapping[ChatIdentity, int]:
        """None: all that waits is in the lines of the dispatch."""
        return {}

    async def age(self) -> float:
        """Nothing waits for anybody else."""
        return 0.0

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None) -> Sequence[Waiting]:
        """All of them are for this process."""
        return await self.store.take(arrived, cursor)

    async def left(self, platform: str) -> tuple[Sequence[Waiting], int]:
        """Everything that waits; the first message of each chat was in somebody's hands."""
        found, closed = await self.store.unanswered(platform)
        heads = {one.incoming.identity: one.row for one in reversed(found)}
        if heads:
            await self.store.tried(list(heads.values()))
        return found, closed

    async def hold(self, waiting: Waiting) -> None:
        """There is nobody else."""

    async def finish(
        self, waiting: Waiting, state: ChatState | None, version: int, poll: tuple[str, Poll] | None = None
    ) -> int:
        """As `ChatStore.finish`."""
        return await self.store.finish(waiting.row, waiting.incoming.identity, state, version, poll)

    async def erase(self, identity: ChatIdentity) -> Receipt:
        """As `ChatStore.erase`."""
        return await self.store.erase(identity)


@dataclass(frozen=True, kw_only=True)
class OwnedInbox(OwnInbox):
    """One process takes and answers at a time, and another one waits to take its place: what it has lost, it leaves alone."""

    ownership: Ownership

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None) -> Sequence[Waiting]:
        """All of them; none where somebody else takes them now, who is brought them as well."""
        try:
            await self.ownership.check()
        except Lost:
            return ()
        return await super().take(arrived, cursor)

    async def hold(self, waiting: Waiting) -> None:
        """As long as nobody else has taken its place."""
        try:
            await self.ownership.check()
        except Lost:
            raise Superseded from None
