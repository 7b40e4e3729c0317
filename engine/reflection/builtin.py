"""The reflections without a model: by exact phrases, by shared words, by a search for each question."""

from __future__ import annotations

from dataclasses import dataclass

from engine.agent.passages import PassageRanking
from engine.agent.smalltalk import SmallTalk
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.reflection.protocol import Grades
from engine.retrieval.protocol import Retriever
from engine.retrieval.questions import split
from engine.settings import AssistantSettings
from engine.texts import Texts
from engine.types import Draft, Message

LEAST_FIT = 0.2
"""A candidate of whose passages none shares so much of the message does not fit."""
WELL_FOUND_FROM = 0.6
"""From this score on a question counts as one that the knowledge base answers."""
LOOKED_AT = 2
"""A question is answered where one of so many best sources for it is cited."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PhraseNeed:
    """Small talk and wishes, by their words."""

    texts: Texts

    async def needed(
        self, message: str, earlier: tuple[Message, ...], assistant: AssistantSettings, ledger: Ledger
    ) -> bool:
        """False where the message is nothing but small talk or a wish."""
        return (
            SmallTalk(texts=self.texts).answer(message, assistant) is None and self.texts.sayings.wish(message) is None
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class WordRelevance:
    """By the share of the message that the best passage of a candidate covers."""

    ranking: PassageRanking

    async def graded(self, message: str, candidates: tuple[Source, ...], ledger: Ledger) -> Grades:
        """Candidates that cover too little do not fit; in other words, a message is its questions alone."""
        asked = [part.text for part in split(message)]
        questions = [part.text for part in split(message) if part.asks]
        fitting = frozenset(one.id for one in candidates if self._fit(asked or [message], one) >= LEAST_FIT)
        return Grades(fitting=fitting, reworded=" ".join(questions) if len(questions) < len(asked) else "")

    def _fit(self, parts: list[str], source: Source) -> float:
        return max((one.fit for part in parts for one in self.ranking.rank(part, source)), default=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchCompleteness:
    """By a search for each question of a message."""

    retriever: Retriever

    async def missing(self, message: str, draft: Draft, cited: tuple[Source, ...], ledger: Ledger) -> tuple[str, ...]:
        """The questions for which the search is sure of a source and the draft cites none of the best."""
        questions = [f"{part.context} {part.text}".strip() for part in split(message) if part.asks]
        return tuple(one for one in questions if not self._answered(one, draft)) if len(questions) > 1 else ()

    def _answered(self, question: str, draft: Draft) -> bool:
        hits = self.retriever.search(question, top=LOOKED_AT)
        return not hits or hits[0].score < WELL_FOUND_FROM or any(hit.source in draft.citations for hit in hits)
