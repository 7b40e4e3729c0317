"""What moderators have a say in: where the bot speaks, whether it does at all, and which answers wait for them.

The adapter asks; who answers is given to it. `OpenGate` is what there is without moderation: places from the settings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import discord

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing

Release: TypeAlias = Callable[[Incoming, Outgoing | None], Awaitable[None]]
"""Shows a held answer, as it is given, where its question came from; None: nobody approved it, the asker is told so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """A place in a guild. `parent`: the channel of a thread; `category`: of the channel. Ids of Discord."""

    guild: int
    channel: int
    parent: int | None = None
    category: int | None = None

    @property
    def places(self) -> frozenset[int]:
        """Every id by which a setting may mean this place."""
        return frozenset(one for one in (self.channel, self.parent, self.category) if one is not None)


class Gate(Protocol):
    """Moderation, as the adapter sees it."""

    @property
    def paused(self) -> bool:
        """Whether moderators have paused the bot. Read from memory: it holds when the database is down."""
        ...

    def allowed(self, where: Where, roles: frozenset[int]) -> bool:
        """Whether the bot answers somebody with these roles in this place. Direct messages are not asked about."""
        ...

    async def held(self, incoming: Incoming, outgoing: Outgoing) -> bool:
        """Whether an answer waits for approval; the asker is then told so, and `release` is called later.

        Asked of every answer that others would see, never of the crisis referral nor of what is for one person alone.
        """
        ...

    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """Commands of its own, as Discord's API takes them (`/mod`)."""
        ...

    async def interaction(self, interaction: discord.Interaction) -> bool:
        """Whether an interaction was one of its own; it has then been acknowledged. Its custom ids begin with `mod|`."""
        ...

    async def begin(self, client: discord.Client, release: Release) -> None:
        """A client is ready; called again with the next one after a failure."""
        ...


@dataclass(frozen=True, kw_only=True)
class OpenGate:
    """No moderation: every answer is shown at once, in the allowed `channels` (channels or categories; none: all)."""

    channels: frozenset[int] = field(default_factory=frozenset)

    @property
    def paused(self) -> bool:
        """Never."""
        return False

    def allowed(self, where: Where, roles: frozenset[int]) -> bool:
        """Whether the place is among the allowed ones; anybody may ask."""
        return not self.channels or bool(self.channels & where.places)

    async def held(self, incoming: Incoming, outgoing: Outgoing) -> bool:
        """Never."""
        return False

    def definitions(self) -> Sequence[Mapping[str, Any]]:
        """None."""
        return ()

    async def interaction(self, interaction: discord.Interaction) -> bool:
        """Never one of ours."""
        return False

    async def begin(self, client: discord.Client, release: Release) -> None:
        """Nothing to begin."""
