"""The feedback report as one HTML page: plots drawn as SVG, tables below them, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from adapters.feedback.figures import Figures, OptionShare, QuestionFigures
from bots.feedback_table import answers, favourable, notes, option_names, percent, row_names, shown_tables

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2433; background: #fff; margin: 2rem auto; padding: 0 1rem;
  max-width: 54rem }
section { border-top: 1px solid #8a93a5; margin-top: 2rem; break-inside: avoid }
svg { max-width: 100%; height: auto }
table { border-collapse: collapse; margin: 1rem 0 }
caption { text-align: left; font-weight: bold }
th, td { border: 1px solid #b9c0cd; padding: .2rem .6rem; text-align: left; font-weight: normal }
td { text-align: right; font-variant-numeric: tabular-nums }
thead th { background: #f0f2f6 }
@media print { body { margin: 0; max-width: none } }
"""
_TEXT = 'font-family="system-ui, sans-serif" font-size="13" fill="#1d2433"'
_LEFT, _PLOT, _RIGHT = 220, 380, 150
_BAR, _GAP = 18, 30
_WIDTH = _LEFT + _PLOT + _RIGHT
_TITLES = {
    "weeks": "By week",
    "sources": "By source behind the answer",
    "decisions": "By the filter's decision on the answer",
    "platforms": "By platform",
    "assistants": "By assistant",
}


def feedback_page(found: Figures) -> str:
    """The whole page. Dark on white, so that it can be printed."""
    where = f" on {found.selection.platform}" if found.selection.platform else ""
    sections = "\n".join(_section(one) for one in found.questions) or "<p>There is nothing to show yet.</p>"
    said = "".join(f"<p>{escape(line)}</p>" for line in notes(found))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Feedback</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>'
        f"<h1>Feedback{escape(where)}</h1><p>Up to {escape(found.selection.last)}. Bars and points are shares, "
        f"the thin lines their 95 % intervals.</p>{said}\n{sections}\n</body></html>\n"
    )


def _section(one: QuestionFigures) -> str:
    good = favourable(one)
    rows = [(option_names(one, share), share) for share in one.options]
    bars = (
        _bars(rows, f"Answers to “{one.question.text.en}”")
        if rows
        else "<p>Which options were chosen is held back.</p>"
    )
    parts = [f"<h2>{escape(one.question.text.en)}</h2><p>{escape(answers(one))}</p>", bars]
    if len(one.weeks) > 1 and all(share.share is not None for share in one.weeks):
        parts += [f"<h3>{escape(good)} over time</h3>", _line(one.weeks, good)]
    parts += [_table(name, getattr(one, name), good) for name in shown_tables(one)]
    return f"<section>{''.join(parts)}</section>"


def _bars(rows: Sequence[tuple[str, OptionShare]], title: str) -> str:
    """Horizontal bars with intervals; the alternative text says every number."""
    marks = "".join(_bar(at, name, share) for at, (name, share) in enumerate(rows))
    alt = "; ".join(f"{name}: {share.chosen}, {percent(share)[0]} ({percent(share)[1]})" for name, share in rows)
    return _svg(len(rows) * _GAP + 28, f"{title}. {alt}", _scale(len(rows) * _GAP + 4) + marks)


def _bar(at: int, name: str, share: OptionShare) -> str:
    low, high = share.interval or (0.0, 0.0)
    top, middle = at * _GAP + 4, at * _GAP + 4 + _BAR / 2
    lines = _wrapped(name)
    start = middle + 4 - 7 * (len(lines) - 1)
    words = "".join(
        f'<text x="{_LEFT - 10}" y="{start + 14 * n:.0f}" text-anchor="end" {_TEXT}>{escape(line)}</text>'
        for n, line in enumerate(lines)
    )
    return (
        f'{words}<rect x="{_LEFT}" y="{top}" width="{_PLOT * (share.share or 0):.1f}" height="{_BAR}" fill="#8fb3d9"/>'
        f'<path d="M{_x(low):.1f} {middle}H{_x(high):.1f}M{_x(low):.1f} {middle - 4}v8M{_x(high):.1f} {middle - 4}v8" '
        f'stroke="#1d2433" fill="none"/><text x="{_LEFT + _PLOT + 14}" y="{middle + 4:.0f}" {_TEXT}>'
        f"{share.chosen} ({percent(share)[0]})</text>"
    )


def _wrapped(name: str, characters: int = 30) -> list[str]:
    """A label in two lines where one is too long."""
    if len(name) <= characters or " / " not in name:
        return [name]
    first, _, rest = name.partition(" / ")
    return [f"{first} /", rest]


def _scale(height: float) -> str:
    return "".join(
        f'<path d="M{_x(part):.1f} 0V{height}" stroke="#d5d9e2"/>'
        f'<text x="{_x(part):.1f}" y="{height + 16}" text-anchor="middle" {_TEXT}>{part:.0%}</text>'
        for part in (0, 0.25, 0.5, 0.75, 1)
    )


def _line(rows: Sequence[OptionShare], good: str) -> str:
    """Shares over weeks as points with intervals, joined by a line."""
    height, left, right = 200, 50, _WIDTH - 20
    step = (right - left) / len(rows)
    every = -(-len(rows) // 8)  # as many week names as have room
    points, marks = [], []
    for at, share in enumerate(rows):
        x, (low, high) = left + step * (at + 0.5), share.interval or (0.0, 0.0)
        y = _y(share.share or 0.0, height)
        points.append(f"{x:.1f},{y:.1f}")
        marks.append(f'<path d="M{x:.1f} {_y(low, height):.1f}V{_y(high, height):.1f}" stroke="#1d2433"/>')
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f5c99"/>')
        if at % every == 0:
            marks.append(
                f'<text x="{x:.1f}" y="{height + 30}" text-anchor="middle" {_TEXT}>{escape(share.names[0])}</text>'
            )
    grid = "".join(
        f'<path d="M{left} {_y(part, height):.1f}H{right}" stroke="#d5d9e2"/>'
        f'<text x="{left - 8}" y="{_y(part, height) + 4:.1f}" text-anchor="end" {_TEXT}>{part:.0%}</text>'
        for part in (0, 0.25, 0.5, 0.75, 1)
    )
    alt = "; ".join(f"{row_names('weeks', share)}: {percent(share)[0]} of {share.answers}" for share in rows)
    joined = f'<polyline points="{" ".join(points)}" fill="none" stroke="#1f5c99" stroke-width="2"/>'
    return _svg(height + 40, f"Share of {good} over time. {alt}", grid + joined + "".join(marks))


def _table(name: str, rows: Sequence[OptionShare], good: str) -> str:
    return (
        f"<table><caption>{_TITLES[name]}</caption><thead><tr><th scope='col'></th><th scope='col'>answers</th>"
        f"<th scope='col'>{escape(good)}</th><th scope='col'>95 %</th></tr></thead><tbody>"
        f"{''.join(_cells(name, rows, good))}</tbody></table>"
    )


def _cells(name: str, rows: Sequence[OptionShare], good: str) -> Iterator[str]:
    for share in rows:
        said, interval = percent(share) if good else ("", "")
        yield (
            f"<tr><th scope='row'>{escape(row_names(name, share))}</th><td>{share.answers}</td>"
            f"<td>{said}</td><td>{interval}</td></tr>"
        )


def _svg(height: float, alt: str, content: str) -> str:
    # Inside HTML an SVG needs no namespace address.
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" role="img" aria-label="{escape(alt)}">'
        f"<title>{escape(alt)}</title>{content}</svg>"
    )


def _x(share: float) -> float:
    return _LEFT + _PLOT * share


def _y(share: float, height: float) -> float:
    return 10 + (height - 10) * (1 - share)
