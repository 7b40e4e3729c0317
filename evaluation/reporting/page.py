"""The report as one HTML page: nothing is fetched, nothing runs, and every text of others is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from evaluation.reporting.document import Block, Example, Plot, Report, Section, Spoken, Table
from evaluation.reporting.plots import HOW_TO_GET, can_draw, svg

# The browser itself keeps the page from asking anybody for anything, whatever a reply contains.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2433; background: #fff; margin: 1.5rem auto; padding: 0 1rem;
  max-width: 68rem; overflow-wrap: anywhere }
h1 { margin: 0 0 .5rem; line-height: 1.2 }
h2 { margin: 0 0 .5rem; line-height: 1.25; font-size: 1.3rem }
h3 { margin: 1.2rem 0 .4rem; font-size: 1.05rem }
p { margin: .4rem 0 .8rem; max-width: 44rem }
section { border-top: 1px solid #8a93a5; margin-top: 2rem; padding-top: 1.2rem }
nav ul, #absent ul { padding-left: 1.2rem; margin: .3rem 0 }
a { color: #1f5c99 }
figure { margin: 1rem 0 }
svg { display: block; width: 100%; max-width: 38rem; height: auto }
svg text { font-family: system-ui, sans-serif !important }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .8rem 0; font-size: .9rem; overflow-wrap: normal }
caption { text-align: left; font-weight: 600; padding-bottom: .2rem }
th, td { border: 1px solid #b9c0cd; padding: .2rem .5rem; text-align: left; font-weight: normal; vertical-align: top }
td { font-variant-numeric: tabular-nums }
thead th { background: #f0f2f6 }
summary { cursor: pointer; padding: .3rem 0; color: #1f5c99 }
.note { background: #f0f2f6; border-left: 4px solid #5a6172; padding: .5rem .8rem; max-width: 44rem }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: 1rem }
.side { border: 1px solid #b9c0cd; border-radius: 4px; padding: .6rem .8rem; min-width: 0 }
.side h4 { margin: 0 0 .4rem; font-size: 1rem }
.said { white-space: pre-wrap; margin: .2rem 0 .6rem }
.asked { border-left: 3px solid #8a93a5; padding-left: .6rem; color: #3c4454 }
.side dt, .who { font-weight: 600; font-size: .85rem; color: #3c4454; margin: 0 }
.short { white-space: nowrap }
.side dd { margin: 0 0 .4rem }
.side dl { font-size: .9rem; margin: 0 }
.side ul { margin: 0; padding-left: 1.1rem }
@media print {
  @page { size: A4; margin: 15mm }
  body { margin: 0; padding: 0; max-width: none; font-size: 10pt }
  nav { display: none }
  section, .side { break-inside: auto }
  h2, h3, caption { break-after: avoid }
  figure svg, tr, .side h4 { break-inside: avoid }
  svg { max-width: 15cm; max-height: 23cm }
  .wide { overflow: visible }
  table { font-size: 7.5pt }
  th, td { padding: .1rem .3rem }
  .short { white-space: normal }
  details::details-content { content-visibility: visible; block-size: auto }
  summary { display: none }
  a { color: inherit; text-decoration: none }
}
"""


_SHORT = ' class="short"'
ONE_LINE = 28
"""Letters of a cell that stay on one line."""


def page(report: Report) -> str:
    """The whole page, dark on white; without matplotlib it has the tables and says how to get the plots."""
    draws = can_draw()
    hint = "" if draws or not report.plots else f'<p class="note">{text(HOW_TO_GET)}</p>'
    absent = "".join(f"<li>{text(one)}</li>" for one in report.left_out)
    left_out = f'<section id="absent"><h2>Not in this report</h2><ul>{absent}</ul></section>' if absent else ""
    links = "".join(f'<li><a href="#part-{at}">{text(one.title)}</a></li>' for at, one in enumerate(report.sections))
    links += '<li><a href="#absent">Not in this report</a></li>' if absent else ""
    sections = "\n".join(_section(at, one, draws) for at, one in enumerate(report.sections))
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>CAFI: laboratory report</title>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>'
        f"<header><h1>Laboratory report</h1>{_table(report.given)}{hint}</header><nav><ul>{links}</ul></nav>\n"
        f"<main>{sections}\n{left_out}</main>\n</body></html>\n"
    )


def text(value: str) -> str:
    """Text of anybody as HTML text or attribute."""
    return escape(value.encode("utf-8", "replace").decode())


def _section(at: int, section: Section, draws: bool) -> str:
    said = "".join(f"<p>{text(one)}</p>" for one in section.said)
    blocks = "\n".join(_block(f"{at}-{number}", one, draws) for number, one in enumerate(section.blocks))
    return f'<section id="part-{at}"><h2>{text(section.title)}</h2>{said}{blocks}</section>'


def _block(place: str, block: Block, draws: bool) -> str:
    match block:
        case Table():
            return _table(block)
        case Plot():
            return _plot(place, block, svg if draws else None)
        case Example():
            sides = "".join(map(_side, block.sides))
            return f'<h3>{text(block.title)}</h3><div class="sides">{sides}</div>'


def _plot(place: str, plot: Plot, draw: Callable[..., str] | None) -> str:
    if draw is None:
        return _table(plot.table)
    drawn = f'<div role="img" aria-label="{text(plot.alt)}">{draw(plot.drawing, f"{place} {plot.name}")}</div>'
    return f"<figure>{drawn}<details><summary>The figures as a table</summary>{_table(plot.table)}</details></figure>"


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{text(one)}</th>' for one in table.head)
    return (
        f'<div class="wide"><table><caption>{text(table.caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_rows(table))}</tbody></table></div>"
    )


def _rows(table: Table) -> Iterator[str]:
    for name, *cells in table.rows:
        others = "".join(f"<td{_SHORT if len(one) <= ONE_LINE else ''}>{text(one)}</td>" for one in cells)
        yield f'<tr><th scope="row">{text(name)}</th>{others}</tr>'


def _side(side: Spoken) -> str:
    listed = (("Citations", side.citations), ("Scores", side.scores), ("Verdicts", side.verdicts))
    told = "".join(f"<dt>{name}</dt><dd>{_list(found)}</dd>" for name, found in listed if found)
    return (
        f'<div class="side"><h4>{text(side.heading)}</h4>'
        f'<p class="who">Message</p><div class="said asked">{text(side.asked)}</div>'
        f'<p class="who">Reply</p><div class="said">{text(side.reply)}</div><dl>{told}</dl></div>'
    )


def _list(found: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{text(one)}</li>' for one in found)}</ul>"
