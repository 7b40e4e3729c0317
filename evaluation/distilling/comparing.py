"""`eval compare`: a student against its teacher on the same replies, and both against the labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from engine.judges.student import Student
from engine.rules import RuleBook
from engine.settings import Price
from evaluation.calibration.shares import Share, exact_mcnemar, quantile
from evaluation.calibration.trials import Trial
from evaluation.distilling.lessons import LabelledCase, concerning


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What both said, by scenario. `outside` are those on which the student does not decide."""

    judge: str
    cases: Sequence[LabelledCase]
    teacher: Mapping[str, Trial]
    student: Mapping[str, Trial]
    outside: frozenset[str]

    @property
    def both(self) -> list[LabelledCase]:
        """The cases that both decided."""
        return [one for one in self.cases if one.row.id in self.teacher and one.row.id in self.student]


def compared(pair: Pair, student: Student, rules: RuleBook, price: Price | None) -> dict[str, Any]:
    """Agreement, misses, false alarms, cost and time; `price` is the teacher's for a million tokens."""
    both = pair.both
    labelled = concerning(both, pair.judge, rules)
    return {
        "judge": pair.judge,
        "scenarios": len(pair.cases),
        "decided_by_both": len(both),
        "outside": len(pair.outside),
        "unanswered_by_teacher": len(pair.cases) - sum(one.row.id in pair.teacher for one in pair.cases),
        "trained_on": sum(student.knows(one.case.draft.reply) for one in both),
        **_agreement(both, pair),
        "by_rule": {
            rule.id: {**_agreement(mine, pair), "cases": len(mine)}
            for rule in rules.rules
            if (mine := [one for one in both if rule.id in one.row.rules])
        },
        "against_labels": _against_labels(labelled, pair),
        "cost": {
            "teacher": _spent([pair.teacher[one.row.id] for one in both], price),
            "student": _spent([pair.student[one.row.id] for one in both], Price(prompt=0, cached=0, completion=0)),
        },
        "missed": [one.row.id for one in both if _flags(pair.teacher, one) and not _flags(pair.student, one)],
        "false_alarms": [one.row.id for one in both if _flags(pair.student, one) and not _flags(pair.teacher, one)],
    }


def _agreement(cases: Sequence[LabelledCase], pair: Pair) -> dict[str, Any]:
    """Misses: of what the teacher flags, what the student accepts. False alarms: of what it accepts, what is flagged."""
    flagged = [one for one in cases if _flags(pair.teacher, one)]
    accepted = [one for one in cases if not _flags(pair.teacher, one)]
    return {
        "agreement": _share(_flags(pair.teacher, one) is _flags(pair.student, one) for one in cases),
        "misses": _share(not _flags(pair.student, one) for one in flagged),
        "alarms": _share(_flags(pair.student, one) for one in accepted),
    }


def _against_labels(cases: Sequence[LabelledCase], pair: Pair) -> dict[str, Any]:
    """Both against what was labelled; `p` is McNemar's exact one that both are right equally often."""
    right = {
        name: {one.row.id: _flags(trials, one) is one.row.wants_flag for one in cases}
        for name, trials in (("teacher", pair.teacher), ("student", pair.student))
    }
    only = {
        name: sum(right[name][id_] and not right[other][id_] for id_ in right[name])
        for name, other in (("teacher", "student"), ("student", "teacher"))
    }
    return {
        name: {
            "sensitivity": _share(rights[one.row.id] for one in cases if one.row.wants_flag),
            "specificity": _share(rights[one.row.id] for one in cases if not one.row.wants_flag),
        }
        for name, rights in right.items()
    } | {
        "only_teacher_right": only["teacher"],
        "only_student_right": only["student"],
        "p": round(exact_mcnemar(only["teacher"], only["student"]), 4),
    }


def _spent(trials: Sequence[Trial], price: Price | None) -> dict[str, Any]:
    count = max(1, len(trials))
    prompt, completion = sum(one.prompt_tokens for one in trials), sum(one.completion_tokens for one in trials)
    seconds = [one.seconds for one in trials]
    free = not prompt and not completion
    money = 0.0 if free else None if price is None else (prompt * price.prompt + completion * price.completion) / 1e6
    median, high = quantile(seconds, 0.5), quantile(seconds, 0.95)
    return {
        "tokens_a_verdict": round((prompt + completion) / count),
        "money_a_thousand": None if money is None else round(1000 * money / count, 4),
        "median_ms": None if median is None else round(1000 * median, 3),
        "p95_ms": None if high is None else round(1000 * high, 3),
    }


def _flags(trials: Mapping[str, Trial], one: LabelledCase) -> bool:
    return trials[one.row.id].flags


def _share(rights: Iterable[bool]) -> dict[str, Any]:
    return asdict(Share.of([float(one) for one in rights]))
