"""`cafi eval generate`, `distil` and `compare`: scenarios written anew, students trained on them, and both compared."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from bots.distilling_tables import show_compared, show_distilled
from bots.options import AgentsOption, Config, Json, Kb, application, failing_calmly, print_json
from bots.progress import progress
from bots.writing import write_bytes, write_page

if TYPE_CHECKING:
    from bots.compose import Application
    from engine.attempt import Assistant
    from engine.judges.student import Student
    from engine.knowledge.source import Source
    from engine.models.protocol import ChatModel
    from engine.rules import Rule, RuleBook
    from engine.settings import Price
    from evaluation.calibration.scenarios import LabelledReply
    from evaluation.calibration.trials import Tier
    from evaluation.distilling.lessons import LabelledCase
    from evaluation.distilling.proposals import Writer
    from evaluation.distilling.training import Aim
    from evaluation.judges import Judging

distilling_app = typer.Typer()
Scenarios = Annotated[
    list[Path], typer.Option(help="A file or folder of labelled scenarios; may be repeated.", metavar="PATH")
]
JudgeOption = Annotated[str, typer.Option(help="source_fidelity, unsupported_claims or role_and_tone.", metavar="NAME")]
TierOption = Annotated[str, typer.Option(help="Which of the teacher's judges: chief or preliminary.", metavar="NAME")]


@distilling_app.command()
def generate(
    out: Annotated[
        Path, typer.Option(help="Scenarios for training; .test and .journal files go beside it.", metavar="FILE")
    ],
    per: Annotated[int, typer.Option(help="Scenarios for each source and rule.", min=2, metavar="N")] = 2,
    sources: Annotated[str, typer.Option(help="Ids with commas; all if not given.", metavar="A,B,C")] = "",
    rules: Annotated[str, typer.Option(help="Ids with commas; all if not given.", metavar="A,B,C")] = "",
    test_share: Annotated[float, typer.Option(help="Share of the sources kept for measuring.", min=0, max=0.9)] = 0.2,
    calls: Annotated[int, typer.Option(help="Most requests of this run.", min=1, metavar="N")] = 1000,
    tokens: Annotated[int, typer.Option(help="Most tokens of this run, in and out.", min=1, metavar="N")] = 2_000_000,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Write labelled scenarios from sources and rules, half of them acceptable; goes on where it stopped.

    Example: cafi eval generate --out scenarios/new.jsonl --per 4 --agents builtin
    """
    with failing_calmly():
        running = application(config, kb, agents)
        result = asyncio.run(_generated(running, out, per, sources, rules, test_share, calls, tokens))
    if as_json:
        print_json(result)
        return
    train, test = result["train"], result["test"]
    typer.echo(f"{result['scenarios']} scenarios, {result['to_accept']} to accept and {result['to_flag']} to flag.")
    typer.echo(f"{train['scenarios']} in {train['file']}, {test['scenarios']} of other sources in {test['file']}.")
    for reason, count in result["refused"].items():
        typer.echo(f"Refused: {count} {reason}.")
    if result["stopped"]:
        typer.echo(f"cafi: Not everything is written: {result['stopped']}. The same command goes on.", err=True)


async def _generated(
    running: Application,
    out: Path,
    per: int,
    sources: str,
    rules: str,
    test_share: float,
    calls: int,
    tokens: int,
) -> dict[str, Any]:
    from engine.models.ledger import Ledger
    from engine.rules import RuleBook
    from engine.settings import Budget
    from evaluation.calibration.scenarios import SHIPPED, read_labelled
    from evaluation.distilling.admitting import Admission
    from evaluation.distilling.generating import Files, Generating

    async with running.closing:
        assistant = running.assistant(running.settings.assistant)
        book = RuleBook.load(running.settings.config_folder / "rules", assistant.settings.rules)
        wanted = _picked(assistant, sources)
        admission = Admission(knowledge=assistant.knowledge, lexicon=running.lexicon)
        admission.keep_apart(row.reply for row in read_labelled(SHIPPED))
        run = Generating(
            writer=_writer(running, assistant, test_share),
            admission=admission,
            files=Files(train=out),
            per=per,
            test_share=test_share,
            parallel=running.settings.parallel,
            ledger=Ledger(budget=Budget(calls=calls, tokens=tokens, seconds=7 * 24 * 3600)),
        )
        asked = _asked(book, rules)
        with progress("pieces", len(wanted) * len(asked)) as advance:
            return await run.run(wanted, asked, advance)


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
        from engine.judges.protocol import applicable
        from engine.judges.signs import SignReader
        from evaluation.distilling.lessons import concerning, lessons
        from evaluation.distilling.training import BITS, distilled
        from evaluation.distilling.verdicts import flags_of, said_by

        judging, cases = self._judging(self.running), self._cases(paths)
        said, result = None, dict[str, Any]()
        if teacher is not None:
            mine = [one for one in cases if self.judge in applicable(one.case)]
            said, result = await self._taught([one.row for one in mine], teacher, export)
        else:
            mine = concerning(cases, self.judge, self._rules())
        if out is None:
            return result
        baseline = flags_of((await said_by(self.judge, "chief", [one.row for one in mine], judging)).values())
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
        from evaluation.calibration.recording import Recording, ReplayModel
        from evaluation.distilling.exporting import as_lines
        from evaluation.distilling.verdicts import NotingModel, flags_of, said_by

        model = NotingModel(model=ReplayModel(Recording.read(teacher)))
        trials = await said_by(self.judge, self.tier, rows, self._judging(_with(self.running, model)))
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
            student=await said_by(self.judge, "preliminary", rows, with_judge(self._judging(self.running), pupil)),
            outside=frozenset(one.row.id for one in cases if pupil.outside(one.case)),
        )
        return {"teacher": teacher, "threshold": student.head.threshold} | compared(pair, student, self._rules(), price)

    def _teacher(self, teacher: str) -> tuple[Judging, Price | None]:
        from engine.settings import Price
        from evaluation.calibration.recording import Recording, ReplayModel

        if teacher == "builtin":
            return self._judging(self.running), Price(prompt=0, cached=0, completion=0)
        recording = Recording.read(Path(teacher))
        name = recording.head.small if self.tier == "preliminary" else recording.head.large
        return self._judging(_with(self.running, ReplayModel(recording))), self.running.prices.get(name)

    def _cases(self, paths: Sequence[Path]) -> list[LabelledCase]:
        from evaluation.calibration.scenarios import expect_rules
        from evaluation.distilling.lessons import read_cases

        cases = read_cases(paths, self._judging(self.running))
        expect_rules([one.row for one in cases], self._rules())
        return cases

    def _judging(self, running: Application) -> Judging:
        from evaluation.judges import Judging

        assistant = running.assistant(running.settings.assistant)
        return Judging(
            team=assistant.teams[0],
            knowledge=assistant.knowledge,
            assistant=assistant.settings,
            stakes=running.stakes,
            parallel=running.settings.parallel,
        )

    def _rules(self) -> RuleBook:
        from engine.rules import RuleBook

        running = self.running
        names = running.assistant_settings(running.settings.assistant).rules
        return RuleBook.load(running.settings.config_folder / "rules", names)


def _with(base: Application, model: ChatModel) -> Application:
    from bots.compose import Application

    return Application(settings=base.settings, model=model)


def _aim(sensitivity: float | None, specificity: float | None) -> Aim:
    from evaluation.distilling.training import Aim

    if specificity is not None:
        return Aim(sensitivity=None, specificity=specificity)
    return Aim() if sensitivity is None else Aim(sensitivity=sensitivity)


def _judge(name: str) -> str:
    from bots.compose import JUDGES
    from engine.exceptions import ConfigurationError

    if name not in JUDGES:
        raise ConfigurationError(f"--judge is {name!r}.", remedy=f"Use {', '.join(JUDGES)}.")
    return name


def _tier(name: str) -> Tier:
    from engine.exceptions import ConfigurationError
    from evaluation.calibration.trials import Tier

    if name not in get_args(Tier):
        raise ConfigurationError(f"--tier is {name!r}.", remedy=f"Use {', '.join(get_args(Tier))}.")
    return cast("Tier", name)


def _in_words(paths: Iterable[Path], teacher: Path | None) -> str:
    said = f"verdicts of {teacher.name}" if teacher else "labels"
    return f"{said} of {', '.join(path.name for path in paths)}"


def _writer(running: Application, assistant: Assistant, test_share: float) -> Writer:
    """The configured model with its prompt, or the built-in writer."""
    from engine.models.calling import PromptedModel
    from evaluation.distilling.builtin_writer import BuiltinWriter
    from evaluation.distilling.generating import split_of
    from evaluation.distilling.llm_writer import GIVEN, LlmWriter
    from evaluation.distilling.phrases import Phrases

    if running.chat_model is not None:
        template = running.prompts.get("write_scenarios").expect(GIVEN)
        name = running.settings.models.name_for(template.head.role, template.head.tier)
        prompted = PromptedModel(model=running.chat_model, template=template)
        return LlmWriter(prompted=prompted, assistant=assistant.settings, model=name)
    ids = tuple(assistant.knowledge.sources)

    def same_split(source: str) -> tuple[str, ...]:
        return tuple(one for one in ids if split_of(one, test_share) == split_of(source, test_share))

    return BuiltinWriter(phrases=Phrases.read(), knowledge=assistant.knowledge, same_split=same_split)


def _picked(assistant: Assistant, names: str) -> list[Source]:
    knowledge = assistant.knowledge
    return [_known(one, knowledge.get(one), "source") for one in _listed(names)] or list(knowledge.sources.values())


def _asked(book: RuleBook, names: str) -> list[Rule]:
    by_id = {rule.id: rule for rule in book.rules}
    return [_known(one, by_id.get(one), "rule") for one in _listed(names)] or list(book.rules)


def _listed(names: str) -> list[str]:
    return list(dict.fromkeys(one.strip() for one in names.split(",") if one.strip()))


def _known(name: str, found: Any, kind: str) -> Any:
    from engine.exceptions import ConfigurationError

    if found is None:
        raise ConfigurationError(f"There is no {kind} {name!r}.", key=f"--{kind}s", remedy="See `cafi kb show`.")
    return found
