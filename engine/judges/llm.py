"""A judge with a language model: a chief judge for each question, and one first look for both that a reply needs.

The model points at numbered sentences and quotes the sources; code turns the numbers back into sentences and
looks every quotation up. What a model writes is read as structured data only: no word in an explanation,
a reply or a message can become a decision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.exceptions import ModelError
from engine.judges.choice import ANSWERS_FOR, SOURCE_FIDELITY
from engine.judges.protocol import Case
from engine.knowledge.directives import DirectiveKind
from engine.language.text import sentences, squash
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.prompts import dialogue
from engine.rules import Rule
from engine.types import Decision, Tier, Verdict

FAILED = "The judge could not do its work, so nothing was accepted."
INVENTED = "The acceptance rested on a quotation that no cited source contains."


class NumberedObjection(BaseModel):
    """One sentence of the draft, by number, and the rule it breaks."""

    model_config = ConfigDict(extra="ignore")

    sentence: int
    rule: str


class PreliminaryOutput(BaseModel):
    """The short form: objections first, so that the decision follows from them."""

    model_config = ConfigDict(extra="ignore")

    objections: list[NumberedObjection]
    decision: Decision


class ChiefOutput(BaseModel):
    """The long form: with quotations from the sources and an explanation for the agent."""

    model_config = ConfigDict(extra="ignore")

    objections: list[NumberedObjection]
    evidence: list[str]
    decision: Decision
    explanation: str


JUDGE_GIVEN = frozenset(
    {
        "rules", "known", "assistant", "high_stakes", "delusional_framing", "facts", "sources", "cited", "cites", "intents",
        "earlier", "message", "sentences",
    }
)  # fmt: skip
"""The variables a judge's prompt may ask for."""
SEEN_IN_A_REPLY = (DirectiveKind.INTENT, DirectiveKind.DO_NOT)
"""What of an author's wishes a judge can see kept or broken; the rest is kept by code, or between replies."""


@dataclass(frozen=True, kw_only=True)
class LlmJudge:
    """Asks its questions of a model; `rules` are those this judge checks, `known` those that it only has to know."""

    name: str
    tier: Tier
    prompted: PromptedModel
    rules: tuple[Rule, ...]
    known: tuple[Rule, ...] = ()
    earlier_messages: int = 4

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Decide on one case; a model that fails is a REJECT marked as failed."""
        variables = self._variables(case)
        try:
            if self.tier is Tier.SMALL:
                short = await self.prompted.answer(variables, PreliminaryOutput, ledger)
                return self._verdict(case, short.objections, short.decision)
            full = await self.prompted.answer(variables, ChiefOutput, ledger)
            return self._verdict(case, full.objections, full.decision, full.evidence, full.explanation)
        except ModelError:
            return Verdict(decision=Decision.REJECT, judge=self.name, tier=self.tier, explanation=FAILED, failed=True)

    def _variables(self, case: Case) -> dict[str, object]:
        given: dict[str, object] = {
            "rules": [rule.model_dump() for rule in self.rules],
            "known": [rule.statement for rule in self.known],
            "assistant": {
                "name": case.assistant_name,
                "audience": case.audience,
                "condition": case.condition,
            },
            "high_stakes": case.high_stakes or bool(case.risky),
            "delusional_framing": case.delusional_framing,
            "facts": case.facts,
            "sources": [{"id": source.id, "title": source.title, "text": source.text} for source in case.sources],
            "cited": [source.id for source in case.sources],
            "cites": SOURCE_FIDELITY in ANSWERS_FOR[self.name],
            "intents": [
                {"source": source.id, "note": one.for_agent()}
                for source in case.sources
                for one in source.directives
                if one.kind in SEEN_IN_A_REPLY
            ],
            "earlier": dialogue(case.earlier[-self.earlier_messages :]),
            "message": case.message,
            "sentences": list(sentences(case.draft.reply)),
        }
        return self.prompted.declared(given)

    def _verdict(
        self,
        case: Case,
        objections: Iterable[NumberedObjection],
        decision: Decision,
        evidence: Iterable[str] = (),
        explanation: str = "",
    ) -> Verdict:
        said = sentences(case.draft.reply)
        named = tuple(dict.fromkeys(said[one.sentence - 1] for one in objections if 0 < one.sentence <= len(said)))
        quoted = tuple(evidence)
        found = tuple(one for one in quoted if occurs(one, case))
        if decision is Decision.ACCEPT and len(found) < len(quoted):
            decision, explanation = Decision.REJECT, INVENTED
        return Verdict(
            decision=decision,
            judge=self.name,
            tier=self.tier,
            explanation=explanation.strip() or self._statement(objections, decision),
            sentences=named if decision is not Decision.ACCEPT else (),
            evidence=found,
        )

    def _statement(self, objections: Iterable[NumberedObjection], decision: Decision) -> str:
        """The broken rules in their own words, where the judge gave no explanation."""
        if decision is Decision.ACCEPT:
            return ""
        ids = {one.rule for one in objections}
        return " ".join(rule.statement for rule in self.rules if rule.id in ids)


def occurs(quotation: str, case: Case) -> bool:
    """Whether a quotation stands in one of the case's sources, whatever its punctuation and line breaks."""
    wanted = squash(quotation)
    return bool(wanted) and any(f" {wanted} " in f" {squash(source.text)} " for source in case.sources)
