"""The reflections with a language model: one call each to the small model."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.agent.passages import PassageRanking
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.prompts import dialogue
from engine.reflection.protocol import SPARED, Grades, NeedReflection
from engine.retrieval.questions import split
from engine.settings import AssistantSettings
from engine.types import Draft, Message

NEED_GIVEN = frozenset({"assistant", "earlier", "message"})
RELEVANCE_GIVEN = frozenset({"assistant", "sources", "message"})
COMPLETENESS_GIVEN = frozenset({"assistant", "message", "reply"})
"""The variables that each prompt may ask for."""
EARLIER = 2
"""Messages before this one that the first question needs to see."""
MOST_MISSING = 2
"""Questions that a second draft is asked to answer besides."""


class NeedOutput(BaseModel):
    """The form of the answer: whether the sources have to be searched."""

    model_config = ConfigDict(extra="ignore")

    search: bool


class RelevanceOutput(BaseModel):
    """The form of the answer: ids of candidates that fit, and other words where none does."""

    model_config = ConfigDict(extra="ignore")

    fitting: list[str] = []
    reworded: str = ""


class CompletenessOutput(BaseModel):
    """The form of the answer: what was asked and not answered."""

    model_config = ConfigDict(extra="ignore")

    missing: list[str] = []


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmNeed:
    """Asks a model, unless exact phrases decide already."""

    prompted: PromptedModel
    phrases: NeedReflection
    condition: str

    async def needed(
        self, message: str, earlier: tuple[Message, ...], assistant: AssistantSettings, ledger: Ledger
    ) -> bool:
        """One call at most."""
        if not await self.phrases.needed(message, earlier, assistant, ledger):
            return False
        ledger.leave(SPARED)
        said = dialogue(earlier[-EARLIER:])
        variables = {"assistant": {"condition": self.condition}, "earlier": said, "message": message}
        return (await self.prompted.answer(variables, NeedOutput, ledger)).search


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmRelevance:
    """Shows a model each candidate by title, summary and best passage."""

    prompted: PromptedModel
    ranking: PassageRanking
    condition: str

    async def graded(self, message: str, candidates: tuple[Source, ...], ledger: Ledger) -> Grades:
        """One call; ids that are none of the candidates' are left out."""
        ledger.leave(SPARED)
        shown = [
            {
                "id": one.id,
                "title": one.title,
                "summary": "; ".join(one.summary),
                "text": self.ranking.rank(message, one)[0].passage.text,
            }
            for one in candidates
        ]
        variables = {"assistant": {"condition": self.condition}, "sources": shown, "message": message}
        output = await self.prompted.answer(variables, RelevanceOutput, ledger)
        ids = {one.id for one in candidates}
        return Grades(fitting=frozenset(ids.intersection(output.fitting)), reworded=output.reworded.strip())


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmCompleteness:
    """Asks a model where a message holds more than one part; a single question is the judges' matter."""

    prompted: PromptedModel
    condition: str

    async def missing(self, message: str, draft: Draft, cited: tuple[Source, ...], ledger: Ledger) -> tuple[str, ...]:
        """One call at most."""
        if len(split(message)) < 2:
            return ()
        ledger.leave(SPARED)
        variables = {"assistant": {"condition": self.condition}, "message": message, "reply": draft.reply}
        output = await self.prompted.answer(variables, CompletenessOutput, ledger)
        return tuple(one.strip() for one in output.missing if one.strip())[:MOST_MISSING]
