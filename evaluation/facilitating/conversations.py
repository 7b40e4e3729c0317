"""Holding the conversations of a run: somebody writes, the chatbot replies in every arm, and every turn is kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

from engine import Conversation, Engine, Ledger, ModelError, Turn, UrgencyLevel, clean
from evaluation.facilitating.journal import Expected, HeldT, Journal, JournalEntry, Place
from evaluation.facilitating.run_budget import RunBudget
from evaluation.transcripts import Response, Spent, verdicts_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A message to the chatbot, and what is noted of it in transcripts."""

    text: str
    marks: tuple[str, ...] = ()


PlaceT_contra = TypeVar("PlaceT_contra", bound=Place, contravariant=True)


class Writer(Protocol[PlaceT_contra]):
    """Who writes to the chatbot in the conversations of a run."""

    def begun(self, held: PlaceT_contra, engine: Engine) -> Conversation:
        """The conversation before the first message."""
        ...

    async def written(self, held: PlaceT_contra, query: int, before: Conversation, ledger: Ledger) -> Written:
        """The next message, counted from 1; raises ModelError where a model gives none."""
        ...

    def marks(self, written: Written, turn: Turn) -> tuple[str, ...]:
        """What transcripts note of a message and of how its reply came about."""
        ...

    def counts(self, responses: list[Response]) -> dict[str, Any]:
        """The figures of one arm."""
        ...


@dataclass(frozen=True, kw_only=True)
class Holding(Generic[HeldT]):
    """Holds the conversations of a journal that are not complete; `engines` are those of the arms."""

    person: Writer[HeldT]
    engines: Mapping[str, Engine]
    journal: Journal[HeldT]
    spending: RunBudget
    parallel: int

    async def go_on(self, progress: Callable[[], None]) -> dict[str, Any]:
        """Do what is missing, several conversations at a time; what is there is not done again.

        Ends early where a limit of spending is reached, and with single conversations where the model that writes
        fails. Writes the transcripts and gives the counts.
        """
        for entry in self.journal.ordered():
            self.spending.add(entry.response.usage, entry.asking)
        gate = asyncio.Semaphore(self.parallel)

        async def one(held: HeldT) -> str | None:
            async with gate:
                return await self._hold(held, progress)

        stops = await asyncio.gather(*(one(held) for held in self.journal.held))
        transcripts = self.journal.publish()
        return {"transcripts": str(transcripts)} | self._report(one for one in stops if one is not None)

    async def _hold(self, held: HeldT, progress: Callable[[], None]) -> str | None:
        """Go on with one conversation to its end; gives the reason where it stops before."""
        done, engine = self.journal.of(held), self.engines[held.arm]
        conversation = done[-1].after if done else self.person.begun(held, engine)
        wanted = [one.query for one in self.journal.expected.values() if one.held is held]
        for query in wanted[len(done) :]:
            if (limit := self.spending.used_up) is not None:
                return limit
            ledger = Ledger(budget=engine.budget)
            try:
                written = await self.person.written(held, query, conversation, ledger)
            except ModelError as error:
                self.spending.add(Spent.of(ledger.usage(engine.prices)))
                return type(error).__name__
            entry = await self._answered(held, query, conversation, written, ledger)
            conversation = entry.after
            self.spending.add(entry.response.usage, entry.asking)
            self.journal.append(entry)
            progress()
        return None

    async def _answered(
        self, held: HeldT, query: int, conversation: Conversation, written: Written, ledger: Ledger
    ) -> JournalEntry:
        engine, begun = self.engines[held.arm], time.monotonic()
        turn = await engine.respond(conversation, written.text)
        usage = Spent.of(turn.usage)
        knowledge = engine.assistants[turn.conversation.assistant].knowledge
        response = Response(
            response_id=held.response_id(self.journal.run, query),
            run=self.journal.run,
            role=held.role.id,
            conversation=held.number,
            query=query,
            arm=held.arm,
            user_message=clean(written.text).text,
            reply=turn.reply.text,
            citations=turn.reply.citations,
            sources_text={one.id: one.text for one in knowledge.pick(turn.reply.citations)},
            decision=turn.review.decision,
            review=verdicts_of(turn.review),
            marks=self.person.marks(written, turn),
            usage=usage,
            # Without a model a turn takes milliseconds that say nothing, and the same run has to give the same bytes.
            seconds=round(time.monotonic() - begun, 3) if usage.llm_calls else 0.0,
        )
        return JournalEntry.of(response, Spent.of(ledger.usage(engine.prices)), turn.conversation)

    def _report(self, stops: Iterable[str]) -> dict[str, Any]:
        journal, responses = self.journal, [entry.response for entry in self.journal.ordered()]
        missing = journal.missing
        return {
            "run": journal.run,
            "complete": not missing,
            "responses": len(responses),
            "wanted": len(journal.expected),
            "stopped": dict(sorted(Counter(stops).items())),
            "missing": _places(missing),
            "arms": {arm: self.person.counts([one for one in responses if one.arm == arm]) for arm in self.engines},
            "spent": asdict(self.spending.spent),
        }


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


def _places(expected: Iterable[Expected[HeldT]]) -> list[dict[str, Any]]:
    """Some responses that are missing, one row a conversation."""
    rows: dict[tuple[str, int, str], list[int]] = {}
    for one in expected:
        rows.setdefault((one.held.role.id, one.held.number, one.held.arm), []).append(one.query)
    return [
        {"role": role, "conversation": number, "arm": arm, "queries": queries}
        for (role, number, arm), queries in rows.items()
    ]
