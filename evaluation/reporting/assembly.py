"""From what was given to a report: a section for each, and the name of what is not there."""

from __future__ import annotations

from collections.abc import Iterator

from engine import ConfigurationError
from evaluation.reporting.document import Report, ReportSection, Table
from evaluation.reporting.example_sections import example_sections
from evaluation.reporting.given import Given
from evaluation.reporting.judge_sections import calibration_section, specificity_section
from evaluation.reporting.notation import counted, ordered_arms
from evaluation.reporting.rated_sections import panel_name, rated_sections
from evaluation.reporting.simulated_section import simulated_section
from evaluation.reporting.spent_sections import outcome_section, spent_section


def assemble(given: Given) -> Report:
    """The report of everything that was given; raises ConfigurationError where that is nothing."""
    sections = tuple(_sections(given))
    if not sections:
        raise ConfigurationError(
            "There is nothing to report.",
            remedy="Name --transcripts, --ratings, --calibration, --specificity or --simulation.",
        )
    rows = tuple(_made_from(given))
    return Report(
        given=Table(caption="Made from", head=("what", "how much"), rows=rows),
        sections=sections,
        left_out=tuple(_left_out(given)),
    )


def _sections(given: Given) -> Iterator[ReportSection]:
    if given.score is not None:
        yield from rated_sections(given.score)
    if given.responses:
        yield outcome_section(given.responses)
        yield spent_section(given.responses)
    if given.calibration is not None:
        yield calibration_section(given.calibration, given.bars)
    if given.specificity is not None:
        yield specificity_section(given.specificity, given.shared)
    if given.simulation is not None:
        yield simulated_section(given.simulation)
    if given.single and given.responses and given.score is not None:
        yield from example_sections(given.score, given.single, given.responses)


def _made_from(given: Given) -> Iterator[tuple[str, str]]:
    if given.responses:
        runs = ", ".join(dict.fromkeys(one.run for one in given.responses))
        arms = ", ".join(ordered_arms(one.arm for one in given.responses))
        yield "transcripts", f"{counted(len(given.responses), 'reply')}; {runs}; arms {arms}"
    if given.score is not None:
        source = given.score.get("source")
        panels = (f"{panel_name(one)}: {counted(one['responses'], 'reply')}" for one in given.score["panels"])
        yield "ratings", "; ".join([*([source] if source else []), *panels])
    if given.calibration is not None:
        subjects = (f"{name}: {counted(one.cases, 'case')}" for name, one in given.calibration.subjects.items())
        yield "calibration", "; ".join(subjects)
    if given.specificity is not None:
        yield "specificity", counted(given.specificity.n, "ordinary question")
    if given.simulation is not None:
        people, replies = len(given.simulation.personas), len(given.simulation.responses)
        yield "simulated users", f"{counted(people, 'persona')}, {counted(replies, 'reply')}"


def _left_out(given: Given) -> Iterator[str]:
    if not given.responses:
        yield "How replies came about, cost, latency and example replies: no --transcripts."
    if given.score is None:
        yield "Arms by role, scores, agreement of raters and example replies: no --ratings."
    else:
        yield from _ratings_left_out(given)
    if given.calibration is None:
        yield "Calibration of the judges: no --calibration."
    elif given.bars is None:
        yield "Bars of the judges: no --bars."
    if given.specificity is None:
        yield "Specificity on ordinary questions: no --specificity."
    if given.simulation is None:
        yield "Simulated users: no --simulation."


def _ratings_left_out(given: Given) -> Iterator[str]:
    panels = (given.score or {})["panels"]
    for one in panels:
        lacking = len(given.responses) - one["responses"]
        if given.responses and lacking > 0:
            yield f"{counted(lacking, 'reply')} of {len(given.responses)} without a rating by {panel_name(one)}."
        if one["agreement"] is None and given.single:
            yield f"Agreement among raters of the kind {one['kind']}: there is one rater only."
    if not given.single:
        yield "Agreement of the raters: a published table holds no single ratings."
    elif all(one["kind"] != "human" for one in panels):
        yield "Programs against people: no person has rated."
    elif all(one["kind"] == "human" for one in panels):
        yield "Programs against people: no program has rated."
