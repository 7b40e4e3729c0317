"""`eval facilitators`: facilitators press, the chatbot replies in every arm, and every verdict is kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from engine.engine import Engine
from engine.exceptions import ModelError
from engine.models.ledger import Ledger
from engine.text import clean
from engine.types import Conversation, Decision, Message, Stage, Turn, UrgencyLevel
from evaluation.facilitating.arms import ARMS
from evaluation.facilitating.design import Held
from evaluation.facilitating.journal import Entry, Expected, HeldT, Journal
from evaluation.facilitating.protocol import Facilitator, FacilitatorTask
from evaluation.facilitating.spending import Spending
from evaluation.transcripts import Response, Spent, verdicts_of

EXCHANGE = 2
"""Messages in the last exchange, which is what facilitators saw in the study."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Holds the conversations of a journal that are not complete. `whole`: facilitators see all of a conversation."""

    engine: Engine
    facilitator: Facilitator
    journal: Journal[Held]
    spending: Spending
    whole: bool = False
    parallel: int = 8

    async def go_on(self, progress: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Do what is missing, several conversations at a time; what is there is not done again.

        Ends early where a limit of spending is reached, and with single conversations where a facilitator's model
        fails. Writes the transcripts and gives the counts.
        """
        for entry in self.journal.ordered():
            self.spending.add(entry.response.usage, entry.asking)
        gate = asyncio.Semaphore(self.parallel)
        engines = {arm: replace(self.engine, plan=ARMS[arm]) for arm in {one.arm for one in self.journal.held}}

        async def one(held: Held) -> str | None:
            async with gate:
                return await self._hold(held, engines[held.arm], progress)

        stops = await asyncio.gather(*(one(held) for held in self.journal.held))
        transcripts = self.journal.publish()
        return {"transcripts": str(transcripts)} | self._counts(stops)

    async def _hold(self, held: Held, engine: Engine, progress: Callable[[], None]) -> str | None:
        """Go on with one conversation to its end; gives the reason where it stops before."""
        done = self.journal.of(held)
        conversation = done[-1].after if done else held.start.conversation(engine)
        wanted = [one.query for one in self.journal.expected.values() if one.held is held]
        for query in wanted[len(done) :]:
            if (limit := self.spending.used_up) is not None:
                return limit
            ledger = Ledger(budget=engine.budget)
            try:
                asked = await self._asked(held, query, conversation, ledger)
            except ModelError as error:
                self.spending.add(Spent.of(ledger.usage(engine.prices)))
                return type(error).__name__
            entry = await self._answered(held, query, conversation, asked, engine, ledger)
            conversation = entry.after
            self.spending.add(entry.response.usage, entry.asking)
            self.journal.append(entry)
            progress()
        return None

    async def _asked(self, held: Held, query: int, conversation: Conversation, ledger: Ledger) -> str:
        seen = visible(conversation.messages, whole=self.whole)
        task = FacilitatorTask(role=held.role, step=query, seen=seen, conversation=held.number)
        return await self.facilitator.message(task, ledger)

    async def _answered(
        self, held: Held, query: int, conversation: Conversation, asked: str, engine: Engine, ledger: Ledger
    ) -> Entry:
        begun = time.monotonic()
        turn = await engine.respond(conversation, asked)
        usage = Spent.of(turn.usage)
        knowledge = engine.assistants[turn.conversation.assistant].knowledge
        response = Response(
            response_id=held.response_id(self.journal.run, query),
            run=self.journal.run,
            role=held.role.id,
            conversation=held.number,
            query=query,
            arm=held.arm,
            user_message=clean(asked).text,
            reply=turn.reply.text,
            citations=turn.reply.citations,
            sources_text={one.id: one.text for one in knowledge.pick(turn.reply.citations)},
            decision=turn.review.decision,
            review=verdicts_of(turn.review),
            marks=marks_of(turn),
            usage=usage,
            # Without a model a turn takes milliseconds that say nothing, and the same run has to give the same bytes.
            seconds=round(time.monotonic() - begun, 3) if usage.llm_calls else 0.0,
        )
        return Entry.of(response, Spent.of(ledger.usage(engine.prices)), turn.conversation)

    def _counts(self, stops: Iterable[str | None]) -> dict[str, Any]:
        journal, responses = self.journal, [entry.response for entry in self.journal.ordered()]
        missing = journal.missing
        return {
            "run": journal.run,
            "complete": not missing,
            "responses": len(responses),
            "wanted": len(journal.expected),
            "stopped": dict(sorted(Counter(reason for reason in stops if reason is not None).items())),
            "missing": places(missing),
            "arms": {
                arm: arm_counts([one for one in responses if one.arm == arm])
                for arm in dict.fromkeys(held.arm for held in journal.held)
            },
            "spent": asdict(self.spending.spent),
        }


def visible(messages: tuple[Message, ...], *, whole: bool) -> tuple[Message, ...]:
    """What a facilitator sees of a conversation."""
    return messages if whole else messages[-EXCHANGE:]


def marks_of(turn: Turn) -> tuple[str, ...]:
    """How a reply came about, so that answers of the house can be told from the agent's."""
    marks = [str(turn.review.outcome)]
    if turn.urgency.level is not UrgencyLevel.NONE:
        marks.append(str(turn.urgency.level))
    if turn.urgency.delusional_framing:
        marks.append("delusional_framing")
    if turn.review.outage is not None:
        marks.append("outage")
    return tuple(marks)


def arm_counts(responses: list[Response]) -> dict[str, Any]:
    """What became of the replies of one arm."""
    return {
        "responses": len(responses),
        "cited": sum(bool(one.citations) for one in responses),
        "marks": dict(sorted(Counter(mark for one in responses for mark in one.marks).items())),
        "decisions": dict(sorted(Counter(str(one.decision) for one in responses).items())),
        "chief_objections": sum(_objected(one) for one in responses),
        "seconds": round(sum(one.seconds for one in responses), 1),
    }


def _objected(response: Response) -> bool:
    return any(
        one.stage == Stage.CHIEF and one.decision is not Decision.ACCEPT and not one.failed for one in response.review
    )


def places(expected: Iterable[Expected[HeldT]]) -> list[dict[str, Any]]:
    """Some responses that are missing, one row a conversation."""
    rows: dict[tuple[str, int, str], list[int]] = {}
    for one in expected:
        rows.setdefault((one.held.role.id, one.held.number, one.held.arm), []).append(one.query)
    return [
        {"role": role, "conversation": number, "arm": arm, "queries": queries}
        for (role, number, arm), queries in rows.items()
    ]
