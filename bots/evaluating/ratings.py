"""`cafi eval sheets`, `rate` and `score`: blind sheets out, filled sheets and programs' ratings in, statistics."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.options import FAILED, Config, Json, Kb, failing_calmly, measured, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from evaluation.rating.raters import Rated

rating_app = typer.Typer()
rate_app = typer.Typer()
rating_app.add_typer(rate_app, name="rate")
Into = Annotated[Path, typer.Option("--into", help="The ratings file, JSON Lines; made or added to.", metavar="FILE")]


@rating_app.command()
def sheets(
    transcripts: Annotated[Path, typer.Argument(help="A folder of transcripts, or one file.", metavar="TRANSCRIPTS")],
    out: Annotated[Path, typer.Option(help="Folder for the sheets; hand out nothing else.", metavar="FOLDER")],
    raters: Annotated[str, typer.Option(help="Names, with commas between them.", metavar="A,B,C")],
    key: Annotated[
        Path | None, typer.Option(help="The key; without this, FOLDER.key.json beside the folder.", metavar="FILE")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, another order.")] = 1,
    as_json: Json = False,
) -> None:
    """Write blind rating sheets: for every rater a page that works offline and a CSV, and the key apart.

    Example: cafi eval sheets runs/today --out sheets --raters Ada,Ben,Cleo --seed 7
    """
    from evaluation.rating.rubric import load_rubric
    from evaluation.rating.sheets import make_sheets, write_sheets
    from evaluation.transcripts import read_transcripts

    with failing_calmly():
        names = [name.strip() for name in raters.split(",")]
        responses = read_transcripts(transcripts)
        made = make_sheets(responses, names, load_rubric(), seed=seed)
        key_file = key or out.with_name(f"{out.name}.key.json")
        written = write_sheets(made, out, key_file)
        if as_json:
            print_json(
                {
                    "responses": len(responses),
                    "raters": names,
                    "sheets": [str(path) for path in written],
                    "key": str(key_file),
                    "digest": made.key.digest,
                }
            )
            return
        typer.echo(f"{len(responses)} responses, {len(written)} sheets in {out}.")
        typer.echo(f"The key is {key_file}: keep it from the raters.")


@rate_app.callback(invoke_without_command=True)
def rate(
    context: typer.Context,
    llm: Annotated[bool, typer.Option("--llm", help="Let the language model rate.")] = False,
    builtin: Annotated[bool, typer.Option("--builtin", help="Let the built-in judges rate.")] = False,
    transcripts: Annotated[
        Path | None, typer.Option(help="A folder of transcripts, or one file.", metavar="TRANSCRIPTS")
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="The ratings file; made or added to.", metavar="FILE")
    ] = None,
    times: Annotated[int, typer.Option(help="How often the model rates, each time as a rater of its own.", min=1)] = 1,
    config: Config = None,
    kb: Kb = None,
    as_json: Json = False,
) -> None:
    """Take filled sheets in (`rate import`), or let programs rate with the same rubric; their ratings are marked as theirs.

    Goes on where it stopped; exit 1 where a response got no rating.

    Example: cafi eval rate --builtin --llm --transcripts runs/today --into ratings.jsonl
    """
    if context.invoked_subcommand is not None:
        return
    from engine import ConfigurationError
    from evaluation.rating.rubric import load_rubric
    from evaluation.transcripts import read_transcripts

    with failing_calmly():
        if not (llm or builtin):
            raise ConfigurationError("Who rates?", remedy="Use --llm, --builtin, or `cafi eval rate import`.")
        if transcripts is None or into is None:
            missing = "--transcripts" if transcripts is None else "--into"
            raise ConfigurationError(f"{missing} is missing.", remedy="See cafi eval rate --help.")
        responses, rubric = read_transcripts(transcripts), load_rubric()
        kinds = [kind for kind, wanted in (("builtin", builtin), ("llm", llm)) if wanted]
        done = [one for kind in kinds for one in asyncio.run(_rated(kind, times, responses, rubric, into, config, kb))]
        _tell(done, as_json)


@rate_app.command("import")
def import_sheets(
    files: Annotated[list[Path], typer.Argument(help="Filled sheets, CSV or JSON.", metavar="SHEET…")],
    key: Annotated[Path, typer.Option(help="The key that was written with the sheets.", metavar="FILE")],
    into: Into,
    as_json: Json = False,
) -> None:
    """Check filled sheets against the key and add them: all of them, or nothing at all.

    Example: cafi eval rate import rated-Ada.csv rated-Ben.json --key sheets.key.json --into ratings.jsonl
    """
    from evaluation.rating.blinding import read_key
    from evaluation.rating.filled import read_sheets
    from evaluation.rating.ratings import add_ratings
    from evaluation.rating.rubric import load_rubric

    with failing_calmly():
        found = read_sheets(files, read_key(key), load_rubric())
        add_ratings(into, found)
        raters = list(dict.fromkeys(one.rater for one in found))
        if as_json:
            print_json({"ratings": len(found), "raters": raters, "into": str(into)})
            return
        typer.echo(f"{len(found)} ratings of {', '.join(raters)} added to {into}.")


@rating_app.command()
def score(
    ratings: Annotated[
        Path, typer.Argument(help="Ratings (JSON Lines), or a published table (JSON).", metavar="RATINGS")
    ],
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 1,
    resamples: Annotated[int, typer.Option(help="Resamples of the bootstrap.", min=100)] = 1000,
    as_json: Json = False,
) -> None:
    """The study's table, shares with intervals, agreement of the raters, and tests between arms.

    Example: cafi eval score ratings.jsonl --json
    """
    from evaluation.rating.scored_file import score_file
    from evaluation.rating.scoring import Scoring
    from evaluation.rating.tables import as_markdown

    with failing_calmly():
        result = score_file(ratings, Scoring(seed=seed, resamples=resamples))
        print_json(result) if as_json else typer.echo(as_markdown(result), nl=False)


async def _rated(
    kind: str, times: int, responses: list[Any], rubric: Any, into: Path, config: Path | None, kb: Path | None
) -> list[Rated]:
    from bots.compose import kb_folder
    from engine import ConfigurationError, KnowledgeBase, PromptedModel
    from evaluation.rating.raters import GIVEN, BuiltinRater, LlmRater, Rater, Rounds

    running = measured(config, kb, kind)
    async with running.closing:
        raters: list[Rater] = [BuiltinRater(phrases=running.phrases, head=running.tone_head)]
        if kind == "llm":
            template = running.prompts.get("rater").expect(GIVEN)
            if running.chat_model is None:
                raise ConfigurationError("There is no language model.", key="agents", remedy="Configure one.")
            prompted = PromptedModel(model=running.chat_model, template=template)
            name = running.settings.models.name_for(template.head.role, template.head.tier)
            raters = [LlmRater(prompted=prompted, model=name, number=one) for one in range(1, times + 1)]
        rounds = Rounds(
            rubric=rubric,
            into=into,
            knowledge=KnowledgeBase.load(kb_folder(running)),
            parallel=running.settings.parallel,
        )
        with progress("ratings", len(responses) * len(raters)) as advance:
            return [await rounds.rate(one, responses, advance) for one in raters]


def _tell(done: list[Rated], as_json: bool) -> None:
    failed = any(one.failed for one in done)
    if as_json:
        rows = [
            {"rater": one.rater, "added": one.added, "before": one.before, "failed": list(one.failed)} for one in done
        ]
        print_json(rows)
    for one in done:
        if not as_json:
            typer.echo(f"{one.rater}: {one.added} rated, {one.before} were there before.")
        if one.failed:
            typer.echo(
                f"cafi: {one.rater} gave no usable rating of {len(one.failed)} responses, {one.failed[0]} first. "
                "Run it again to have only those rated.",
                err=True,
            )
    if failed:
        raise typer.Exit(FAILED)
