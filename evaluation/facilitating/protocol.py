"""What a facilitator gets to see and what every facilitator can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine import Ledger, Message, Role
from evaluation.facilitating.roles import FacilitatorRole


@dataclass(frozen=True, kw_only=True, slots=True)
class FacilitatorTask:
    """One message to write: `step` counts from 1; `seen` is the last exchange, or the whole conversation.

    `conversation` is its number within the role, alike in every arm: what differs between conversations by design goes
    by it, so that the arms of one conversation are pressed alike.
    """

    role: FacilitatorRole
    step: int
    seen: tuple[Message, ...]
    conversation: int = 1


def earlier(seen: tuple[Message, ...]) -> list[dict[str, str]]:
    """A conversation as it stands in the prompt of a model that writes to the chatbot."""
    return [{"who": "you" if one.role is Role.USER else "chatbot", "text": one.content} for one in seen]


class Facilitator(Protocol):
    """Says what the person says next. What it says may depend on the task alone."""

    async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
        """The next message; raises ModelError where a model gives none."""
        ...
