"""`eval simulate`: personas converse with the chatbot, and every turn is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine import Conversation, Engine, Ledger, Turn
from evaluation.facilitating.conversations import Holding, Written, marks_of
from evaluation.facilitating.journal import Journal
from evaluation.facilitating.run_budget import RunBudget
from evaluation.simulating.design import Simulated
from evaluation.simulating.figures import figures
from evaluation.simulating.protocol import PersonaTask, Player
from evaluation.transcripts import Response


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """Holds the conversations of a journal that are not complete; `engines` are those of the arms."""

    engines: Mapping[str, Engine]
    player: Player
    journal: Journal[Simulated]
    spending: RunBudget
    parallel: int = 8

    async def go_on(self, progress: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Do what is missing, and give the report; raises ConfigurationError where the folder cannot be written."""
        holding = Holding(
            person=self,
            engines=self.engines,
            journal=self.journal,
            spending=self.spending,
            parallel=self.parallel,
        )
        return await holding.go_on(progress)

    def begun(self, held: Simulated, engine: Engine) -> Conversation:
        """The conversation before the first message."""
        return engine.start()

    async def written(self, held: Simulated, query: int, before: Conversation, ledger: Ledger) -> Written:
        """What the persona says next."""
        task = PersonaTask(persona=held.role, step=query, seen=before.messages)
        said = await self.player.message(task, ledger)
        return Written(text=said.text, marks=said.marks)

    def marks(self, written: Written, turn: Turn) -> tuple[str, ...]:
        """How a reply came about, what the message asked for, and what reflection did."""
        return (*marks_of(turn), *written.marks, *turn.review.reflected)

    def counts(self, responses: list[Response]) -> dict[str, Any]:
        """The figures of one arm."""
        personas = tuple(dict.fromkeys(one.role for one in self.journal.held))
        return figures(personas, responses, self._known)

    @property
    def _known(self) -> frozenset[str]:
        return frozenset(
            source
            for engine in self.engines.values()
            for assistant in engine.assistants.values()
            for source in assistant.knowledge.sources
        )
