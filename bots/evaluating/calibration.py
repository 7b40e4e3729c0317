"""`cafi eval calibrate`: every judge by itself on labelled replies, live, compared, recorded or replayed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from bots.options import FAILED, AgentsOption, Config, Json, Kb, failing_calmly, measured, one_of, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from evaluation.calibration.figures import Findings
    from evaluation.calibration.gate import Bars
    from evaluation.calibration.recordings import RecordingHeader
    from evaluation.calibration.scenarios import LabelledReply
    from evaluation.calibration.trials import Tiers
    from evaluation.calibration.variants import Variant

Scenarios = Annotated[
    Path | None,
    typer.Option(help="A file or folder of scenarios; the project's own if not given.", metavar="PATH"),
]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One subject to be measured: its name, what builds it, which cases, and how to end."""

    name: str
    running: Application
    rows: Sequence[LabelledReply]
    tiers: Tiers
    file: Path | None = None
    ending: Callable[[], None] = lambda: None


def calibrate(
    scenarios: Scenarios = None,
    tiers: Annotated[str, typer.Option(help="both, preliminary or chief.", metavar="NAME")] = "both",
    repeat: Annotated[int, typer.Option(help="Ask each judge so often about each case.", min=1, metavar="N")] = 1,
    sample: Annotated[
        int | None, typer.Option(help="Only so many cases, the same ones each time.", min=1, metavar="N")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Keep the model's answers here; asks only what is not in it.", metavar="FILE")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Built-in judges live, and each recording here, no network.", metavar="PATH")
    ] = None,
    bars: Annotated[
        Path | None, typer.Option(help="Fail where a judge is below its bar in this file.", metavar="FILE")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Variants of prompts and models in this file, each against the first.", metavar="FILE"),
    ] = None,
    worst: Annotated[int, typer.Option(help="List so many of the worst cases.", min=0, metavar="N")] = 5,
    answered_by: Annotated[
        str, typer.Option(help="For --record: who the models were, in words.", metavar="TEXT", show_default=False)
    ] = "",
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """How well does each judge decide by itself, at what cost, and has it become worse?

    Sensitivity and specificity with 95 % intervals, tokens, latency, by rule, worst cases. With --bars exit 1 below a bar,
    or where too many recorded answers are stale.

    Example: cafi eval calibrate --agents builtin

    Example: cafi eval calibrate --replay evaluation/data/recordings --bars evaluation/data/bars.yaml
    """
    from bots.evaluating.calibration_tables import show
    from evaluation.calibration.gate import Bars
    from evaluation.calibration.scenarios import SHIPPED, read_labelled
    from evaluation.calibration.scenarios import sample as sampled
    from evaluation.calibration.variants import read_variants

    with failing_calmly():
        _sensible(tiers, record=record, replay=replay, compare=compare, bars=bars)
        limits = Bars.read(bars) if bars else None
        rows = sampled(read_labelled(scenarios or SHIPPED), sample)
        base = measured(config, kb, "builtin" if replay else agents)
        wanted = cast("Tiers", tiers)
        if replay:
            asked = _replayed(base, rows, wanted, replay, limits)
        elif compare:
            asked = [_variant(base, one, rows, wanted) for one in read_variants(compare)]
        else:
            asked = [_live(base, rows, wanted, record, answered_by, limits)]
        result = asyncio.run(_measured(asked, repeat, worst))
        if limits:
            result["gate"] = _gate(result["subjects"], asked, limits)
    if as_json:
        print_json(result)
    else:
        show(result)
    said = result["gate"]["problems"] if limits else list(_unanswered(result["subjects"]))
    for problem in said:
        typer.echo(f"cafi: {problem}", err=True)
    if said:
        raise typer.Exit(FAILED)


def _sensible(tiers: str, *, record: Path | None, replay: Path | None, compare: Path | None, bars: Path | None) -> None:
    """Raise ConfigurationError for options that do not go together."""
    from engine import ConfigurationError
    from evaluation.calibration.trials import Tiers

    one_of("--tiers", tiers, get_args(Tiers))
    if sum(one is not None for one in (record, replay, compare)) > 1:
        raise ConfigurationError("--record, --replay and --compare do not go together.", remedy="Use one of them.")
    if bars and (compare or record):
        raise ConfigurationError("--bars are for --replay and for built-in judges.", remedy="Leave --bars out.")


def _live(
    base: Application, rows: Sequence[LabelledReply], tiers: Tiers, record: Path | None, answered_by: str, bars: Any
) -> Asked:
    """The judges as configured, with their answers kept where that is asked for."""
    from engine import ConfigurationError

    if base.chat_model is None:
        if record:
            raise ConfigurationError("Built-in judges need no recording.", remedy="Use --agents llm with --record.")
        return Asked(name="builtin", running=base, rows=rows, tiers=tiers)
    if bars:
        raise ConfigurationError("--bars are for --replay and for built-in judges.", remedy="Use --agents builtin.")
    if record is None:
        return Asked(name="configured", running=base, rows=rows, tiers=tiers)
    from bots.evaluating.judges import with_model
    from evaluation.calibration.recordings import RecordingModel

    recorder = RecordingModel(base.chat_model, record, _head(base, answered_by))
    running = with_model(base, recorder)
    running.closing = base.closing
    return Asked(name=record.name, running=running, rows=rows, tiers=tiers, file=record, ending=recorder.close)


def _replayed(
    base: Application, rows: Sequence[LabelledReply], tiers: Tiers, path: Path, bars: Bars | None
) -> list[Asked]:
    """The built-in judges, and the judges of each recording."""
    from bots.evaluating.judges import with_model
    from evaluation.calibration.gate import BUILTIN, recordings_in
    from evaluation.calibration.recordings import Recording, ReplayModel
    from evaluation.calibration.scenarios import sample

    asked = [Asked(name=BUILTIN, running=base, rows=rows, tiers=tiers)]
    for file in recordings_in(path, bars.recordings if bars else {}):
        own = bars.recordings.get(file.name) if bars else None
        asked.append(
            Asked(
                name=file.name,
                running=with_model(base, ReplayModel(Recording.read(file))),
                rows=sample(rows, own.sample) if own else rows,
                tiers=own.tiers if own else tiers,
                file=file,
            )
        )
    return asked


def _variant(base: Application, one: Variant, rows: Sequence[LabelledReply], tiers: Tiers) -> Asked:
    """The configured application with what a variant changes."""
    from bots.compose import Application

    settings = base.settings
    names = {name: value for name, value in (("large", one.large), ("small", one.small)) if value}
    changes: dict[str, Any] = {"models": settings.models.model_copy(update=names)}
    if one.prompts:
        changes["prompts_folder"] = one.prompts
    if one.agents:
        changes["agents"] = one.agents
    return Asked(
        name=one.name, running=Application(settings=settings.model_copy(update=changes)), rows=rows, tiers=tiers
    )


def _head(base: Application, answered_by: str) -> RecordingHeader:
    from evaluation.calibration.recordings import RecordingHeader

    models = base.settings.models
    return RecordingHeader(large=models.large, small=models.small, roles=models.roles, answered_by=answered_by)


async def _measured(asked: Iterable[Asked], repeat: int, worst: int) -> dict[str, Any]:
    """Figures and worst cases of each subject, one after the other, and the comparison where there are several."""
    from evaluation.calibration.figures import summary
    from evaluation.calibration.variants import compared
    from evaluation.calibration.worst import worst_cases

    subjects: dict[str, Any] = {}
    right: dict[str, Any] = {}
    for one in asked:
        findings = await findings_of(one, repeat)
        flagged = sum(row.wants_flag for row in one.rows)
        subjects[one.name] = {
            "cases": len(one.rows),
            "to_flag": flagged,
            "to_accept": len(one.rows) - flagged,
            "repeat": repeat,
            **summary(findings),
            "worst": worst_cases(findings, worst),
        }
        right[one.name] = findings.right()
    return {"subjects": subjects, "comparison": compared(right) if len(right) > 1 else []}


async def findings_of(one: Asked, repeat: int) -> Findings:
    """Every judge's verdicts on the cases of one subject, which is closed afterwards."""
    from bots.evaluating.judges import judging, rule_book
    from evaluation.calibration.figures import Findings
    from evaluation.calibration.scenarios import expect_rules
    from evaluation.calibration.trials import Subject, ask_all, questions

    running = one.running
    async with running.closing:
        rules = rule_book(running)
        expect_rules(one.rows, rules)
        subject = Subject(name=one.name, judging=judging(running), tiers=one.tiers)
        try:
            with progress(one.name, questions(one.rows, subject, repeat)) as advance:
                trials = await ask_all(one.rows, subject, repeat=repeat, progress=advance)
        finally:
            one.ending()
    whole = frozenset(subject.judging.team.tiers)
    return Findings(scenarios=one.rows, trials=trials, rules=rules, tiers=whole)


def _unanswered(subjects: dict[str, Any]) -> Iterator[str]:
    """Figures of fewer cases than were asked must not be taken for whole ones."""
    for name, one in subjects.items():
        if one["unrecorded"]:
            yield f"{name}: {one['unrecorded']} of {one['cases']} cases have no recording any more. Record them again."
        elif one["unanswered"]:
            kept = " What was answered is kept; the same command asks for the rest." if name.endswith(".jsonl") else ""
            yield f"{name}: {one['unanswered']} of {one['cases']} cases were not answered by every judge.{kept}"


def _gate(subjects: dict[str, Any], asked: Sequence[Asked], bars: Bars) -> dict[str, Any]:
    from evaluation.calibration.gate import problems

    found = [
        sentence for one in asked for sentence in problems(one.name, subjects[one.name], len(one.rows), bars, one.file)
    ]
    return {
        "passed": not found,
        "problems": found,
        "recordings": sum(one.file is not None for one in asked),
        "stale": {one.name: stale for one in asked if (stale := subjects[one.name]["unrecorded"])},
    }
