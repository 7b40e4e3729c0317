"""A scenario as somebody proposes it, before code has looked at it; and who proposes scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.rules import Rule


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A reply with what its writer says of it.

    `cites` are source ids. Proposals of one `family` share a phrase or a way of being wrong: a student must not be
    measured on a family that it was trained on.
    """

    message: str
    reply: str
    acceptable: bool
    why: str
    cites: tuple[str, ...] = ()
    family: str = ""


class Writer(Protocol):
    """Writes scenarios about one source and one rule. Raises ModelError where it cannot."""

    @property
    def name(self) -> str:
        """`builtin`, or `llm:` and the model."""
        ...

    async def write(self, source: Source, rule: Rule, count: int, ledger: Ledger) -> tuple[Proposal, ...]:
        """About `count` proposals, half of them acceptable; none where the writer has nothing on this rule."""
        ...
