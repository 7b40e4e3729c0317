"""`cafi report`: what the law wants counted, by month, with small counts held back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import Config, Json, failing_calmly, print_json

if TYPE_CHECKING:
    from adapters.storage.counts import Subject

report_app = typer.Typer(
    no_args_is_help=True, help="Report how often help and notices were shown; small counts held back."
)
Year = Annotated[int, typer.Option(help="The calendar year (UTC).", min=2020, max=2200, metavar="YYYY")]
Csv = Annotated[Path | None, typer.Option(help="Write the table there.", metavar="FILE", show_default=False)]
Html = Annotated[Path | None, typer.Option(help="Write a page.", metavar="FILE", show_default=False)]


@report_app.command()
def referrals(year: Year, csv: Csv = None, html: Html = None, config: Config = None, as_json: Json = False) -> None:
    """How often the crisis referral stood in place of an answer, by month and by what it was about; no identifiers.

    Numbers under five are not told, nor is the month that is running.

    Example: cafi report referrals --year 2026 --csv referrals.csv
    """
    with failing_calmly():
        _report("referral", year, csv, html, config, as_json=as_json)


@report_app.command()
def notices(year: Year, csv: Csv = None, html: Html = None, config: Config = None, as_json: Json = False) -> None:
    """How often people were told that this is a program, by month and by the version of the words; no identifiers.

    Numbers under five are not told, nor is the month that is running.

    Example: cafi report notices --year 2026 --html notices.html
    """
    with failing_calmly():
        _report("notice", year, csv, html, config, as_json=as_json)


def _report(
    subject: Subject, year: int, csv: Path | None, html: Path | None, config: Path | None, *, as_json: bool
) -> None:
    """Write and show the report; raises ConfigurationError and StorageError."""
    from adapters.storage.saved_counts import read_months
    from adapters.weeks import today
    from bots.monthly_report import MonthlyReport
    from bots.output import write_page
    from bots.settings import read_settings

    months = read_months(read_settings(config).storage.url, subject, year, today())
    found = MonthlyReport.of(subject, year, months)
    if csv is not None:
        write_page(csv, found.as_csv())
    if html is not None:
        write_page(html, found.as_html())
    if as_json:
        print_json(found.as_document())
    else:
        typer.echo("\n".join(found.lines()))
