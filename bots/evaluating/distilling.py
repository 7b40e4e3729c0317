"""`cafi eval distil` and `compare`: students trained on scenarios, and compared with their teacher."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from bots.options import Config, Json, Kb, application, failing_calmly, one_of, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from engine.judges.student import Student
    from engine.settings import Price
    from evaluation.calibration.scenarios import LabelledReply
    from evaluation.calibration.trials import Tier
    from evaluation.distilling.lessons import LabelledCase
    from evaluation.distilling.training import Aim
    from evaluation.judges import Judging

distilling_app = typer.Typer()
Scenarios = Annotated[
    list[Path], typer.Option(help="A file or folder of labelled scenarios; may be repeated.", metavar="PATH")
]
JudgeOption = Annotated[str, typer.Option(help="source_fidelity, unsupported_claims or role_and_tone.", metavar="NAME")]
TierOption = Annotated[str, typer.Option(help="Which of the teacher's judges: chief or preliminary.", metavar="NAME")]


@distilling_app.command()
def distil(
    scenarios: Scenarios,
    out: Annotated[Path | None, typer.Option(help="The student's file.", metavar="FILE")] = None,
    judge: JudgeOption = "role_and_tone",
    sensitivity: Annotated[
        float | None, typer.Option(help="Flag at least this share of what is to be flagged (0.9).", min=0, max=1)
    ] = None,
    specificity: Annotated[
        float | None, typer.Option(help="Instead: accept at least this share of the others.", min=0, max=1)
    ] = None,
    teacher: Annotated[
        Path | None, typer.Option(help="Learn a recording's verdicts instead of the labels.", metavar="FILE")
    ] = None,
    tier: TierOption = "chief",
    export_finetuning: Annotated[
        Path | None, typer.Option(help="Write the teacher's requests and answers for fine-tuning.", metavar="FILE")
    ] = None,
    config: Config = None,
    kb: Kb = None,
    as_json: Json = False,
) -> None:
    """Train a small local judge on labelled scenarios or a teacher's verdicts; measured on what it has not seen.

    Example: cafi eval distil --scenarios evaluation/data/scenarios --scenarios new.jsonl --out student.bin
    """
    from bots.evaluating.distilling_tables import show_distilled
    from engine.exceptions import ConfigurationError

    with failing_calmly():
        if out is None and export_finetuning is None:
            raise ConfigurationError("--out is missing.", remedy="Name the student's file, or --export-finetuning.")
        if export_finetuning is not None and teacher is None:
            raise ConfigurationError("--export-finetuning needs --teacher.", remedy="Name a recording.")
        if sensitivity is not None and specificity is not None:
            raise ConfigurationError("--sensitivity and --specificity do not go together.", remedy="Use one of them.")
        school = _School(running=application(config, kb, "builtin"), judge=_judge(judge), tier=_tier(tier))
        result = asyncio.run(school.distilled(scenarios, out, (sensitivity, specificity), teacher, export_finetuning))
    if as_json:
        print_json(result)
        return
    show_distilled(result)


@distilling_app.command()
def compare(
    teacher: Annotated[str, typer.Option(help="A recording, or `builtin`.", metavar="FILE|builtin")],
    student: Annotated[Path, typer.Option(help="A file of `eval distil`.", metavar="FILE")],
    scenarios: Scenarios,
    tier: TierOption = "chief",
    config: Config = None,
    kb: Kb = None,
    as_json: Json = False,
) -> None:
    """A student against its teacher: agreement, misses, false alarms, cost and time, also against the labels.

    Example: cafi eval compare --teacher builtin --student student.bin --scenarios new.test.jsonl
    """
    from bots.evaluating.distilling_tables import show_compared
    from engine.judges.student import Student

    with failing_calmly():
        learnt = Student.load(student)
        running = application(config, kb, "builtin")
        school = _School(running=running, judge=learnt.head.judge, tier=_tier(tier))
        result = asyncio.run(school.compared(learnt, teacher, scenarios))
    if as_json:
        print_json(result)
        return
    show_compared(result)


@dataclass(frozen=True, kw_only=True)
class _School:
    """Where students of one judge learn from scenarios and are compared."""

    running: Application
    judge: str
    tier: Tier

    async def distilled(
        self,
        paths: Sequence[Path],
        out: Path | None,
        aims: tuple[float | None, float | None],
        teacher: Path | None,
        export: Path | None,
    ) -> dict[str, Any]:
        """Train and write what is asked for."""
        from bots.evaluating.judging import judging, rule_book
        from bots.writing import write_bytes
        from engine.judges.protocol import applicable
        from engine.judges.signs import SignReader
        from evaluation.distilling.lessons import concerning, lessons
        from evaluation.distilling.training import BITS, distilled
        from evaluation.distilling.verdicts import flags_of, said_by

        judges, cases = judging(self.running), self._cases(paths)
        said, result = None, dict[str, Any]()
        if teacher is not None:
            mine = [one for one in cases if self.judge in applicable(one.case)]
            said, result = await self._taught([one.row for one in mine], teacher, export)
        else:
            mine = concerning(cases, self.judge, rule_book(self.running))
        if out is None:
            return result
        baseline = flags_of((await said_by(self.judge, "chief", [one.row for one in mine], judges)).values())
        reader = SignReader(judge=self.judge, lexicon=self.running.lexicon, bits=BITS.get(self.judge, 0))
        with progress("students", 25) as advance:
            found = distilled(
                self.judge,
                lessons(mine, reader, said),
                aim=_aim(*aims),
                builtin=baseline,
                trained=_in_words(paths, teacher),
                progress=advance,
            )
        write_bytes(out, found.content)
        return {**result, "student": str(out), **found.record}

    async def _taught(
        self, rows: Sequence[LabelledReply], teacher: Path, export: Path | None
    ) -> tuple[dict[str, bool], dict[str, Any]]:
        """What a recorded teacher flags, and its requests and answers where they are wanted."""
        from bots.evaluating.judging import judging, with_model
        from bots.writing import write_page
        from evaluation.calibration.recording import Recording, ReplayModel
        from evaluation.distilling.exporting import as_lines
        from evaluation.distilling.verdicts import NotingModel, flags_of, said_by

        model = NotingModel(model=ReplayModel(Recording.read(teacher)))
        trials = await said_by(self.judge, self.tier, rows, judging(with_model(self.running, model)))
        flags = flags_of(trials.values())
        result: dict[str, Any] = {
            "teacher": str(teacher),
            "answered": len(flags),
            "unanswered": len(rows) - len(flags),
            "agrees_with_label": sum(flags[row.id] is row.wants_flag for row in rows if row.id in flags),
        }
        if export is not None:
            lines = as_lines(model.noted)
            write_page(export, lines)
            result["finetuning"] = {"file": str(export), "examples": lines.count("\n")}
        return flags, result

    async def compared(self, student: Student, teacher: str, paths: Sequence[Path]) -> dict[str, Any]:
        """Both on the same scenarios."""
        from bots.evaluating.judging import judging, rule_book
        from engine.judges.protocol import applicable
        from engine.judges.student import StudentJudge
        from engine.types import Tier as ModelTier
        from evaluation.distilling.comparing import Pair, compared
        from evaluation.distilling.verdicts import said_by, with_judge

        taught, price = self._teacher(teacher)
        cases = [one for one in self._cases(paths) if self.judge in applicable(one.case)]
        rows = [one.row for one in cases]
        pupil = StudentJudge.over(student, self.running.lexicon, tier=ModelTier.SMALL)
        pair = Pair(
            judge=self.judge,
            cases=cases,
            teacher=await said_by(self.judge, self.tier, rows, taught),
            student=await said_by(self.judge, "preliminary", rows, with_judge(judging(self.running), pupil)),
            outside=frozenset(one.row.id for one in cases if pupil.outside(one.case)),
        )
        return {"teacher": teacher, "threshold": student.head.threshold} | compared(
            pair, student, rule_book(self.running), price
        )

    def _teacher(self, teacher: str) -> tuple[Judging, Price | None]:
        from bots.evaluating.judging import judging, with_model
        from engine.settings import Price
        from evaluation.calibration.recording import Recording, ReplayModel

        if teacher == "builtin":
            return judging(self.running), Price(prompt=0, cached=0, completion=0)
        recording = Recording.read(Path(teacher))
        name = recording.head.small if self.tier == "preliminary" else recording.head.large
        return judging(with_model(self.running, ReplayModel(recording))), self.running.prices.get(name)

    def _cases(self, paths: Sequence[Path]) -> list[LabelledCase]:
        from bots.evaluating.judging import judging, rule_book
        from evaluation.calibration.scenarios import expect_rules
        from evaluation.distilling.lessons import read_cases

        cases = read_cases(paths, judging(self.running))
        expect_rules([one.row for one in cases], rule_book(self.running))
        return cases


def _aim(sensitivity: float | None, specificity: float | None) -> Aim:
    from evaluation.distilling.training import Aim

    if specificity is not None:
        return Aim(sensitivity=None, specificity=specificity)
    return Aim() if sensitivity is None else Aim(sensitivity=sensitivity)


def _judge(name: str) -> str:
    from bots.compose import JUDGES

    return one_of("--judge", name, JUDGES)


def _tier(name: str) -> Tier:
    from evaluation.calibration.trials import Tier

    return cast("Tier", one_of("--tier", name, get_args(Tier)))


def _in_words(paths: Iterable[Path], teacher: Path | None) -> str:
    said = f"verdicts of {teacher.name}" if teacher else "labels"
    return f"{said} of {', '.join(path.name for path in paths)}"
