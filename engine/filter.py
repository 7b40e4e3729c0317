"""The Critical Analysis Filter: preliminary judges, chief judges on doubt, one refinement, one re-judgement.

After JMIR AI 2025;4:e69820, with differences named in docs/decisions: role and tone is judged with a citation too,
all cited sources are judged, the refined draft is judged again, and a judge that fails accepts nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from engine.checks import cleaned
from engine.exceptions import ModelError
from engine.judges.protocol import Case, Judge, applicable
from engine.knowledge.base import KnowledgeBase
from engine.models.ledger import Ledger
from engine.stakes import Stakes
from engine.team import Team
from engine.types import Decision, Draft, Outcome, Stage, StageRecord, Tier, Verdict

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


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Runs drafts through a team's judges, as far as `plan` has them."""

    team: Team
    knowledge: KnowledgeBase
    stakes: Stakes
    plan: FilterPlan = WHOLE

    async def run(self, case: Case, recheck: Recheck, ledger: Ledger) -> Filtered:
        """Judge a draft that has passed the code checks; `recheck` applies them to a refined one."""
        if not self.plan.judges:
            return Filtered(outcome=Outcome.UNJUDGED, draft=case.draft, stages=())
        stages: list[StageRecord] = []
        stages += await judged(case, self._tiers(), ledger)
        decision = stages[-1].decision
        if decision is not Decision.REJECT:
            outcome = Outcome.ACCEPTED if decision is Decision.ACCEPT else Outcome.WARNED
            return Filtered(outcome=outcome, draft=case.draft, stages=tuple(stages))
        if all(one.failed for one in stages[-1].verdicts if one.decision is Decision.REJECT):
            return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=tuple(stages), broken=True)
        if not self.plan.refiner:
            return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=tuple(stages))
        return await self._refined(case, recheck, ledger, stages)

    async def _refined(self, case: Case, recheck: Recheck, ledger: Ledger, stages: list[StageRecord]) -> Filtered:
        try:
            draft = cleaned(await self.team.refiner.refine(case, stages[-1].verdicts, ledger))
        except ModelError:
            return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=tuple(stages), broken=True)
        reasons = recheck(draft)
        if reasons:
            return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=tuple(stages), failed_checks=reasons)
        cited, risky = self.knowledge.pick(draft.citations), self.stakes.risky(draft.reply)
        again = replace(case, draft=draft, sources=cited, risky=risky)
        stages += await judged(again, self._tiers(), ledger, refined=True)
        if stages[-1].decision is Decision.REJECT:
            broken = all(one.failed for one in stages[-1].verdicts if one.decision is Decision.REJECT)
            return Filtered(outcome=Outcome.FALLBACK, draft=None, stages=tuple(stages), broken=broken)
        return Filtered(outcome=Outcome.REFINED, draft=draft, stages=tuple(stages))

    def _tiers(self) -> Mapping[str, Mapping[str, Judge]]:
        tiers = self.team.tiers
        wanted = {"preliminary": self.plan.preliminary, "chief": self.plan.chief}
        # A single tier is both: whichever of the two is wanted, it judges.
        return {name: judges for name, judges in tiers.items() if wanted[name] or len(tiers) == 1}


_STAGES = {
    ("preliminary", False): Stage.PRELIMINARY,
    ("chief", False): Stage.CHIEF,
    ("preliminary", True): Stage.REFINED_PRELIMINARY,
    ("chief", True): Stage.REFINED_CHIEF,
}


async def judged(
    case: Case, tiers: Mapping[str, Mapping[str, Judge]], ledger: Ledger, *, refined: bool = False
) -> tuple[StageRecord, ...]:
    """One tier after the other, each in parallel, until a tier accepts; the last record decides.

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
    names = applicable(case)
    results = await asyncio.gather(*(judges[name].judge(case, ledger) for name in names), return_exceptions=True)
    return tuple(_verdict(name, one) for name, one in zip(names, results, strict=True))


def _verdict(name: str, result: Verdict | BaseException) -> Verdict:
    """A judge that raises, against its contract, still accepts nothing; cancellation passes through."""
    if isinstance(result, Verdict):
        return result
    if isinstance(result, Exception):
        return Verdict(decision=Decision.REJECT, judge=name, tier=Tier.LARGE, failed=True)
    raise result
