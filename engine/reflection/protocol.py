"""The three questions that a turn may ask itself about its retrieval, and who can answer them.

None of them decides about a reply: what is drafted after them is checked and judged as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.settings import AssistantSettings
from engine.types import Draft, Message

SPARED = 10
"""Calls that a reflection leaves to its turn: a draft, four verdicts, a refinement, and four verdicts again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grades:
    """The candidates that fit, by id; and other words for the question, where a second search may find what does."""

    fitting: frozenset[str]
    reworded: str = ""


class NeedReflection(Protocol):
    """Is a search needed for this message at all?"""

    async def needed(
        self, message: str, earlier: tuple[Message, ...], assistant: AssistantSettings, ledger: Ledger
    ) -> bool:
        """False for a greeting, thanks, or a wish about the last answer; raises ModelError."""
        ...


class RelevanceReflection(Protocol):
    """Which candidates fit the message?"""

    async def graded(self, message: str, candidates: tuple[Source, ...], ledger: Ledger) -> Grades:
        """Grade each candidate; raises ModelError."""
        ...


class CompletenessReflection(Protocol):
    """Does a draft answer all that was asked?"""

    async def missing(self, message: str, draft: Draft, cited: tuple[Source, ...], ledger: Ledger) -> tuple[str, ...]:
        """The questions that it leaves unanswered, in words that a search understands; raises ModelError."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Reflections:
    """One of each; a team has them, and an assistant's settings say which are asked."""

    needed: NeedReflection
    relevant: RelevanceReflection
    complete: CompletenessReflection
