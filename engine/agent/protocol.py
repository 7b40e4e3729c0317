"""What an agent gets for its draft, and what every agent can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.retrieval.protocol import Hit
from engine.settings import AssistantSettings
from engine.types import Draft, Kind, Message, Reminder, UrgencyLevel, Wish


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTask:
    """One draft to write.

    `sources` are in context, best first; `suggested` is what the search found for this message,
    `requested` what the agent itself asked for.
    `objection` is why the last draft was sent back, `may_request` whether more sources can still be asked for.
    `faint`: what there is of urgency is a faint suspicion. `danger`: what it seems to be about.
    `danger_told`: somebody's danger was told in one of the last turns. `contacts`: contacts will stand below the usual answer.
    `belief_likely`: a belief may be told as a fact, too unsure for `delusional_framing`.
    `missing`: questions that the last draft left unanswered. `section`: the source and section that the person has tapped.
    `language`: that of the message. `facts`: what is true of the service, where the message seems to ask for it.
    `above`: the referral that is shown above a reaction to what was told. `emergency`: whom to call, inside a sentence.
    """

    assistant: AssistantSettings
    message: str
    wish: Wish = Wish.ANSWER
    earlier: tuple[Message, ...] = ()
    sources: tuple[Source, ...] = ()
    suggested: tuple[Hit, ...] = ()
    requested: tuple[str, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    high_stakes: bool = False
    delusional_framing: bool = False
    belief_likely: bool = False
    urgency: UrgencyLevel = UrgencyLevel.NONE
    faint: bool = False
    danger: Kind = Kind.UNCLEAR
    danger_told: bool = False
    contacts: bool = False
    objection: str | None = None
    may_request: bool = True
    missing: tuple[str, ...] = ()
    section: tuple[str, str] | None = None
    language: str = "en"
    facts: str = ""
    above: str = ""
    emergency: str = ""


class Agent(Protocol):
    """Drafts replies. Raises ModelError when its model gives nothing usable."""

    async def draft(self, task: AgentTask, ledger: Ledger) -> Draft:
        """Write one draft, or ask for sources in it."""
        ...
