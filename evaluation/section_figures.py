"""How well sections are found, and how far the chances that the search states can be believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import Guide, SectionHit, clean

SHOWN, FIFTHS = 4, 5


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundSections:
    """What was found for one question: the sections to be shown, best first, and whether they were sure or away.

    `wanted`: each section that answers it, none where nothing does. `stated` is the chance that the search gives its own
    `first`, which is not shown to whom it does not speak to.
    """

    wanted: tuple[str, ...]
    found: tuple[str, ...]
    first: str
    sure: bool
    away: bool
    stated: float

    @classmethod
    def by(cls, guide: Guide, question: str, wanted: Sequence[str], language: str = "") -> FoundSections:
        """Ask the guide, as at the beginning of a conversation; `wanted` are `source#section`."""
        understood = guide.understand(clean(question).text, (), language or guide.own_language)
        return cls(
            wanted=tuple(wanted),
            found=tuple(map(_name, understood.hits[:SHOWN])),
            first=next(map(_name, understood.found.hits), ""),
            sure=understood.sure is not None,
            away=understood.away or not understood.hits,
            stated=understood.found.right,
        )

    @property
    def right(self) -> bool:
        """Whether the first section is one that answers."""
        return self.found[:1] != () and self.found[0] in self.wanted

    def among(self, most: int) -> bool:
        """Whether one that answers is among the first so many."""
        return not set(self.wanted).isdisjoint(self.found[:most])


def section_figures(rows: Sequence[FoundSections]) -> dict[str, Any]:
    """Shares of the rows that some section answers, but `sure.right`, which is of the sure ones: those that would be quoted.

    Every row is sure, offered (up to four questions) or declined; `out_of_scope` are those that nothing answers.
    """
    outside, rows = [one for one in rows if not one.wanted], [one for one in rows if one.wanted]
    sure = [one for one in rows if one.sure]
    return {
        "n": len(rows),
        "right_at_1": _share([one.right for one in rows]),
        "right_at_3": _share([one.among(3) for one in rows]),
        "right_at_4": _share([one.among(SHOWN) for one in rows]),
        "sure": {"share": _share([one.sure for one in rows]), "right": _share([one.right for one in sure])},
        "offered": _share([not one.sure and not one.away for one in rows]),
        "declined": _share([not one.sure and one.away for one in rows]),
        "reliability": reliability([one.stated for one in rows], [one.first in one.wanted for one in rows]),
        "out_of_scope": {"n": len(outside), "declined": _share([not one.sure and one.away for one in outside])},
    }


def reliability(stated: Sequence[float], came: Sequence[bool]) -> list[dict[str, float]]:
    """What was stated beside what came, in fifths of the stated chances, lowest first."""
    chances, true = np.asarray(stated, dtype=float), np.asarray(came, dtype=float)
    fifths = np.array_split(np.argsort(chances, kind="stable"), FIFTHS)
    return [
        {
            "n": len(fifth),
            "stated": round(float(chances[fifth].mean()), 3),
            "came": round(float(true[fifth].mean()), 3),
        }
        for fifth in fifths
        if len(fifth)
    ]


def _name(hit: SectionHit) -> str:
    return f"{hit.source.id}#{hit.section.id}"


def _share(marks: Sequence[bool]) -> float | None:
    return round(sum(marks) / len(marks), 4) if marks else None
