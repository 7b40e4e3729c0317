"""The agent with a language model: structured drafts from sources in context."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.agent.passages import PassageRanking
from engine.agent.protocol import AgentTask
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Passage, Source
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.prompts import neutralise
from engine.rules import RuleBook
from engine.types import Basis, Draft, Message, Role, Wish


class DraftOutput(BaseModel):
    """The form of the agent's answer. Planning fields come first, so that the reply follows from them."""

    model_config = ConfigDict(extra="ignore")

    requested_sources: list[str] = []
    citations: list[str] = []
    basis: Basis
    reply: str
    media: list[str] = []
    handoff: str | None = None


EXCERPT_WORDS = 80
"""How much of a source is shown that is not the best one; the agent can ask for the rest."""
AGENT_GIVEN = frozenset(
    {
        "assistant", "rules", "handoffs", "index", "whole", "max_words", "sources", "source_ids", "reminders",
        "message", "high_stakes", "delusional_framing", "concern", "danger_told", "facts", "above",
        "objection", "may_request",
    }
)  # fmt: skip
"""The variables the agent's prompt may ask for."""


@dataclass(frozen=True, kw_only=True)
class LlmAgent:
    """Drafts with a language model. `whole` puts every source into the static first message."""

    prompted: PromptedModel
    knowledge: KnowledgeBase
    rules: RuleBook
    wishes: dict[str, str]
    ranking: PassageRanking
    whole: bool = False

    async def draft(self, task: AgentTask, ledger: Ledger) -> Draft:
        """One call to the model."""
        variables = self.prompted.declared({**self._static(task), **self._dynamic(task)})
        history = tuple(Message(role=one.role, content=neutralise(one.content)) for one in task.earlier)
        output = await self.prompted.answer(variables, DraftOutput, ledger, history=_starting_with_user(history))
        return Draft(
            reply=output.reply.strip(),
            citations=tuple(dict.fromkeys(output.citations)),
            basis=output.basis,
            requested_sources=tuple(dict.fromkeys(output.requested_sources)) if task.may_request else (),
            media=tuple(dict.fromkeys(output.media)),
            handoff=output.handoff or None,
        )

    def _static(self, task: AgentTask) -> dict[str, object]:
        return {
            "assistant": {
                "name": task.assistant.name,
                "audience": task.assistant.audience,
                "condition": task.assistant.condition,
            },
            "rules": [rule.model_dump() for rule in self.rules.conduct],
            "handoffs": [one.model_dump() for one in task.assistant.handoffs],
            "index": "" if self.whole else self.knowledge.index,
            "whole": [source.for_prompt() for source in self.knowledge.sources.values()] if self.whole else [],
            "max_words": task.assistant.limits.reply_characters // 10,
        }

    def _in_context(self, task: AgentTask) -> list[dict[str, object]]:
        """The best source and those asked for by name in full, of the others what fits the message best."""
        whole = {*task.requested, *(source.id for source in task.sources[:1])}
        return [
            source.for_prompt(excerpt=None if source.id in whole else self._excerpt(task, source))
            for source in task.sources
        ]

    def _excerpt(self, task: AgentTask, source: Source) -> str | None:
        """The best passages in their order; None where that would be most of the source anyway."""
        if len(source.text.split()) < 2 * EXCERPT_WORDS:
            return None
        chosen: list[Passage] = []
        for one in self.ranking.rank(task.message, source):
            if chosen and sum(len(passage.text.split()) for passage in (*chosen, one.passage)) > EXCERPT_WORDS:
                break
            chosen.append(one.passage)
        return "\n[...]\n".join(one.text for one in sorted(chosen, key=lambda passage: passage.index))

    def _dynamic(self, task: AgentTask) -> dict[str, object]:
        wish = "" if task.wish is Wish.ANSWER else self.wishes[task.wish.value]
        return {
            "sources": [] if self.whole else self._in_context(task),
            "source_ids": [source.id for source in task.sources],
            "reminders": [one.text for one in task.reminders],
            "message": wish or task.message,
            "high_stakes": task.high_stakes,
            "delusional_framing": task.delusional_framing,
            "concern": task.urgency.order > 0,
            "danger_told": task.danger_told,
            "facts": task.facts,
            "above": task.above,
            "objection": task.objection or "",
            "may_request": task.may_request,
        }


def _starting_with_user(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """Some servers refuse a history that begins with the assistant, as one does that was cut to its budget."""
    return history[1:] if history and history[0].role is Role.ASSISTANT else history
