"""The worst cases: decided wrongly, most often and most gravely, with what the judges said."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from engine import Decision
from evaluation.calibration.figures import TURN, Findings, name_of
from evaluation.calibration.scenarios import LabelledReply
from evaluation.calibration.trials import Trial

_MISSED = 3.0  # what passes is seen by a person; what is rejected wrongly is only written anew


def worst_cases(findings: Findings, limit: int) -> list[dict[str, Any]]:
    """At most `limit` cases, gravest first: what the whole turn decided wrongly before what one judge did."""
    right = findings.right()
    decided = right.get(TURN) or right.get("all judges/preliminary") or right.get("all judges/chief") or {}
    wrong: dict[str, list[Trial]] = defaultdict(list)
    wanted = {one.id: one for one in findings.scenarios}
    for trial in findings.trials:
        one = wanted[trial.scenario]
        if not trial.unanswered and findings.concerns(one, trial.judge) and trial.flags is not one.wants_flag:
            wrong[trial.scenario].append(trial)

    def gravity(id_: str) -> tuple[float, float, str]:
        weight = sum(_weight(trial) for trial in wrong[id_])
        return -(1 - decided.get(id_, 1.0)) * (_MISSED if wanted[id_].wants_flag else 1.0), -weight, id_

    return [_row(wanted[id_], wrong[id_], decided.get(id_)) for id_ in sorted(wrong, key=gravity)[: max(0, limit)]]


def _weight(trial: Trial) -> float:
    return _MISSED if not trial.flags else 2.0 if trial.decision is Decision.REJECT else 1.0


def _row(one: LabelledReply, trials: list[Trial], right: float | None) -> dict[str, Any]:
    return {
        "id": one.id,
        "wanted": "flag" if one.wants_flag else "accept",
        "turn_right": right,
        "rules": list(one.rules),
        "why": one.why,
        "user_message": one.user_message,
        "reply": one.reply,
        "said": [
            {
                "judge": name_of(trial),
                "run": trial.run,
                "decision": str(trial.decision),
                "failed": trial.failed,
                "explanation": trial.explanation,
                "sentences": list(trial.sentences),
            }
            for trial in trials
        ],
    }
