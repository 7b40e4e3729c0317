"""What a moderator has written passes the same checks and judges as what an agent has written, and is never refined:
nobody changes a moderator's words but the moderator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.moderation.reviews import Review
from engine.attempt import Assistant
from engine.checks import CheckContext, failed_checks
from engine.engine import Engine
from engine.filter import judged
from engine.judges.protocol import Case
from engine.models.ledger import Ledger
from engine.types import Decision, Draft, StageRecord


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """Checks texts of moderators against the assistants of an engine."""

    engine: Engine

    async def edited(self, review: Review, words: str) -> tuple[str, ...]:
        """Why an edited reply cannot be shown; empty where it can.

        A WARNING does not hold it back: that is a doubt for a human, and one has just decided.
        """
        draft = Draft(reply=words, citations=review.answered.sources, basis=review.basis)
        return await self.objections(draft, review.asked, review.answered.assistant)

    async def objections(self, draft: Draft, asked: str, assistant_id: str) -> tuple[str, ...]:
        """Why a draft cannot be shown: failed checks, or what judges say who reject it."""
        assistant = self.engine.assistants.get(assistant_id)
        if assistant is None:
            return ("The assistant that wrote this is not configured any more.",)
        reasons = self.failed(assistant, draft, asked)
        return reasons or _said(await self._judged(assistant, draft, asked))

    def failed(self, assistant: Assistant, draft: Draft, asked: str) -> tuple[str, ...]:
        """The checks by code that a draft fails."""
        return failed_checks(draft, self._context(assistant, draft, asked))

    async def _judged(self, assistant: Assistant, draft: Draft, asked: str) -> StageRecord:
        """The last stage of the first team whose judges can work."""
        stakes = self.engine.stakes
        case = Case(
            draft=draft,
            message=asked,
            sources=assistant.knowledge.pick(draft.citations),
            high_stakes=bool(stakes.topics(asked)),
            risky=stakes.risky(draft.reply),
            assistant_name=assistant.settings.name,
            audience=assistant.settings.audience,
            condition=assistant.settings.condition,
        )
        for team in assistant.teams:
            tiers = {"preliminary": team.preliminary, "chief": team.chief}
            record = (await judged(case, tiers, Ledger(budget=self.engine.budget)))[-1]
            if not _broken(record):
                break
        return record

    def _context(self, assistant: Assistant, draft: Draft, asked: str) -> CheckContext:
        return CheckContext(
            knowledge=assistant.knowledge,
            in_context=draft.citations,
            reply_characters=assistant.settings.limits.reply_characters,
            high_stakes=bool(self.engine.stakes.topics(asked, draft.reply)),
            private=assistant.private,
        )


def _broken(record: StageRecord) -> bool:
    rejects = [one for one in record.verdicts if one.decision is Decision.REJECT]
    return bool(rejects) and all(one.failed for one in rejects)


def _said(record: StageRecord) -> tuple[str, ...]:
    if record.decision is not Decision.REJECT:
        return ()
    return doubts([record]) or ("The judges reject it.",)


def doubts(stages: Sequence[StageRecord], most: int = 3) -> tuple[str, ...]:
    """What the judges of the last stage object to, a line each."""
    found = [one for one in (stages[-1].verdicts if stages else ()) if one.decision is not Decision.ACCEPT]
    lines = []
    for one in found[:most]:
        said = one.explanation or "; ".join(f"“{sentence}”" for sentence in one.sentences) or str(one.decision)
        lines.append(f"{one.judge.replace('_', ' ')}: {said[:300]}")
    return tuple(dict.fromkeys(lines))
