"""One turn's reflections: those that are configured, each failing to the turn without it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from engine.exceptions import CafiError
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.reflection.protocol import Reflections
from engine.retrieval.protocol import Hit
from engine.settings import AssistantSettings
from engine.steps import StepName, step
from engine.types import Draft, Message

Search = Callable[[str], Awaitable[tuple[Hit, ...]]]


@dataclass(kw_only=True, slots=True)
class TurnReflections:
    """Asks what `assistant.reflection` names. `noted` says what came of it, as words without content.

    A reflection that fails (model, budget, prompt) changes nothing. None of them can accept a reply: they come before
    the judges, and a draft that replaces another one has passed the same code checks.
    """

    reflections: Reflections | None
    assistant: AssistantSettings
    ledger: Ledger
    noted: list[str] = field(default_factory=list)

    def on(self, name: str) -> Reflections | None:
        """Who is asked, where this reflection is configured."""
        return self.reflections if name in self.assistant.reflection else None

    async def needed(self, message: str, earlier: tuple[Message, ...]) -> bool:
        """Whether to search at all."""
        if (asked := self.on("needed")) is None:
            return True
        try:
            with step(StepName.REFLECT):
                needed = await asked.needed.needed(message, earlier, self.assistant, self.ledger)
        except CafiError:
            self.noted.append("needed:failed")
            return True
        self.noted.append("needed:yes" if needed else "needed:no")
        return needed

    async def relevant(
        self, message: str, found: tuple[Hit, ...], knowledge: KnowledgeBase, search: Search
    ) -> tuple[Hit, ...]:
        """The hits that fit; where none does, those that fit of one more search in other words."""
        if not found or (asked := self.on("relevant")) is None:
            return found
        try:
            with step(StepName.REFLECT):
                grades = await asked.relevant.graded(message, _sources(knowledge, found), self.ledger)
            fitting = tuple(hit for hit in found if hit.source in grades.fitting)
            if fitting or not grades.reworded:
                self.noted.append(
                    "relevant:all" if fitting == found else "relevant:some" if fitting else "relevant:none"
                )
                return fitting
            seen = {hit.source for hit in found}
            again = tuple(hit for hit in await search(grades.reworded) if hit.source not in seen)
            self.noted.append("relevant:again")
            if not again:
                return ()
            with step(StepName.REFLECT):
                grades = await asked.relevant.graded(message, _sources(knowledge, again), self.ledger)
        except CafiError:
            self.noted.append("relevant:failed")
            return found
        return tuple(hit for hit in again if hit.source in grades.fitting)

    async def missing(self, message: str, draft: Draft, knowledge: KnowledgeBase) -> tuple[str, ...]:
        """What a draft leaves unanswered."""
        if (asked := self.on("complete")) is None or draft.fixed:
            return ()
        try:
            with step(StepName.REFLECT):
                missing = await asked.complete.missing(message, draft, knowledge.pick(draft.citations), self.ledger)
        except CafiError:
            self.noted.append("complete:failed")
            return ()
        self.noted.append("complete:no" if missing else "complete:yes")
        return missing


def _sources(knowledge: KnowledgeBase, hits: tuple[Hit, ...]) -> tuple[Source, ...]:
    return knowledge.pick(tuple(hit.source for hit in hits))
