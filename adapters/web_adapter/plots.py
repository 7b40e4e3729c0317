"""Small plots as drawings (SVG), made here: no script, no style of their own, and in words for who does not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

HEIGHT, STEP, GAP = 48.0, 16.0, 4.0
NARROWEST = 6
"""So many bars' room at least, so that one bar alone is no wall."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotBar:
    """One value with its name; `value` None where it is held back. `kind` chooses a colour: usual, or `warn`."""

    name: str
    value: float | None
    said: str = ""
    kind: str = ""

    @property
    def words(self) -> str:
        """The value as people read it."""
        return self.said or ("–" if self.value is None else f"{self.value:,.0f}")


def bar_plot(bars: Sequence[PlotBar], title: str, limit: float | None = None) -> Markup:
    """Upright bars; `limit` is drawn as a line. Its text alternative names every bar with its value."""
    top = max([one.value or 0.0 for one in bars] + [limit or 0.0]) or 1.0
    width = max(len(bars), NARROWEST) * STEP
    drawn = []
    for at, one in enumerate(bars):
        height = HEIGHT * (one.value or 0.0) / top
        shown = max(height, 1.0) if one.value else 0.5
        drawn.append(
            Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>').format(
                one.kind or "bar", at * STEP, HEIGHT - shown, STEP - GAP, shown
            )
        )
    if limit is not None:
        y = HEIGHT - HEIGHT * limit / top
        drawn.append(Markup('<line class="limit" x1="0" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>').format(width, y, y))
    said = "; ".join(f"{one.name}: {one.words}" for one in bars)
    return Markup(
        '<svg class="plot" role="img" viewBox="0 -2 {:.0f} {:.0f}" preserveAspectRatio="xMinYMid meet" aria-label="{}">'
        "{}</svg>"
    ).format(width, HEIGHT + 4, escape(f"{title}. {said}"), Markup("").join(drawn))
