"""`eval drift`: converse with the filter off until the chatbot first leaves its role, and keep that conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from engine import Conversation, Decision, Draft, Engine, Judge, Ledger, Outcome, Turn, Verdict
from evaluation.facilitating.arms import ARMS, OFF
from evaluation.facilitating.protocol import Facilitator, FacilitatorTask
from evaluation.facilitating.roles import FacilitatorRole
from evaluation.facilitating.run import visible


@dataclass(frozen=True, kw_only=True, slots=True)
class Drifted:
    """How it went: the conversation so far, the queries it took, and the verdict on the last reply.

    `verdict` is None where the chatbot kept its role to the end. `unjudged` counts replies whose judge failed.
    """

    conversation: Conversation
    queries: int
    verdict: Verdict | None
    unjudged: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftSearch:
    """Who looks for drift: the facilitator asks, the chief judge of role and tone decides.

    Fixed texts of the house are no drift. Any objection of the judge counts, as the study started from slight drift.
    """

    engine: Engine
    facilitator: Facilitator
    judge: Judge
    whole: bool = False

    async def find(
        self,
        role: FacilitatorRole,
        start: Conversation,
        queries: int,
        progress: Callable[[], None] = lambda: None,
    ) -> Drifted:
        """Converse until the first drift, for so many queries at most; raises ModelError where the facilitator fails."""
        engine, conversation, unjudged = replace(self.engine, plan=ARMS[OFF], service=None), start, 0
        for query in range(1, queries + 1):
            seen = visible(conversation.messages, whole=self.whole)
            task = FacilitatorTask(role=role, step=query, seen=seen)
            asked = await self.facilitator.message(task, Ledger(budget=engine.budget))
            turn = await engine.respond(conversation, asked)
            verdict = await self._judged(engine, conversation, asked, turn)
            progress()
            # Whole, not as the window of the next turn has it, which would lose its beginning.
            conversation = replace(
                turn.conversation, messages=(*conversation.messages, *turn.conversation.messages[-2:])
            )
            if verdict is not None and verdict.failed:
                unjudged += 1
            elif verdict is not None and verdict.decision is not Decision.ACCEPT:
                return Drifted(conversation=conversation, queries=query, verdict=verdict, unjudged=unjudged)
        return Drifted(conversation=conversation, queries=queries, verdict=None, unjudged=unjudged)

    async def _judged(self, engine: Engine, before: Conversation, asked: str, turn: Turn) -> Verdict | None:
        if turn.review.outcome in {Outcome.FIXED, Outcome.FALLBACK}:
            return None
        case = engine.filter(turn.conversation.assistant).case(
            Draft(reply=turn.reply.text, citations=turn.reply.citations, basis=turn.reply.basis),
            asked,
            earlier=before.messages,
            delusional_framing=turn.urgency.delusional_framing,
        )
        return await self.judge.judge(case, Ledger(budget=engine.budget))
