"""The report as one HTML page, from the template in `evaluation/data/reporting`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluation.reporting.document import Drawing, Report
from evaluation.reporting.plots import HOW_TO_GET, can_draw, svg

TEMPLATE = Path(__file__).resolve().parents[1] / "data" / "reporting" / "report.html"
ONE_LINE = 28
"""Letters of a cell that stay on one line."""


def page(report: Report) -> str:
    """The whole page, dark on white; without matplotlib it has the tables and says how to get the plots."""
    pages = Environment(
        loader=FileSystemLoader(TEMPLATE.parent), autoescape=True, undefined=StrictUndefined, finalize=_writable
    )
    draw = _drawn if can_draw() else None
    template = pages.get_template(TEMPLATE.name)
    return template.render(report=report, draw=draw, how_to_draw=HOW_TO_GET, one_line=ONE_LINE) + "\n"


def _drawn(drawing: Drawing, name: str) -> Markup:
    return Markup(svg(drawing, name))  # noqa: S704 - drawn here, and matplotlib escapes every text in it


def _writable(value: Any) -> Any:
    """Text of anybody without halves of letters, which no file can hold."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.encode("utf-8", "replace").decode()
    return value
