"""From trials to figures: each judge by itself, the team as a turn uses it, and each rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine import ANSWERS_FOR, RuleBook
from evaluation.calibration.scenarios import LabelledReply
from evaluation.calibration.shares import Share, quantile
from evaluation.calibration.trials import CODE, Trial

FILTER = "filter"
TURN = "turn"


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The trials of one subject with what was wanted. A judge answers for the rules that it checks.

    A reply that breaks another judge's rule says nothing about this one; a reply to be accepted, all must accept.
    `tiers` are all that the team has: filter and turn are told only where each of them was asked.
    """

    scenarios: Sequence[LabelledReply]
    trials: Sequence[Trial]
    rules: RuleBook
    tiers: frozenset[str] = frozenset({"preliminary", "chief"})

    def by_judge(self) -> dict[str, dict[str, list[Trial]]]:
        """Answered trials by judge and tier, then by scenario."""
        found: dict[str, dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
        for trial in self.trials:
            if not trial.unanswered:
                found[name_of(trial)][trial.scenario].append(trial)
        return {name: dict(found[name]) for name in sorted(found)}

    def concerns(self, one: LabelledReply, judge: str) -> bool:
        """Whether a judge has to decide rightly on a scenario."""
        if not one.wants_flag:
            return True
        questions = ("code",) if judge == CODE else ANSWERS_FOR[judge]
        return any(rule.id in one.rules for rule in self.rules.checked_by(*questions))

    def right(self) -> dict[str, dict[str, float]]:
        """How often each judge was right on each scenario that concerns it, from 0 to 1; teams stand beside them."""
        wanted = {one.id: one for one in self.scenarios}
        found = {
            name: {
                id_: _mean(trial.flags is wanted[id_].wants_flag for trial in trials)
                for id_, trials in cases.items()
                if self.concerns(wanted[id_], trials[0].judge)
            }
            for name, cases in self.by_judge().items()
        }
        for team, flags in self._teams().items():
            found[team] = {id_: _mean(flag is wanted[id_].wants_flag for flag in runs) for id_, runs in flags.items()}
        return found

    def _teams(self) -> dict[str, dict[str, list[bool]]]:
        """Whether each tier, the filter (chiefs only on doubt) and a turn (code first) flag, for each run."""
        teams: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
        asked: dict[tuple[str, int], dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
        by_code = {}
        for trial in self.trials:
            if trial.stage == "code":
                by_code[trial.scenario] = trial.flags
            else:
                asked[trial.scenario, trial.run][trial.stage].append(trial)
        for (id_, _), tiers in asked.items():
            flags = {stage: _flags(trials) for stage, trials in tiers.items()}
            for stage, flag in flags.items():
                if flag is not None:
                    teams[f"all judges/{stage}"][id_].append(flag)
            decided = _filtered(flags) if set(flags) == self.tiers else None
            if decided is not None:
                teams[FILTER][id_].append(decided)
                teams[TURN][id_].append(decided or by_code.get(id_, False))
        return teams


def name_of(trial: Trial) -> str:
    """A judge with its tier, as reports and bars call it."""
    return trial.judge if trial.judge == CODE else f"{trial.judge}/{trial.stage}"


def summary(findings: Findings) -> dict[str, Any]:
    """All figures of one subject as JSON."""
    right = findings.right()
    wants = {one.id: one.wants_flag for one in findings.scenarios}
    judges = findings.by_judge()
    lost = [trial for trial in findings.trials if trial.unanswered]
    return {
        "judges": {name: _rates(right[name], wants) | _spent(cases) for name, cases in judges.items()},
        "teams": {name: _rates(cases, wants) for name, cases in right.items() if name not in judges},
        "by_rule": _by_rule(findings, right),
        "unanswered": len({trial.scenario for trial in lost}),
        "unrecorded": len({trial.scenario for trial in lost if trial.unrecorded}),
    }


def _rates(right: Mapping[str, float], wants: Mapping[str, bool]) -> dict[str, Any]:
    return {
        "cases": len(right),
        "sensitivity": asdict(Share.of([share for id_, share in right.items() if wants[id_]])),
        "specificity": asdict(Share.of([share for id_, share in right.items() if not wants[id_]])),
        "unstable": sorted(id_ for id_, share in right.items() if 0 < share < 1),
    }


def _spent(cases: Mapping[str, list[Trial]]) -> dict[str, Any]:
    trials = [trial for group in cases.values() for trial in group]
    seconds = [trial.seconds for trial in trials]
    prompt, completion = sum(one.prompt_tokens for one in trials), sum(one.completion_tokens for one in trials)
    return {
        "verdicts": len(trials),
        "failed": sum(trial.failed for trial in trials),
        "tokens": {"prompt": prompt, "completion": completion, "a_verdict": round((prompt + completion) / len(trials))},
        "seconds": {"median": _rounded(quantile(seconds, 0.5)), "p95": _rounded(quantile(seconds, 0.95))},
    }


def _by_rule(findings: Findings, right: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """For each rule how often the team was right: in a turn, where both tiers were asked, else in its one tier."""
    team = next((name for name in (TURN, "all judges/preliminary", "all judges/chief") if name in right), None)
    decided = right[team] if team else {}
    wants = {one.id: one.wants_flag for one in findings.scenarios}
    return {
        rule.id: _rates(
            {one.id: decided[one.id] for one in findings.scenarios if rule.id in one.rules and one.id in decided}, wants
        )
        for rule in findings.rules.rules
    }


def _flags(trials: Sequence[Trial]) -> bool | None:
    """One objection is enough; without one, a judge that gave no answer leaves it open."""
    if any(trial.flags and not trial.unanswered for trial in trials):
        return True
    return None if any(trial.unanswered for trial in trials) else False


def _filtered(flags: Mapping[str, bool | None]) -> bool | None:
    """Preliminary judges accept for good; on their doubt the chiefs decide."""
    first = flags.get("preliminary", True)
    return flags["chief"] if first else first


def _mean(rights: Iterable[bool]) -> float:
    found = list(rights)
    return sum(found) / len(found)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
