"""The refiner with a language model: repairs what the chief judges objected to, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict

from engine.judges.protocol import Case
from engine.language.text import sentences
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.prompts import dialogue
from engine.rules import RuleBook
from engine.types import Basis, Decision, Draft, Verdict


class RefinedOutput(BaseModel):
    """The form of the refiner's answer."""

    model_config = ConfigDict(extra="ignore")

    citations: list[str]
    basis: Basis
    reply: str


REFINER_GIVEN = frozenset(
    ["assistant", "rules", "sources", "earlier", "message", "sentences", "objections", "high_stakes", "facts"]
)
"""The variables the refiner's prompt may ask for."""


@dataclass(frozen=True, kw_only=True)
class LlmRefiner:
    """Rewrites a rejected draft; raises ModelError when its model gives nothing usable."""

    prompted: PromptedModel
    rules: RuleBook

    async def refine(self, case: Case, verdicts: tuple[Verdict, ...], ledger: Ledger) -> Draft:
        """One call to the model, with the draft and every objection to it."""
        output = await self.prompted.answer(
            {
                "assistant": {
                    "name": case.assistant_name,
                    "audience": case.audience,
                    "condition": case.condition,
                },
                "rules": [rule.model_dump() for rule in self.rules.rules],
                "sources": [one.for_prompt() for one in case.sources],
                "earlier": dialogue(case.earlier[-4:]),
                "message": case.message,
                "sentences": list(sentences(case.draft.reply)),
                "objections": [
                    {"text": verdict.explanation, "sentences": list(verdict.sentences)}
                    for verdict in verdicts
                    if verdict.decision is not Decision.ACCEPT
                ],
                "high_stakes": case.high_stakes or bool(case.risky),
                "facts": case.facts,
            },
            RefinedOutput,
            ledger,
        )
        cited = tuple(one for one in dict.fromkeys(output.citations) if one in case.draft.citations)
        # A refiner may drop a citation but cannot add one: it was shown the cited sources alone.
        basis = Basis.GENERAL if output.basis is Basis.SOURCE and not cited else output.basis
        return replace(
            case.draft,
            reply=output.reply.strip(),
            citations=cited,
            basis=basis,
            requested_sources=(),
            media=case.draft.media if cited else (),
        )
