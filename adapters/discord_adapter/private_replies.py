"""What waits to be shown to one person alone, where there was no way to show it to nobody else."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.discord_adapter.contexts import own
from adapters.storage.identity import ChatIdentity

_PEOPLE = 1000
_EACH = 5
_SECONDS = 86_400.0

Waiting = tuple[Incoming, Outgoing]


@dataclass(kw_only=True)
class Pending:
    """Outgoing messages by person, in memory only; after a restart, or a day, the button begins anew."""

    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[ChatIdentity, list[Waiting]] = field(default_factory=OrderedDict)
    _since: dict[ChatIdentity, float] = field(default_factory=dict)

    def add(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Keep an outgoing message until its person presses the button, or does anything else."""
        person = own(incoming.identity)
        waiting = self._kept.setdefault(person, [])
        waiting.append((incoming, outgoing))
        del waiting[:-_EACH]
        self._kept.move_to_end(person)
        self._since[person] = self.clock()
        while len(self._kept) > _PEOPLE:
            self.drop(next(iter(self._kept)))

    def take(self, identity: ChatIdentity) -> list[Waiting]:
        """What waits for a person, who now sees it."""
        self._since.pop(own(identity), None)
        return self._kept.pop(own(identity), [])

    def take_unnamed(self, identity: ChatIdentity) -> list[Waiting]:
        """What waits for a person without any button that would tell others of it."""
        waiting = self.take(identity)
        for incoming, outgoing in waiting:
            if not outgoing.unnamed:
                self.add(incoming, outgoing)
        return [one for one in waiting if one[1].unnamed]

    def drop(self, identity: ChatIdentity) -> None:
        """The person has erased everything."""
        self.take(identity)

    def sweep(self) -> None:
        """Forget what nobody has asked to see for a day."""
        now = self.clock()
        for person in [one for one, since in self._since.items() if since < now - _SECONDS]:
            self.drop(person)
