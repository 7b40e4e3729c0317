"""What waits to be shown to one person alone, where there was no way to show it to nobody else."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from adapters.chat.identity import ChatIdentity
from adapters.chat.incoming import Incoming
from adapters.chat.showing import Showing
from adapters.discord_adapter.contexts import own

_PEOPLE = 1000
_EACH = 5

Waiting = tuple[Incoming, Showing]


@dataclass(kw_only=True)
class Pending:
    """Showings by person, in memory only; a restart loses them, and the button then begins anew."""

    _kept: OrderedDict[ChatIdentity, list[Waiting]] = field(default_factory=OrderedDict)

    def add(self, incoming: Incoming, showing: Showing) -> None:
        """Keep a showing until its person presses the button, or does anything else."""
        waiting = self._kept.setdefault(own(incoming.identity), [])
        waiting.append((incoming, showing))
        del waiting[:-_EACH]
        self._kept.move_to_end(own(incoming.identity))
        while len(self._kept) > _PEOPLE:
            self._kept.popitem(last=False)

    def take(self, identity: ChatIdentity) -> list[Waiting]:
        """What waits for a person, who now sees it."""
        return self._kept.pop(own(identity), [])

    def take_unnamed(self, identity: ChatIdentity) -> list[Waiting]:
        """What waits for a person without any button that would tell others of it."""
        waiting = self.take(identity)
        for incoming, showing in waiting:
            if not showing.unnamed:
                self.add(incoming, showing)
        return [one for one in waiting if one[1].unnamed]

    def drop(self, identity: ChatIdentity) -> None:
        """The person has erased everything."""
        self._kept.pop(own(identity), None)
