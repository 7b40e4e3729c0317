"""`cafi eval report`: what the laboratory measured, as one page that opens offline, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import Json, failing_calmly, print_json

if TYPE_CHECKING:
    from evaluation.reporting.document import Report


def report(
    out: Annotated[Path, typer.Option(help="The page to write (HTML).", metavar="FILE")],
    transcripts: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of transcripts, or one file; may be given again.", metavar="FOLDER"),
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="Ratings of these transcripts, or a published table.", metavar="FILE")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="What `eval calibrate --json` printed.", metavar="FILE")
    ] = None,
    bars: Annotated[Path | None, typer.Option(help="The judges' bars, drawn beside them.", metavar="FILE")] = None,
    specificity: Annotated[
        Path | None, typer.Option(help="What `eval specificity --out` wrote.", metavar="FILE")
    ] = None,
    simulation: Annotated[Path | None, typer.Option(help="A folder of `eval simulate`.", metavar="FOLDER")] = None,
    personas_from: Annotated[
        Path | None, typer.Option("--personas-from", help="Its personas, if they are your own.", metavar="FOLDER")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="The same figures as Markdown tables.", metavar="FILE")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 1,
    resamples: Annotated[int, typer.Option(help="Resamples of the bootstrap.", min=100)] = 1000,
    as_json: Json = False,
) -> None:
    """One page with plots: arms by role, every score, judges, cost, agreement, and replies side by side.

    It opens offline, and names what was not given.

    Example: cafi eval report --transcripts runs/first --ratings ratings.jsonl --out report.html --markdown report.md
    """
    from bots.output import write_page
    from evaluation.rating.scoring import Scoring
    from evaluation.reporting.assembly import assemble
    from evaluation.reporting.given import Named, read
    from evaluation.reporting.page import page
    from evaluation.reporting.summary import summary

    named = Named(
        transcripts=tuple(transcripts or ()),
        ratings=ratings,
        calibration=calibration,
        bars=bars,
        specificity=specificity,
        simulation=simulation,
        personas=personas_from,
    )
    with failing_calmly():
        outputs = [out] if markdown is None else [out, markdown]
        _expect_places(outputs, named.files)
        made = assemble(read(named, Scoring(seed=seed, resamples=resamples)))
        # Both are made before one is written.
        for path, text in zip(outputs, [page(made), summary(made)], strict=False):
            write_page(path, text)
        _tell(made, outputs, as_json)


def _expect_places(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise ConfigurationError for a folder that is not there, and before an input would be overwritten."""
    from engine import ConfigurationError

    taken = {one.resolve() for one in inputs}
    for path in outputs:
        if path.resolve() in taken:
            raise ConfigurationError("It would be overwritten.", file=path, remedy="Name another file.")
        if path.is_dir() or not path.parent.is_dir():
            raise ConfigurationError(
                "The file cannot be written.", file=path, remedy="Name a file in a folder that exists."
            )
        taken.add(path.resolve())


def _tell(made: Report, outputs: Sequence[Path], as_json: bool) -> None:
    from evaluation.reporting.plots import HOW_TO_GET, can_draw

    drawn = made.plots if can_draw() else 0
    if as_json:
        print_json(
            {
                "files": [str(path) for path in outputs],
                "sections": [one.title for one in made.sections],
                "plots": drawn,
                "left_out": list(made.left_out),
            }
        )
        return
    typer.echo(f"{len(made.sections)} sections, {drawn} plots: {', '.join(str(path) for path in outputs)}.")
    for one in made.left_out:
        typer.echo(f"  not in it: {one}")
    if drawn < made.plots:
        typer.echo(HOW_TO_GET)
