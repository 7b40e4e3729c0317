"""`cafi eval specificity`: ordinary questions, which the filter should leave alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.evaluating.runs import Parallel
from bots.options import AgentsOption, Config, Json, Kb, failing_calmly, measured, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from evaluation.facilitating.specificity import SpecificityReport

specificity_app = typer.Typer()


@specificity_app.command()
def specificity(
    questions: Annotated[
        Path | None, typer.Option(help="JSON Lines of id, question, kind.", metavar="FILE", show_default=False)
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option("--from", help="A report kept with --out; nothing is asked.", metavar="FILE", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the report (JSON).", metavar="FILE", show_default=False)
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a sheet for raters (CSV).", metavar="FILE", show_default=False)
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="CSV of question_id, rater, agrees.", metavar="FILE", show_default=False)
    ] = None,
    parallel: Parallel = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Does the filter leave the answers to ordinary questions alone, and do people share its criticism?

    Example: cafi eval specificity --out specificity.json --sheet sheet.csv --agents builtin
    """
    from bots.output import write_page
    from evaluation.facilitating import specificity as laboratory

    async def asked() -> SpecificityReport:
        running = measured(config, kb, agents)
        rows = laboratory.read_ordinary_questions(questions or laboratory.SHIPPED)
        async with running.closing:
            with progress("questions", len(rows)) as advance:
                many = parallel or running.settings.parallel
                return await laboratory.measure(rows, running.engine, advance, parallel=many)

    with failing_calmly():
        report = laboratory.read_report(kept) if kept is not None else asyncio.run(asked())
        document = report.model_dump(mode="json")
        if out is not None:
            write_page(out, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        if sheet is not None:
            write_page(sheet, laboratory.sheet(report))
        if ratings is not None:
            document["agreement"] = laboratory.agreement(report, laboratory.read_ratings(ratings, report))
        if as_json:
            print_json(document)
        else:
            _show(document)


def _show(document: dict[str, Any]) -> None:
    n, judged, flagged = document["n"], document["judged"], document["flagged"]
    typer.echo(f"{n} questions, {judged} replies judged, {document['fixed']} fixed texts, {len(flagged)} flagged.")
    for one in flagged:
        typer.echo(f"\n{one['id']}: {one['question']}")
        for found in one["criticism"]:
            typer.echo(f"  {found['judge']} ({found['stage']}): {found['decision']}. {found['explanation']}")
    if "agreement" in document:
        found = document["agreement"]
        typer.echo(f"\nThe majority of raters agrees with {found['majority_agreed']} of {found['rated']} rated.")
