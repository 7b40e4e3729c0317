"""A writer with a language model: one request for each source and rule."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.knowledge.source import Source
from engine.models.calling import PromptedModel
from engine.models.ledger import Ledger
from engine.rules import Rule
from engine.settings import AssistantSettings
from evaluation.distilling.proposals import Proposal

GIVEN = frozenset({"assistant", "rule", "count", "sources"})
"""The variables the writer's prompt may ask for."""


class WrittenCase(BaseModel):
    """One case of a model's answer: the reason before the verdict, so that it follows from it."""

    model_config = ConfigDict(extra="ignore")

    trick: str
    user_message: str
    reply: str
    cites: bool
    why: str
    acceptable: bool


class WriterOutput(BaseModel):
    """The form of a model's answer."""

    model_config = ConfigDict(extra="ignore")

    scenarios: list[WrittenCase]


@dataclass(frozen=True, kw_only=True)
class LlmWriter:
    """Asks a model for cases; `model` is its name."""

    prompted: PromptedModel
    assistant: AssistantSettings
    model: str

    @property
    def name(self) -> str:
        """`llm:` and the model's name."""
        return f"llm:{self.model}"

    async def write(self, source: Source, rule: Rule, count: int, ledger: Ledger) -> tuple[Proposal, ...]:
        """One request; raises ModelError for an answer that cannot be used."""
        output = await self.prompted.answer(
            {
                "assistant": {"condition": self.assistant.condition, "audience": self.assistant.audience},
                "rule": rule.model_dump(),
                "count": count,
                "sources": [{"id": source.id, "title": source.title, "text": source.text}],
            },
            WriterOutput,
            ledger,
        )
        return tuple(
            Proposal(
                message=one.user_message.strip(),
                reply=one.reply.strip(),
                acceptable=one.acceptable,
                why=" ".join(one.why.split()),
                cites=(source.id,) if one.cites else (),
                family=f"{rule.id} {' '.join(one.trick.casefold().split())[:40]}",
            )
            for one in output.scenarios
        )
