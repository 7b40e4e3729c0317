"""Coverage as one HTML page: a heat map and tables, without scripts, fonts or anything else from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kb_tools.coverage import AskedQuestion, Coverage
from kb_tools.coverage_report import NOTHING, sums

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --paper: #fff; --line: #d5d9e2; --right: 40 130 90; --wrong: 200 90 30 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9f0; --paper: #14171f; --line: #363c4a; --right: 90 200 150; --wrong: 240 140 70 }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto; padding: 0 1rem;
  max-width: 90rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid var(--line); padding: .2rem .5rem; text-align: left; vertical-align: top }
.map td { width: 1.5rem; min-width: 1.5rem; height: 1.5rem; padding: 0; text-align: center; font-size: .75rem }
.map thead th { height: 11rem; padding: 0; vertical-align: bottom; border: 0 }
.map thead span { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal; padding: .3rem 0 }
.map tbody th { font-weight: normal; white-space: nowrap }
.right { background: rgb(var(--right) / var(--share)) } .wrong { background: rgb(var(--wrong) / var(--share)) }
"""


def heat_map_page(found: Coverage, title: str) -> str:
    """The whole page. Rows are sources asked for, columns those found first."""
    parts = (
        f"<h1>Coverage: {escape(title)}</h1>",
        "<p>Every question of a source was held out in turn and asked of an index that had never seen it. "
        "Rows: the source a question belongs to. Columns: the source found first. Green is right, orange is not; "
        f"the numbers are questions.</p><p>{escape(sums(found))}</p>",
        *_map(found),
        *_lists(found),
        *_questions("Questions that find other sources and not their own", found.wrong),
        *_questions("Questions that find nothing", found.unanswered),
    )
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body>{chr(10).join(parts)}</body></html>\n"
    )


def _map(found: Coverage) -> Iterator[str]:
    columns = (*found.sources, None)
    yield '<div class="wide"><table class="map"><thead><tr><th></th>'
    yield from (f'<th scope="col"><span>{escape(one or NOTHING)}</span></th>' for one in columns)
    yield '<th scope="col"><span>first</span></th><th scope="col"><span>in three</span></th></tr></thead><tbody>'
    for source in found.sources:
        asked = found.of(source)
        cells = "".join(_cell(source, one, found.confusion[source, one], len(asked)) for one in columns)
        first, three = sum(one.first == source for one in asked), sum(one.hit for one in asked)
        shares = f"<td>{first}/{len(asked)}</td><td>{three}/{len(asked)}</td>"
        yield f'<tr><th scope="row">{escape(source)}</th>{cells}{shares}</tr>'
    yield "</tbody></table></div>"


def _cell(source: str, first: str | None, times: int, of: int) -> str:
    if not times:
        return "<td></td>"
    kind = "right" if source == first else "wrong"
    said = escape(f"{times} of {of} questions of {source} find {first or 'nothing'} first")
    return f'<td class="{kind}" style="--share: {0.15 + 0.85 * times / of:.2f}" title="{said}">{times}</td>'


def _lists(found: Coverage) -> Iterator[str]:
    for title, sources in (
        ("Never found by their own held-out questions", found.never_found),
        ("Never found by questions of other sources", found.found_by_no_other),
        ("Without questions", found.without_questions),
    ):
        yield f"<h2>{title}</h2><p>{escape(', '.join(sources)) or 'None.'}</p>"


def _questions(title: str, asked: tuple[AskedQuestion, ...]) -> Iterator[str]:
    yield f"<h2>{title}</h2>"
    if not asked:
        yield "<p>None.</p>"
        return
    yield '<div class="wide"><table><tr><th scope="col">source</th><th scope="col">question</th><th scope="col">found</th></tr>'
    for one in asked:
        found = ", ".join(one.found) or NOTHING
        yield f"<tr><td>{escape(one.source)}</td><td>{escape(one.question)}</td><td>{escape(found)}</td></tr>"
    yield "</table></div>"
