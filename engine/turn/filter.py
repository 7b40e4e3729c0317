"""The Critical Analysis Filter: a preliminary judge, chief judges on doubt, one refinement, one re-judgement.

After JMIR AI 2025;4:e69820, with differences named in docs/decisions: role and tone is judged with a citation too,
all cited sources are judged, a draft that was warned about is refined too, the refined one is judged again, and a judge that
fails accepts nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from engine.exceptions import ModelError
from engine.judges.choice import judges_for
from engine.judges.protocol import Case, Judge
from engine.models.ledger import Ledger
from engine.stakes import Stakes
from engine.steps import StepFact, StepName, note, step
from engine.turn.checks import CheckContext, cleaned, failed_checks
from engine.turn.team import Assistant, Team
from engine.types import Decision, Draft, Message, Outcome, Role, Stage, StageRecord, Tier, Verdict

Recheck = Callable[[Draft], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterPlan:
    """Which parts of the filter take part in a turn. The default is the whole filter; anything less only measures it.

    `checks`: code checks send a draft back (an empty one always goes back); without `preliminary` the chief judges are
    asked at once; without `chief` the preliminary judges decide; without `refiner` a rejected draft ends in the
    fallback; without `reminders` the agent is told nothing of earlier verdicts.
    """

    checks: bool = True
    preliminary: bool = True
    chief: bool = True
    refiner: bool = True
    reminders: bool = True

    @property
    def judges(self) -> bool:
        """Whether anybody judges."""
        return self.preliminary or self.chief


WHOLE = FilterPlan()


@dataclass(frozen=True, kw_only=True, slots=True)
class Filtered:
    """What came out of the filter. `draft` is None when nothing may be shown.

    `broken`: nothing was accepted because judges or refiner failed, not because a judge objected.
    """

    outcome: Outcome
    draft: Draft | None
    stages: tuple[StageRecord, ...]
    failed_checks: tuple[str, ...] = ()
    broken: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Puts drafts of one assistant before the code checks and the judges, as far as `plan` has them.

    Nobody else says what checks and judges get to see.
    """

    assistant: Assistant
    stakes: Stakes
    plan: FilterPlan = WHOLE

    def case(
        self,
        draft: Draft,
        message: str,
        *,
        earlier: tuple[Message, ...] = (),
        delusional_framing: bool = False,
        facts: str = "",
    ) -> Case:
        """What the judges of a draft see: its sources, the turns before, and what it must be careful about."""
        settings = self.assistant.settings
        return Case(
            draft=draft,
            message=message,
            sources=self.assistant.knowledge.pick(draft.citations),
            earlier=earlier,
            high_stakes=self.high_stakes(message),
            risky=self.stakes.risky(draft.reply),
            delusional_framing=delusional_framing,
            facts=facts,
            assistant_name=settings.name,
            audience=settings.audience,
            condition=settings.condition,
        )

    def failed(
        self,
        draft: Draft,
        message: str,
        in_context: tuple[str, ...],
        *,
        earlier: tuple[Message, ...] = (),
        facts: str = "",
    ) -> tuple[str, ...]:
        """Why the code checks send a draft back; an empty one goes back even where they are off."""
        if not self.plan.checks and any(char.isalnum() for char in draft.reply):
            return ()
        settings = self.assistant.settings
        context = CheckContext(
            knowledge=self.assistant.knowledge,
            in_context=in_context,
            reply_characters=settings.limits.reply_characters,
            high_stakes=self.high_stakes(message, draft.reply),
            handoffs=tuple(one.to for one in settings.handoffs),
            private=self.assistant.private,
            human=self.assistant.human,
            told=(message, *(one.content for one in earlier if one.role is Role.USER)),
            facts=facts,
        )
        return failed_checks(draft, context)

    def high_stakes(self, *texts: str) -> bool:
        """Whether one of the texts touches a topic of high stakes."""
        return bool(self.stakes.topics(*texts))

    async def run(self, case: Case, team: Team, recheck: Recheck, ledger: Ledger) -> Filtered:
        """Judge a draft that has passed the code checks; `recheck` applies them to a refined one."""
        if not self.plan.judges:
            return Filtered(outcome=Outcome.UNJUDGED, draft=case.draft, stages=())
        stages = await self.judged(case, team, ledger)
        decision = stages[-1].decision
        if decision is Decision.ACCEPT:
            return Filtered(outcome=Outcome.ACCEPTED, draft=case.draft, stages=stages)
        warned = Filtered(outcome=Outcome.WARNED, draft=case.draft, stages=stages)
        if stages[-1].broken or not self.plan.refiner:
            return warned if decision is Decision.WARNING else _fallback(stages, broken=stages[-1].broken)
        refined = await self._refined_and_judged_again(case, team, recheck, ledger, stages)
        # A draft that was only warned about stands, where what was made of it is no better.
        better = refined.outcome is Outcome.REFINED and refined.stages[-1].decision is Decision.ACCEPT
        return refined if better or decision is Decision.REJECT else warned

    async def judged(self, case: Case, team: Team, ledger: Ledger, *, refined: bool = False) -> tuple[StageRecord, ...]:
        """What a team's judges say, tier by tier; nothing is refined."""
        wanted = {"preliminary": self.plan.preliminary, "chief": self.plan.chief}
        # A single tier is both: whichever of the two is wanted, it judges.
        planned = {name: judges for name, judges in team.tiers.items() if wanted[name] or len(team.tiers) == 1}
        return await judged(case, planned, ledger, refined=refined)

    async def _refined_and_judged_again(
        self, case: Case, team: Team, recheck: Recheck, ledger: Ledger, stages: tuple[StageRecord, ...]
    ) -> Filtered:
        try:
            with step(StepName.REFINE):
                draft = cleaned(await team.refiner.refine(case, stages[-1].verdicts, ledger))
        except ModelError:
            return _fallback(stages, broken=True)
        if reasons := recheck(draft):
            return replace(_fallback(stages), failed_checks=reasons)
        sources = self.assistant.knowledge.pick(draft.citations)
        again = replace(case, draft=draft, sources=sources, risky=self.stakes.risky(draft.reply))
        stages += await self.judged(again, team, ledger, refined=True)
        if stages[-1].decision is Decision.REJECT:
            return _fallback(stages, broken=stages[-1].broken)
        return Filtered(outcome=Outcome.REFINED, draft=draft, stages=stages)


def _fallback(stages: tuple[StageRecord, ...], *, broken: bool = False) -> Filtered:
    return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=stages, broken=broken)


_STAGES = {
    ("preliminary", False): Stage.PRELIMINARY,
    ("chief", False): Stage.CHIEF,
    ("preliminary", True): Stage.REFINED_PRELIMINARY,
    ("chief", True): Stage.REFINED_CHIEF,
}


async def judged(
    case: Case, tiers: Mapping[str, Mapping[str, Judge]], ledger: Ledger, *, refined: bool = False
) -> tuple[StageRecord, ...]:
    """One tier after the other, the judges of each in parallel, until a tier accepts; the last record decides.

    `tiers` are preliminary and chief judges in order; one of them alone is allowed, for calibration.
    """
    records: list[StageRecord] = []
    for name, judges in tiers.items():
        verdicts = await _ask_all(case, judges, ledger)
        records.append(StageRecord(stage=_STAGES[name, refined], draft=case.draft, verdicts=verdicts))
        if records[-1].decision is Decision.ACCEPT:
            break
    return tuple(records)


async def _ask_all(case: Case, judges: Mapping[str, Judge], ledger: Ledger) -> tuple[Verdict, ...]:
    asked = judges_for(case, judges)
    results = await asyncio.gather(*(_asked(one, case, ledger) for one in asked), return_exceptions=True)
    return tuple(_verdict(judge.name, one) for judge, one in zip(asked, results, strict=True))


async def _asked(judge: Judge, case: Case, ledger: Ledger) -> Verdict:
    with step(StepName.JUDGE):
        note(StepFact.JUDGE, judge.name)
        verdict = await judge.judge(case, ledger)
        note(StepFact.DECISION, verdict.decision)
        return verdict


def _verdict(name: str, result: Verdict | BaseException) -> Verdict:
    """A judge that raises, against its contract, still accepts nothing; cancellation passes through."""
    if isinstance(result, Verdict):
        return result
    if isinstance(result, Exception):
        return Verdict(decision=Decision.REJECT, judge=name, tier=Tier.LARGE, failed=True)
    raise result
