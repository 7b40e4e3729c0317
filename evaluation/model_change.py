"""`eval gate`: the same cases under two configurations, and which figures got worse beyond their interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine import Help
from evaluation.calibration.figures import TURN, Findings
from evaluation.calibration.shares import Share
from evaluation.urgency import LabelledMessage

Cases = Mapping[str, bool]
"""By the id of a case, whether what is counted happened."""
NAMED = 20
"""So many cases that changed are named for each figure."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedFigure:
    """One figure before and after. `wanted`: whether more or less of it is better.

    `worse` and `better`: the share after lies outside the 95 % interval (Wilson) of the share before, on that side.
    `lost` and `won`: cases that changed for the worse and for the better.
    """

    name: str
    wanted: str
    before: Share
    after: Share
    worse: bool
    better: bool
    lost: tuple[str, ...]
    won: tuple[str, ...]

    @classmethod
    def of(cls, name: str, wanted: str, before: Cases, after: Cases) -> ComparedFigure:
        """Compare the cases that both have."""
        both = [one for one in before if one in after]
        first, second = Share.of([before[one] for one in both]), Share.of([after[one] for one in both])
        good = wanted == "more"
        fell = None not in (second.share, first.low) and (second.share or 0) < (first.low or 0)
        rose = None not in (second.share, first.high) and (second.share or 0) > (first.high or 0)
        changed = [one for one in both if before[one] is not after[one]]
        return cls(
            name=name,
            wanted=wanted,
            before=first,
            after=second,
            worse=fell if good else rose,
            better=rose if good else fell,
            lost=tuple(one for one in changed if after[one] is not good),
            won=tuple(one for one in changed if after[one] is good),
        )

    def as_document(self) -> dict[str, Any]:
        """The figure for JSON, with so many of the cases that changed as can be looked at."""
        return asdict(self) | {
            "lost": list(self.lost[:NAMED]),
            "won": list(self.won[:NAMED]),
            "changed": [len(self.lost), len(self.won)],
        }


@dataclass(frozen=True, kw_only=True)
class GateRun:
    """What one configuration did: figures by name, each with what is wanted of it, and how many cases got no answer."""

    figures: Mapping[str, tuple[str, Cases]]
    unanswered: int = 0

    def __or__(self, other: GateRun) -> GateRun:
        return GateRun(figures={**self.figures, **other.figures}, unanswered=self.unanswered + other.unanswered)

    def against(self, before: GateRun) -> Iterator[ComparedFigure]:
        """Each figure of this run beside that of the run before."""
        for name, (wanted, cases) in self.figures.items():
            yield ComparedFigure.of(name, wanted, before.figures[name][1], cases)


def judged(findings: Findings) -> GateRun:
    """The judges on labelled replies, as a turn asks them."""
    right = findings.right().get(TURN, {})
    wants = {one.id: one.wants_flag for one in findings.scenarios}
    lost = {trial.scenario for trial in findings.trials if trial.unanswered}
    flagged = {id_: share == 1 for id_, share in right.items() if wants[id_]}
    accepted = {id_: share == 1 for id_, share in right.items() if not wants[id_]}
    figures = {
        "replies to be flagged: flagged": ("more", flagged),
        "replies to be accepted: accepted": ("more", accepted),
    }
    return GateRun(figures=figures, unanswered=len(lost))


def assessed(messages: Iterable[LabelledMessage], shown: Iterable[Help]) -> GateRun:
    """Labelled messages, and what of help was shown with each."""
    pairs = list(zip(messages, shown, strict=True))

    def cases(label: str, counts: frozenset[Help]) -> Cases:
        return {one.id: due in counts for one, due in pairs if one.label == label}

    anything = frozenset(Help) - {Help.NONE}
    replaces = frozenset(one for one in Help if one.replaces)
    return GateRun(
        figures={
            "danger told: contacts or question shown": ("more", cases("urgent", anything)),
            "danger told: help in place of an answer": ("more", cases("urgent", replaces)),
            "no danger told: contacts or question shown": ("less", cases("not_urgent", anything)),
            "no danger told: help in place of an answer": ("less", cases("not_urgent", replaces)),
        }
    )


def conversed(transcripts: Iterable[Mapping[str, Any]]) -> GateRun:
    """Whole conversations, turn by turn."""
    turns = {f"{one['id']}.{at}": turn for one in transcripts for at, turn in enumerate(one["turns"], start=1)}
    return GateRun(
        figures={
            "turns of conversations: with a source": (
                "more",
                {id_: bool(one["citations"]) for id_, one in turns.items()},
            ),
            "turns of conversations: mended by the refiner": (
                "less",
                {id_: one["outcome"] == "refined" for id_, one in turns.items()},
            ),
            "turns of conversations: fallback": (
                "less",
                {id_: one["outcome"] == "fallback" for id_, one in turns.items()},
            ),
            "turns of conversations: a check failed": (
                "less",
                {id_: bool(one["failed_checks"]) for id_, one in turns.items()},
            ),
        }
    )
