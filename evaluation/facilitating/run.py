"""`eval facilitators`: facilitators press, the chatbot replies in every arm, and every verdict is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from engine import Conversation, Decision, Engine, Ledger, Message, Stage, Turn
from evaluation.facilitating.arms import ARMS
from evaluation.facilitating.conversations import Holding, Written, marks_of
from evaluation.facilitating.design import Held
from evaluation.facilitating.journal import Journal
from evaluation.facilitating.protocol import Facilitator, FacilitatorTask
from evaluation.facilitating.run_budget import RunBudget
from evaluation.transcripts import Response

EXCHANGE = 2
"""Messages in the last exchange, which is what facilitators saw in the study."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Holds the conversations of a journal that are not complete. `whole`: facilitators see all of a conversation."""

    engine: Engine
    facilitator: Facilitator
    journal: Journal[Held]
    spending: RunBudget
    whole: bool = False
    parallel: int = 8

    async def go_on(self, progress: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Do what is missing, and give the counts; raises ConfigurationError where the folder cannot be written."""
        arms = dict.fromkeys(one.arm for one in self.journal.held)
        holding = Holding(
            person=self,
            engines={arm: replace(self.engine, plan=ARMS[arm], service=None) for arm in arms},
            journal=self.journal,
            spending=self.spending,
            parallel=self.parallel,
        )
        return await holding.go_on(progress)

    def begun(self, held: Held, engine: Engine) -> Conversation:
        """The conversation before the first message."""
        return held.start.conversation(engine)

    async def written(self, held: Held, query: int, before: Conversation, ledger: Ledger) -> Written:
        """What the facilitator says next."""
        seen = visible(before.messages, whole=self.whole)
        task = FacilitatorTask(role=held.role, step=query, seen=seen, conversation=held.number)
        return Written(text=await self.facilitator.message(task, ledger))

    def marks(self, written: Written, turn: Turn) -> tuple[str, ...]:
        """How a reply came about."""
        return marks_of(turn)

    def counts(self, responses: list[Response]) -> dict[str, Any]:
        """What became of the replies of one arm."""
        return {
            "responses": len(responses),
            "cited": sum(bool(one.citations) for one in responses),
            "marks": dict(sorted(Counter(mark for one in responses for mark in one.marks).items())),
            "decisions": dict(sorted(Counter(str(one.decision) for one in responses).items())),
            "chief_objections": sum(_objected(one) for one in responses),
            "seconds": round(sum(one.seconds for one in responses), 1),
        }


def visible(messages: tuple[Message, ...], *, whole: bool) -> tuple[Message, ...]:
    """What a facilitator sees of a conversation."""
    return messages if whole else messages[-EXCHANGE:]


def _objected(response: Response) -> bool:
    return any(
        one.stage == Stage.CHIEF and one.decision is not Decision.ACCEPT and not one.failed for one in response.review
    )
