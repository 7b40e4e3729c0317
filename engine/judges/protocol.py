"""What a judge gets to see, and what every judge can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.types import Draft, Message, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A draft and what is needed to judge it.

    `sources` are all the cited ones, `earlier` the turns before. `high_stakes`: the person asked about such a topic;
    `risky`: sentences of the draft that touch one by themselves. `facts`: what its author was told of the service.
    """

    draft: Draft
    message: str
    sources: tuple[Source, ...] = ()
    earlier: tuple[Message, ...] = ()
    high_stakes: bool = False
    risky: tuple[str, ...] = ()
    delusional_framing: bool = False
    facts: str = ""
    assistant_name: str = ""
    audience: str = ""
    condition: str = ""


class Judge(Protocol):
    """One narrow question, or two. Never raises a ModelError: a judge that cannot work returns a failed REJECT."""

    @property
    def name(self) -> str:
        """Which questions: one of `ANSWERS_FOR` (`choice`)."""
        ...

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Decide on one case."""
        ...
