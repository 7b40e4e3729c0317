"""What a student learns from: labelled replies, or the same replies with what its teacher said of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.exceptions import ConfigurationError
from engine.judges.protocol import Case, applicable
from engine.judges.signs import SignReader, Signs
from engine.language.text import words
from engine.rules import RuleBook
from evaluation.calibration.scenarios import LabelledReply, read_labelled
from evaluation.judges import Judging, case_of


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledCase:
    """A labelled reply as judges see it. `origin` is the path it was given with; `family` its phrase or its file."""

    row: LabelledReply
    case: Case
    origin: str
    family: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources it cites, and the one it was written from."""
        written_from = str((self.row.model_extra or {}).get("piece", "")).partition("/")[0]
        return tuple(dict.fromkeys((*self.case.draft.citations, *((written_from,) if written_from else ()))))

    @property
    def generated(self) -> bool:
        """Whether a program wrote it."""
        return "written_by" in (self.row.model_extra or {})


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a student sees of one case, and whether it should flag it. `reply` is kept to recognise it later."""

    id: str
    signs: Signs
    flag: bool
    family: str
    sources: tuple[str, ...]
    origin: str
    generated: bool
    reply: str
    length: int


def read_cases(paths: Sequence[Path], judging: Judging) -> list[LabelledCase]:
    """The scenarios of some files and folders; raises ConfigurationError."""
    found: dict[str, LabelledCase] = {}
    for path in paths:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            for row in read_labelled(file):
                family = str((row.model_extra or {}).get("family") or f"file {file.stem}")
                if row.id in found:
                    raise ConfigurationError(
                        f"The id {row.id!r} stands twice.", file=file, remedy="Give each file once, and new ids."
                    )
                found[row.id] = LabelledCase(row=row, case=case_of(row, judging), origin=str(path), family=family)
    return list(found.values())


def concerning(cases: Iterable[LabelledCase], judge: str, rules: RuleBook) -> list[LabelledCase]:
    """The cases on which one judge has to decide: it is asked, and what is to be flagged breaks a rule that it checks."""
    checked = {rule.id for rule in rules.checked_by(judge)}
    return [
        one
        for one in cases
        if judge in applicable(one.case) and (not one.row.wants_flag or not checked.isdisjoint(one.row.rules))
    ]


def lessons(cases: Sequence[LabelledCase], reader: SignReader, said: Mapping[str, bool] | None) -> list[Lesson]:
    """Lessons by label, or by what a teacher said of each case; cases of which it said nothing are left out."""
    return [
        Lesson(
            id=one.row.id,
            signs=reader.read(one.case),
            flag=one.row.wants_flag if said is None else said[one.row.id],
            family=one.family,
            sources=one.sources,
            origin=one.origin,
            generated=one.generated,
            reply=one.case.draft.reply,
            length=len(words(one.case.draft.reply)),
        )
        for one in cases
        if said is None or one.row.id in said
    ]


def fold_of(name: str, folds: int) -> int:
    """The fold of a family or source, always the same one."""
    return int(hashlib.sha256(f"student fold {name}".encode()).hexdigest()[:8], 16) % folds
