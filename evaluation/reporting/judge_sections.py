"""Judges in a report: how they are calibrated, and what they object to in answers to ordinary questions."""

from __future__ import annotations

from collections.abc import Iterator

from engine import wilson
from evaluation.calibration.gate import Bar, Bars
from evaluation.facilitating.specificity import Flagged, SpecificityReport
from evaluation.reporting.document import (
    Example,
    IntervalPanel,
    IntervalRow,
    Intervals,
    Plot,
    PlottedFigure,
    ReportSection,
    Spoken,
    Table,
)
from evaluation.reporting.measured import Calibration, MeasuredJudge, MeasuredShare, MeasuredSubject, SharedCriticism
from evaluation.reporting.notation import NONE, between, counted, number, percent, spoken_name

SENSITIVITY, SPECIFICITY = "sensitivity", "specificity"


def calibration_section(found: Calibration, bars: Bars | None) -> ReportSection:
    """Sensitivity and specificity of each judge and team, and what a verdict takes."""
    said = [
        "Sensitivity: of the replies to be flagged, those that were. Specificity: of the replies to be accepted, those "
        "that were. Lines are 95 % Wilson intervals" + (", upright strokes the bars." if bars else ".")
    ]
    said += [
        f"{name}: {one.unanswered} of {one.cases} cases were not answered by every judge and are not counted."
        for name, one in found.subjects.items()
        if one.unanswered
    ]
    said += [
        f"{name}: there are no bars for it." for name in found.subjects if bars is not None and bars.of(name) is None
    ]
    blocks: list[Plot | Table] = []
    for name, one in found.subjects.items():
        blocks += [_calibrated(name, one, (bars.of(name) if bars else None) or {}), _effort(name, one)]
    return ReportSection(title="Calibration of the judges", said=tuple(said), blocks=tuple(blocks))


def _calibrated(name: str, subject: MeasuredSubject, bars: dict[str, Bar]) -> Plot:
    measured = {**subject.judges, **subject.teams}
    drawing = Intervals(
        panels=(
            IntervalPanel(
                title=name,
                rows=tuple(
                    IntervalRow(name=spoken_name(judge), marks=tuple(_marks(one, bars.get(judge))))
                    for judge, one in measured.items()
                ),
            ),
        ),
        series=(SENSITIVITY, SPECIFICITY),
    )
    table = Table(
        caption=f"{name}: {counted(subject.cases, 'case')}, asked {counted(subject.repeat, 'time')}; 95 % intervals",
        head=("judge", SENSITIVITY, "cases", "bar", SPECIFICITY, "cases", "bar"),
        rows=tuple(_row(judge, one, bars.get(judge)) for judge, one in measured.items()),
    )
    alt = "; ".join(
        f"{spoken_name(judge)}: sensitivity {percent(one.sensitivity.share)}, "
        f"specificity {percent(one.specificity.share)}"
        for judge, one in measured.items()
    )
    return Plot(name=f"calibration-{name}", alt=f"Calibration of {name}. {alt}.", drawing=drawing, table=table)


def _marks(one: MeasuredJudge, bar: Bar | None) -> Iterator[PlottedFigure]:
    for series, share in ((SENSITIVITY, one.sensitivity), (SPECIFICITY, one.specificity)):
        if share.share is not None:
            least = None if bar is None else float(getattr(bar, series))
            yield PlottedFigure(series=series, value=share.share, low=share.low, high=share.high, bar=least)


def _row(judge: str, one: MeasuredJudge, bar: Bar | None) -> tuple[str, ...]:
    return (
        spoken_name(judge),
        *_share(one.sensitivity, None if bar is None else bar.sensitivity),
        *_share(one.specificity, None if bar is None else bar.specificity),
    )


def _share(found: MeasuredShare, bar: float | None) -> tuple[str, ...]:
    below = bar is not None and found.share is not None and found.share < bar
    least = NONE if bar is None else percent(bar) + (", below" if below else "")
    shown = percent(found.share) if found.low is None else f"{percent(found.share)}, {between(found.low, found.high)}"
    return shown, str(found.cases), least


def _effort(name: str, subject: MeasuredSubject) -> Table:
    """Teams ask nobody themselves."""
    return Table(
        caption=f"{name}: what a verdict takes",
        head=("judge", "verdicts", "tokens a verdict", "seconds, median", "seconds, p95"),
        rows=tuple(
            (
                spoken_name(judge),
                str(one.verdicts),
                number(one.tokens.get("a_verdict"), 0),
                number(one.seconds.get("median"), 3),
                number(one.seconds.get("p95"), 3),
            )
            for judge, one in subject.judges.items()
        ),
    )


def specificity_section(found: SpecificityReport, shared: SharedCriticism | None) -> ReportSection:
    """How many answers to ordinary questions were criticised, and the criticism to be read."""
    flagged = len(found.flagged)
    said = [
        f"{counted(found.n, 'ordinary question')}: {found.judged} replies judged, {found.fixed} fixed texts, "
        f"{len(found.urgent)} taken for urgent, {found.sent_back} sent back by code, {found.doubted} doubted by "
        f"preliminary judges only, {found.failed} with a judge that failed, {flagged} criticised by a chief judge."
    ]
    if shared is not None:
        said.append(
            f"The majority of raters shares the criticism of {shared.majority_agreed} of {shared.rated} rated replies, "
            f"all of them that of {shared.all_agreed}; {len(shared.disputed)} are disputed among them."
        )
    kinds = [(kind, one["judged"], one["flagged"]) for kind, one in found.by_kind.items()]
    table = Table(
        caption="Replies that a chief judge criticised, with 95 % Wilson intervals",
        head=("kind of question", "judged", "criticised", "share", "95 %"),
        rows=tuple(_kind(*one) for one in [("all", found.judged, flagged), *kinds]),
    )
    return ReportSection(
        title="Specificity on ordinary questions", said=tuple(said), blocks=(table, *map(_criticised, found.flagged))
    )


def _kind(kind: str, judged: int, flagged: int) -> tuple[str, ...]:
    interval = wilson(flagged, judged)
    shown = (NONE, NONE) if interval is None else (percent(flagged / judged), between(*interval))
    return spoken_name(kind), str(judged), str(flagged), *shown


def _criticised(one: Flagged) -> Example:
    first = one.criticism[0]
    verdicts = tuple(f"{said.stage}, {said.judge}: {said.decision}. {said.explanation}" for said in one.criticism)
    return Example(
        title=f"Criticised: {one.id}",
        sides=(
            Spoken(heading="the draft", asked=one.question, reply=first.draft, verdicts=verdicts),
            Spoken(heading=f"what was shown ({one.outcome})", asked=one.question, reply=one.reply),
        ),
    )
