"""What an urgency layer is: something that reads one message and says which level it found."""

from __future__ import annotations

from typing import Protocol

from engine.models.ledger import Ledger
from engine.types import LayerResult, Message


class UrgencyLayer(Protocol):
    """A layer that may take its time, such as a model; what it spends goes into the ledger."""

    @property
    def name(self) -> str:
        """What the layer is called in a result."""
        ...

    async def assess(self, message: str, earlier: tuple[Message, ...], ledger: Ledger) -> LayerResult:
        """The level of `message`, with the turns before it in view; never raises, but returns `failed`."""


class FastLayer(Protocol):
    """A layer that answers in milliseconds, before anything else of the turn runs."""

    @property
    def name(self) -> str:
        """What the layer is called in a result."""
        ...

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """The level of `message`, with the turns before it in view."""
