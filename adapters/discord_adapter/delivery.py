"""An outgoing message on its way: its messages, for whom they are, and how they may still reach that person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing

Way = Literal["public", "token", "direct", "notice", "later", "channel", "nowhere"]
"""In the open · as the answer to an interaction · by direct message · by a button that shows it · when they come back ·
where they write."""


@dataclass(kw_only=True)
class Delivery:
    """One message. `ways`: those left to try; `target`: where it went in the open; `held`: None until moderation was asked."""

    incoming: Incoming
    outgoing: Outgoing
    ways: list[Way]
    gated: bool = True
    held: bool | None = None
    target: int | None = None
    opener: int | None = None
    told_where: bool = False
    noticed: bool = False

    @property
    def way(self) -> Way:
        """How it is tried now."""
        return self.ways[0] if self.ways else "nowhere"

    @property
    def user(self) -> int:
        """For whom it is."""
        return int(self.incoming.identity.user)

    def place(self, name: str) -> int:
        """A number of the place; 0 where it has none."""
        return int(self.incoming.place.get(name) or 0)


@dataclass(kw_only=True)
class MessagePiece:
    """One message of a delivery. `rows`: labels and custom ids; `picture`: a file and what it shows; `poll`: its name."""

    delivery: Delivery
    content: str
    rows: Sequence[Sequence[tuple[str, str]]] = ()
    picture: tuple[str, str] | None = None
    poll: str | None = None
    first: bool = False


@dataclass(frozen=True, kw_only=True)
class Routes:
    """Which ways an outgoing message has. `open`: answers are shown to everybody in the channel."""

    open: bool
    now: float = field(default=0.0)

    def ways(self, incoming: Incoming, outgoing: Outgoing) -> list[Way]:
        """The ways in order of what is best for the person."""
        answerable = bool(incoming.place.get("token")) and float(incoming.place.get("until") or 0) > self.now
        token: list[Way] = ["token"] if answerable else []
        if incoming.identity.chat == "dm":
            return [*token, "channel"]
        if self.open and not for_one_alone(incoming, outgoing):
            return ["public", *token, "direct", "notice"]
        if outgoing.unnamed:  # a notice with a button says for whom it is
            return [*token, "direct", "later"]
        if answerable:
            return ["token", "direct", "notice"]
        if incoming.place.get("token"):  # too late for it
            return ["direct", "notice"]
        return ["notice", "direct"]


def for_one_alone(incoming: Incoming, outgoing: Outgoing) -> bool:
    """Whether nobody else may see an outgoing message.

    An answer with the line of contacts below it is among them: in the open, that line would be a label.
    """
    worried = outgoing.turn is not None and outgoing.turn.is_private
    return outgoing.private or outgoing.referral or worried or bool(incoming.place.get("quiet"))
