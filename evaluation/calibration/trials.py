"""Asking: every judge that a reply needs, in each tier, as often as wanted, each on an account of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine import Budget, Case, ConfigurationError, Decision, Judge, Ledger, Verdict, judges_for
from evaluation.calibration.recordings import UNRECORDED
from evaluation.calibration.scenarios import LabelledReply
from evaluation.judges import Judging, case_of

Stage = Literal["preliminary", "chief", "code"]
Tier = Literal["preliminary", "chief"]
Tiers = Literal["both", "preliminary", "chief"]
CODE = "code_checks"
_GENEROUS = Budget(seconds=7200)
_UNANSWERED = {"unavailable", "cancelled", UNRECORDED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Whose judges are calibrated."""

    name: str
    judging: Judging
    tiers: Tiers = "both"

    @property
    def stages(self) -> tuple[Tier, ...]:
        """The tiers by name, in order."""
        wanted: tuple[Tier, ...] = ("preliminary", "chief") if self.tiers == "both" else (self.tiers,)
        found = tuple(one for one in wanted if one in self.judging.team.tiers)
        if not found:
            raise ConfigurationError("Built-in judges have one tier.", key="--tiers", remedy="Use both or chief.")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """One judge's word on one reply. `unanswered`: nobody gave one, `unrecorded` because no recording holds it."""

    scenario: str
    judge: str
    stage: Stage
    run: int
    decision: Decision
    explanation: str = ""
    sentences: tuple[str, ...] = ()
    failed: bool = False
    unanswered: bool = False
    unrecorded: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    @property
    def flags(self) -> bool:
        """Whether the reply is not accepted."""
        return self.decision is not Decision.ACCEPT


async def ask_all(
    scenarios: Sequence[LabelledReply],
    subject: Subject,
    *,
    repeat: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> tuple[Trial, ...]:
    """Every trial of every scenario; the runs of one judge on one reply follow each other, all else is concurrent."""
    gate = asyncio.Semaphore(subject.judging.parallel)
    cases = [case_of(one, subject.judging) for one in scenarios]
    tiers = subject.judging.team.tiers

    async def one_judge(one: LabelledReply, case: Case, judge: Judge, stage: Tier) -> list[Trial]:
        trials = []
        for run in range(repeat):
            async with gate:
                trials.append(await _trial(one.id, case, judge, stage, run))
            progress()
        return trials

    asked = await asyncio.gather(
        *(
            one_judge(one, case, judge, stage)
            for one, case in zip(scenarios, cases, strict=True)
            for stage in subject.stages
            for judge in judges_for(case, tiers[stage])
        )
    )
    checked = [_by_code(one, case, subject) for one, case in zip(scenarios, cases, strict=True)]
    return (*checked, *(trial for trials in asked for trial in trials))


def questions(scenarios: Sequence[LabelledReply], subject: Subject, repeat: int) -> int:
    """How many trials there will be, for a progress bar."""
    tiers, cases = subject.judging.team.tiers, [case_of(one, subject.judging) for one in scenarios]
    return repeat * sum(len(judges_for(case, tiers[stage])) for case in cases for stage in subject.stages)


async def _trial(scenario: str, case: Case, judge: Judge, stage: Tier, run: int) -> Trial:
    ledger, started = Ledger(budget=_GENEROUS), time.perf_counter()
    verdict = await judge.judge(case, ledger)
    seconds = time.perf_counter() - started
    if ledger.calls:  # a replayed answer took its time when it was recorded
        seconds = sum(call.ended - call.started for call in ledger.calls)
    last = ledger.calls[-1].outcome if ledger.calls else "ok"
    return Trial(
        scenario=scenario,
        judge=judge.name,
        stage=stage,
        run=run,
        decision=verdict.decision,
        explanation=_said(verdict),
        sentences=verdict.sentences,
        failed=verdict.failed,
        unanswered=verdict.failed and last in _UNANSWERED,
        unrecorded=last == UNRECORDED,
        prompt_tokens=sum(call.prompt_tokens for call in ledger.calls),
        completion_tokens=sum(call.completion_tokens for call in ledger.calls),
        seconds=seconds,
    )


def _said(verdict: Verdict) -> str:
    return verdict.explanation if verdict.decision is not Decision.ACCEPT else ""


def _by_code(one: LabelledReply, case: Case, subject: Subject) -> Trial:
    """The checks that every draft passes before a judge sees it, of which this needs no model."""
    started = time.perf_counter()
    reasons = subject.judging.filter.failed(case.draft, case.message, case.draft.citations, earlier=case.earlier)
    return Trial(
        scenario=one.id,
        judge=CODE,
        stage="code",
        run=0,
        decision=Decision.REJECT if reasons else Decision.ACCEPT,
        explanation=" ".join(reasons),
        seconds=time.perf_counter() - started,
    )
