"""What a platform does with an outgoing message: cut it into the platform's messages, and send them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing

Part: TypeAlias = Any
"""One message of a platform, ready to be sent; only its screen looks inside."""


class Gone(Exception):
    """The person or the place can no longer be reached: blocked, left, deleted."""


class NotNow(Exception):
    """The platform asks to wait, or cannot be reached; `seconds` until the next attempt."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class Screen(Protocol):
    """A platform's way to show things."""

    def parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[Part]:
        """An outgoing message as the platform's messages, to be shown where `incoming` came from."""
        ...

    async def send(self, part: Part) -> str | None:
        """Show one message; the platform's name of a poll, where the message is one.

        Raises Gone when nobody is there any more, and NotNow when it has to be tried again later.
        """
        ...

    def busy(self, incoming: Incoming) -> AbstractAsyncContextManager[object]:
        """While it is entered, the person sees that something is being done."""
        ...
