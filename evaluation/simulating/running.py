"""`eval simulate`: personas converse with the chatbot, and every turn is kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.engine import Engine
from engine.exceptions import ModelError
from engine.models.ledger import Ledger
from engine.text import clean
from engine.types import Conversation
from evaluation.facilitating.journal import Entry, Journal
from evaluation.facilitating.running import marks_of, places
from evaluation.facilitating.spending import Spending
from evaluation.simulating.design import Simulated
from evaluation.simulating.figures import figures
from evaluation.simulating.protocol import PersonaTask, Player, Said
from evaluation.transcripts import Response, Spent, verdicts_of


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Holds the conversations of a journal that are not complete; `engines` are those of the arms."""

    engines: Mapping[str, Engine]
    player: Player
    journal: Journal[Simulated]
    spending: Spending
    parallel: int = 8

    async def go_on(self, progress: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Do what is missing, several conversations at a time; what is there is not done again.

        Ends early where a limit of spending is reached, and with single conversations where a player's model fails.
        Writes the transcripts and gives the report.
        """
        for entry in self.journal.ordered():
            self.spending.add(entry.response.usage, entry.asking)
        gate = asyncio.Semaphore(self.parallel)

        async def one(held: Simulated) -> str | None:
            async with gate:
                return await self._hold(held, progress)

        stops = await asyncio.gather(*(one(held) for held in self.journal.held))
        transcripts = self.journal.publish()
        return {"transcripts": str(transcripts)} | self._report([one for one in stops if one is not None])

    async def _hold(self, held: Simulated, progress: Callable[[], None]) -> str | None:
        """Go on with one conversation to its end; gives the reason where it stops before."""
        done, engine = self.journal.of(held), self.engines[held.arm]
        conversation = done[-1].after if done else engine.start()
        wanted = [one.query for one in self.journal.expected.values() if one.held is held]
        for query in wanted[len(done) :]:
            if (limit := self.spending.used_up) is not None:
                return limit
            ledger = Ledger(budget=engine.budget)
            try:
                said = await self.player.message(
                    PersonaTask(persona=held.role, step=query, seen=conversation.messages), ledger
                )
            except ModelError as error:
                self.spending.add(Spent.of(ledger.usage(engine.prices)))
                return type(error).__name__
            entry = await self._answered(held, query, conversation, said, ledger)
            conversation = entry.after
            self.spending.add(entry.response.usage, entry.asking)
            self.journal.append(entry)
            progress()
        return None

    async def _answered(
        self, held: Simulated, query: int, conversation: Conversation, said: Said, ledger: Ledger
    ) -> Entry:
        engine, begun = self.engines[held.arm], time.monotonic()
        turn = await engine.respond(conversation, said.text)
        usage = Spent.of(turn.usage)
        knowledge = engine.assistants[turn.conversation.assistant].knowledge
        response = Response(
            response_id=held.response_id(self.journal.run, query),
            run=self.journal.run,
            role=held.role.id,
            conversation=held.number,
            query=query,
            arm=held.arm,
            user_message=clean(said.text).text,
            reply=turn.reply.text,
            citations=turn.reply.citations,
            sources_text={one.id: one.text for one in knowledge.pick(turn.reply.citations)},
            decision=turn.review.decision,
            review=verdicts_of(turn.review),
            marks=(*marks_of(turn), *said.marks, *turn.review.reflected),
            usage=usage,
            # As in runs of facilitators: without a model the same run has to give the same bytes.
            seconds=round(time.monotonic() - begun, 3) if usage.llm_calls else 0.0,
        )
        return Entry.of(response, Spent.of(ledger.usage(engine.prices)), turn.conversation)

    def _report(self, stops: list[str]) -> dict[str, Any]:
        journal, responses = self.journal, [entry.response for entry in self.journal.ordered()]
        personas = tuple(dict.fromkeys(one.role for one in journal.held))
        known = frozenset(
            source
            for engine in self.engines.values()
            for assistant in engine.assistants.values()
            for source in assistant.knowledge.sources
        )
        return {
            "run": journal.run,
            "complete": not journal.missing,
            "responses": len(responses),
            "wanted": len(journal.expected),
            "stopped": dict(sorted(Counter(stops).items())),
            "missing": places(journal.missing),
            "arms": {
                arm: figures(personas, [one for one in responses if one.arm == arm], known) for arm in self.engines
            },
            "spent": asdict(self.spending.spent),
        }
