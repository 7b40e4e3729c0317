"""`cafi feedback`: what people answered, with small counts held back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import Config, Json, failing_calmly, print_json

if TYPE_CHECKING:
    from adapters.feedback.figures import Figures

feedback_app = typer.Typer(no_args_is_help=True, help="Report and export what people answered; small counts held back.")
Weeks = Annotated[
    int | None, typer.Option(help="Only the last so many weeks.", min=1, max=520, metavar="N", show_default=False)
]
Platform = Annotated[
    str | None, typer.Option(help="Only one platform, e.g. telegram.", metavar="NAME", show_default=False)
]
Ended = Annotated[bool, typer.Option("--ended", hidden=True, help="Every report leaves out the week that is running.")]


@feedback_app.command()
def report(
    weeks: Weeks = None,
    platform: Platform = None,
    ended: Ended = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots.", metavar="FILE", show_default=False)
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show shares with 95 % intervals, by option, week, source, decision and platform.

    Numbers under five are not told, nor is the week that is running.

    Example: cafi feedback report --weeks 12 --html report.html
    """
    from bots.feedback_table import document, show
    from bots.output import write_page

    with failing_calmly():
        found = _figures(config, weeks, platform)
        if html is not None:
            from bots.feedback_page import feedback_page

            write_page(html, feedback_page(found))
        if as_json:
            print_json(document(found))
        else:
            show(found)


@feedback_app.command()
def export(
    csv: Annotated[Path | None, typer.Option(help="Write the table there.", metavar="FILE", show_default=False)] = None,
    weeks: Weeks = None,
    platform: Platform = None,
    ended: Ended = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write the report's numbers as a table, one row a number; the same numbers are held back.

    Example: cafi feedback export --csv feedback.csv
    """
    from bots.feedback_table import as_csv, records
    from bots.output import write_page
    from engine import ConfigurationError

    with failing_calmly():
        if csv is None and not as_json:
            raise ConfigurationError("Neither a file nor --json is given.", key="--csv", remedy="Add --csv FILE.")
        found = _figures(config, weeks, platform)
        if csv is not None:
            write_page(csv, as_csv(found))
        if as_json:
            print_json(records(found))
        elif csv is not None:
            typer.echo(f"{len(records(found))} rows written to {csv}")


def _figures(config: Path | None, weeks: int | None, platform: str | None) -> Figures:
    """The report that the options ask for; raises ConfigurationError and StorageError."""
    from adapters.feedback.events import PLATFORMS
    from adapters.feedback.figures import figures
    from adapters.feedback.questions import read_questions
    from adapters.feedback.tallies import Selection, read_tallies
    from adapters.weeks import today
    from bots.settings import read_settings
    from engine import ConfigurationError

    if platform is not None and platform not in PLATFORMS:
        raise ConfigurationError(f"--platform is {platform!r}.", remedy=f"Use one of: {', '.join(PLATFORMS)}.")
    settings = read_settings(config)
    questions = read_questions(settings.config_folder / "feedback.yaml")
    selection = Selection.of(today(), weeks=weeks, platform=platform)
    return figures(read_tallies(settings.storage.url), questions, selection)
