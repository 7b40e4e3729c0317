"""A student from lessons: weights of all, a threshold from scores of lessons it had not seen, and what both are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.judges.protocol import ROLE_AND_TONE
from engine.judges.student import Student, StudentHead, lesson_of, packed
from evaluation.calibration.shares import Share, exact_mcnemar
from evaluation.distilling.fitting import FOLDS, Classroom, Fit, Numbers, rounded, threshold_for
from evaluation.distilling.lessons import Lesson, fold_of

BITS = {ROLE_AND_TONE: 14}
"""Size of the table of words and letters by judge; the other students have named signs alone."""
_ENOUGH = 30  # replies of each verdict that people wrote, from which the threshold is theirs alone
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Aim:
    """What the threshold is chosen for: at least this sensitivity, or without one, at least this specificity."""

    sensitivity: float | None = 0.9
    specificity: float = 0.97

    def threshold(self, scores: Numbers, flags: Flags) -> float:
        """The threshold that meets the aim on these scores."""
        return threshold_for(scores, flags, sensitivity=self.sensitivity, specificity=self.specificity)


@dataclass(frozen=True, kw_only=True)
class Distilled:
    """A student's file and the record of its training."""

    content: bytes
    record: dict[str, Any]


def distilled(
    judge: str,
    lessons: Sequence[Lesson],
    *,
    aim: Aim,
    builtin: Mapping[str, bool],
    trained: str,
    fit: Fit | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Distilled:
    """Train, choose the threshold and measure; `builtin` is what the built-in judge of this question flags."""
    bits = BITS.get(judge, 0)
    room = Classroom.of(lessons, fit or Fit(), bits)
    scores = room.held_out(progress)
    flags = np.array([one.flag for one in lessons])
    counted = _counted(lessons, flags)
    threshold = aim.threshold(scores[counted], flags[counted])
    weights = room.graduate(bits)
    table, scale = rounded(weights.table)
    head = StudentHead.model_validate(
        {
            "judge": judge,
            "longest": max(one.length for one in lessons),
            "bits": bits,
            "scale": scale,
            "bias": weights.bias,
            "threshold": round(threshold, 4),
            "named": {name: round(value, 4) for name, value in weights.named.items()},
            "lessons": "".join(sorted({lesson_of(one.reply) for one in lessons})),
            "trained": trained,
        }
    )
    content = packed(head, table)
    baseline = np.array([builtin[one.id] for one in lessons])
    figures = _Figures(lessons=lessons, scores=scores, flags=flags, counted=counted, baseline=baseline, aim=aim)
    record = {
        "judge": judge,
        "lessons": len(lessons),
        "to_flag": int(flags.sum()),
        "to_accept": int((~flags).sum()),
        "generated": sum(one.generated for one in lessons),
        "folds": f"{FOLDS} of families by {FOLDS} of sources",
        "threshold": head.threshold,
        "threshold_from": int(counted.sum()),
        "held_out": {name: figures.of(mask) for name, mask in _parts(lessons)},
        "heaviest": _heaviest(head.named),
        "bytes": len(content),
        "digest": Student.parse(content).head.digest,
    }
    return Distilled(content=content, record=record)


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """Held-out figures of a part of the lessons, beside those of the built-in judge."""

    lessons: Sequence[Lesson]
    scores: Numbers
    flags: Flags
    counted: Flags
    baseline: Flags
    aim: Aim

    def of(self, mask: Flags) -> dict[str, Any]:
        """Shares with intervals; each lesson is decided with a threshold from other families."""
        flagged = self._crossed()
        found = _rates(flagged[mask], self.flags[mask])
        found["area"] = _area(self.scores[mask], self.flags[mask])
        builtin = _rates(self.baseline[mask], self.flags[mask])
        found["builtin"] = builtin
        passed = builtin["specificity"]["share"]
        if passed is not None and self.flags[mask].any():
            found["at_the_builtin_specificity"] = self._equal(mask, passed)
        return found

    def _crossed(self) -> Flags:
        """The verdict on each lesson with the threshold that the lessons of the other family folds give."""
        folds = np.array([fold_of(one.family, FOLDS) for one in self.lessons])
        flagged = np.zeros(len(folds), dtype=bool)
        for fold in range(FOLDS):
            others = self.counted & (folds != fold)
            if len(set(self.flags[others].tolist())) == 2:
                mine = folds == fold
                flagged[mine] = self.scores[mine] >= self.aim.threshold(self.scores[others], self.flags[others])
        return flagged

    def _equal(self, mask: Flags, specificity: float) -> dict[str, Any]:
        """How many the student would flag where it accepts as many of the acceptable ones as the built-in judge."""
        scores, flags, builtin = self.scores[mask], self.flags[mask], self.baseline[mask]
        student = scores >= threshold_for(scores, flags, sensitivity=None, specificity=specificity)
        only_student = int((student & ~builtin & flags).sum())
        only_builtin = int((builtin & ~student & flags).sum())
        return {
            **_rates(student, flags),
            "only_student": only_student,
            "only_builtin": only_builtin,
            "p": round(exact_mcnemar(only_student, only_builtin), 4),
        }


def _rates(flagged: Flags, wanted: Flags) -> dict[str, Any]:
    return {
        "sensitivity": asdict(Share.of(flagged[wanted].astype(float).tolist())),
        "specificity": asdict(Share.of((~flagged[~wanted]).astype(float).tolist())),
    }


def _area(scores: Numbers, flags: Flags) -> float | None:
    """The chance that a reply to be flagged scores higher than one to be accepted (Mann and Whitney, 1947)."""
    mine, others = scores[flags], scores[~flags]
    if not len(mine) or not len(others):
        return None
    above = (mine[:, None] > others[None, :]).mean() + (mine[:, None] == others[None, :]).mean() / 2
    return round(float(above), 4)


def _counted(lessons: Sequence[Lesson], flags: Flags) -> Flags:
    """The lessons that set the threshold: what people wrote, where that is enough."""
    own = np.array([not one.generated for one in lessons])
    enough = min(int((own & flags).sum()), int((own & ~flags).sum())) >= _ENOUGH
    return own if enough else np.ones(len(lessons), dtype=bool)


def _parts(lessons: Sequence[Lesson]) -> list[tuple[str, Flags]]:
    origins = np.array([one.origin for one in lessons])
    return [(str(name), origins == name) for name in dict.fromkeys(origins.tolist())]


def _heaviest(named: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(named.items(), key=lambda pair: -abs(pair[1]))[:12])
