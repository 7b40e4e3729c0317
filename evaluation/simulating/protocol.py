"""What a persona's player gets to see, and what every player can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine import Ledger, Message
from evaluation.simulating.personas import Due, Persona


@dataclass(frozen=True, kw_only=True, slots=True)
class PersonaTask:
    """One message to write: `step` counts from 1, `seen` is the conversation so far."""

    persona: Persona
    step: int
    seen: tuple[Message, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A message, the want that it asks about (None: it asks nothing of the sources), and whether a referral is due."""

    text: str
    asks: str | None = None
    referral: Due = Due.NONE

    @property
    def marks(self) -> tuple[str, ...]:
        """The same as marks of a transcript."""
        return (*([f"asks:{self.asks}"] if self.asks else []), f"referral:{self.referral}")


class Player(Protocol):
    """Says what the person says next. What it says may depend on the task alone."""

    def most(self, persona: Persona) -> int | None:
        """How many messages it has for a persona at most; None where there is no end."""
        ...

    async def message(self, task: PersonaTask, ledger: Ledger) -> Said:
        """The next message; raises ModelError where a model gives none."""
        ...
